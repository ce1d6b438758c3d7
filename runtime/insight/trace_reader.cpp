// Copies what is whole; numbers that lead nowhere are left as none.
#include "runtime/insight/trace_reader.hpp"

#include <algorithm>
#include <cstring>

namespace coracle::internals {
namespace {

std::vector<std::string> read_texts(std::span<const std::byte> bytes) {
  std::vector<std::string> texts;
  while (bytes.size() > sizeof(std::uint32_t)) {
    std::uint32_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    bytes = bytes.subspan(sizeof length);
    if (length + 1 > bytes.size()) break;
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), length);
    bytes = bytes.subspan(length + 1);
  }
  return texts;
}

}  // namespace

RankEvents read_trace(const TraceMemory& memory, std::uint32_t rank, std::uint32_t node) {
  RankEvents read;
  read.rank = rank;
  read.node = node;
  const TraceHeader& header = memory.header();
  if (header.is_open.load(std::memory_order_relaxed) == 0) return read;
  // acquire: pairs with the writer's release. The texts of an event come before it.
  const std::uint64_t count = header.events.load(std::memory_order_acquire);
  const std::uint64_t text_bytes = header.text_bytes.load(std::memory_order_acquire);
  read.dropped = header.dropped.load(std::memory_order_relaxed);
  const auto events = memory.events().first(std::min<std::size_t>(count, memory.events().size()));
  read.events.assign(events.begin(), events.end());
  read.texts = read_texts(memory.texts().first(std::min<std::size_t>(text_bytes, memory.texts().size())));
  return read;
}

void set_times(RankEvents& rank, const TickScale& scale) noexcept {
  for (StoredEvent& event : rank.events) event.ticks = scale.nanoseconds(event.ticks);
}

std::uint64_t JobTrace::dropped() const noexcept {
  std::uint64_t sum = 0;
  for (const RankEvents& rank : ranks) sum += rank.dropped;
  return sum;
}

void begin_at_zero(JobTrace& trace) noexcept {
  std::uint64_t first = ~std::uint64_t{0};
  for (const RankEvents& rank : trace.ranks)
    if (!rank.events.empty()) first = std::min(first, rank.events.front().ticks);
  for (RankEvents& rank : trace.ranks)
    for (StoredEvent& event : rank.events) event.ticks -= first;
}

}  // namespace coracle::internals
