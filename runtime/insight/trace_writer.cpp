// An event is a copy of 64 bytes; its texts are looked up by address.
#include "runtime/insight/trace_writer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "runtime/core/resident.hpp"

namespace coracle::internals {
namespace {

/// Texts are cut to this.
constexpr std::size_t kTextMax = 255;
/// Memory is taken by so many events at once: page by page it would cost more than the events.
constexpr std::uint64_t kEventsAtOnce = 4096;

}  // namespace

TraceWriter::TraceWriter(TraceMemory memory)
    : memory_(memory),
      header_(memory.header()),
      events_(memory.events().data()),
      room_(memory.events().size()),
      known_(kSlots) {
  header_.is_open.store(1, std::memory_order_relaxed);
}

coracle_tool TraceWriter::tool() noexcept {
  coracle_tool tool{};
  tool.version = CORACLE_TOOL_VERSION;
  tool.self = this;
  tool.event = [](void* self, const coracle_event* event) { static_cast<TraceWriter*>(self)->write(*event); };
  return tool;
}

void TraceWriter::write(const coracle_event& event) noexcept {
  if (count_ == room_) [[unlikely]] {
    header_.dropped.store(++dropped_, std::memory_order_relaxed);
    return;
  }
  if (count_ == resident_) [[unlikely]]
    make_room_resident(count_);
  StoredEvent& stored = events_[count_];
  stored.ticks = event.ticks;
  stored.kind = event.kind;
  stored.what = event.what;
  stored.peer = event.peer;
  stored.task = event.task;
  stored.id = event.id;
  stored.number = event.number;
  stored.bytes = event.bytes;
  if (StoredEvent::is_message(event.kind)) {
    stored.tag = event.tag;
    stored.place = event.team;
  } else {
    stored.tag = event.kind == CORACLE_SPAN_BEGIN ? number_of_changing(event.name) : number_of(event.name);
    stored.place = 0;
    // A path that is cut is another file's.
    const bool is_told =
        event.place != nullptr && event.place->line != 0 &&
        (event.place->column != CORACLE_IN_MODULE || ::strnlen(event.place->file, kTextMax) < kTextMax);
    if (is_told)
      stored.place = std::uint64_t{number_of(event.place->file)} << 32 | event.place->line |
                     (event.place->column == CORACLE_IN_MODULE ? StoredEvent::kInModule : 0);
  }
  // release: pairs with the launcher's acquire, which then reads the event.
  header_.events.store(++count_, std::memory_order_release);
}

std::size_t TraceWriter::slot_of(const char* text) noexcept {
  // Neighbours in the program's constants are a few bytes apart.
  return (reinterpret_cast<std::uintptr_t>(text) * 0x9e3779b97f4a7c15ULL) >> 54;  // the upper 10 bits: kSlots
}

std::uint32_t TraceWriter::number_of_changing(const char* text) noexcept {
  if (text == nullptr) return 0;
  const Known& known = known_[slot_of(text)];
  if (known.text == text && known.number != 0) {
    const auto* kept = reinterpret_cast<const char*>(memory_.texts().data()) + places_[known.number - 1];
    if (std::strncmp(text, kept + sizeof(std::uint32_t), kTextMax) == 0) return known.number;
  }
  return keep(text);
}

/// Each text is kept once, also where it stands at several addresses.
std::uint32_t TraceWriter::keep(const char* text) noexcept {
  const std::string_view whole(text, ::strnlen(text, kTextMax));
  std::uint32_t number = find(whole);
  if (number == 0) number = append(whole);
  known_[slot_of(text)] = {text, number};
  return number;
}

std::uint32_t TraceWriter::find(std::string_view text) const noexcept {
  const auto* all = reinterpret_cast<const char*>(memory_.texts().data());
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (text == all + places_[i] + sizeof(std::uint32_t)) return static_cast<std::uint32_t>(i + 1);
  return 0;
}

/// 0: there is no room for it.
std::uint32_t TraceWriter::append(std::string_view text) noexcept {
  const std::uint64_t used = header_.text_bytes.load(std::memory_order_relaxed);
  const auto length = static_cast<std::uint32_t>(text.size());
  const std::size_t wanted = sizeof length + text.size() + 1;  // and a zero
  if (used + wanted > memory_.texts().size()) return 0;
  try {
    places_.push_back(static_cast<std::uint32_t>(used));
  } catch (...) {
    return 0;
  }
  std::byte* const place = memory_.texts().data() + used;
  std::memcpy(place, &length, sizeof length);
  std::memcpy(place + sizeof length, text.data(), text.size());
  place[sizeof length + text.size()] = std::byte{0};
  header_.text_bytes.store(used + wanted, std::memory_order_release);  // as that of events
  return static_cast<std::uint32_t>(places_.size());
}

void TraceWriter::make_room_resident(std::uint64_t index) noexcept {
  auto* const from = reinterpret_cast<std::byte*>(events_ + index);
  make_resident(from, (std::min(room_, index + kEventsAtOnce) - index) * sizeof *events_);
  resident_ = index + kEventsAtOnce;
}

}  // namespace coracle::internals
