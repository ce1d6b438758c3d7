// Sums in place of events: each is of one table's entry.
#include "runtime/insight/summary_writer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "runtime/core/program_place.hpp"
#include "runtime/core/signal_text.hpp"

namespace coracle::internals {
namespace {

/// Of waits, collectives and spans that are open at once; what is beyond is not booked by itself.
constexpr std::size_t kOpenMax = 4096;

template <std::size_t N>
void set_text(std::array<char, N>& to, const char* text) noexcept {
  to.fill('\0');
  if (text != nullptr) std::string_view(text).substr(0, N - 1).copy(to.data(), N - 1);
}

void add(Waited& to, std::uint64_t time) noexcept {
  to.time += time;
  ++to.waits;
  to.longest = std::max(to.longest, time);
}

bool is_of_program(const coracle_place* place) noexcept {
  return !is_of_library(std::bit_cast<std::source_location>(place));
}

/// Who waits for a page that another has asked for has no miss of its own.
bool is_page(const char* name) noexcept {
  return name != nullptr && std::string_view(name) == "page";
}

/// Whether it is told by a task that runs, so that the time before it was not spent waiting.
bool shows_work(std::uint16_t kind) noexcept {
  switch (kind) {
    case CORACLE_WAIT_END:
    case CORACLE_SLEEP_BEGIN:
    case CORACLE_SLEEP_END:
    case CORACLE_RECEIVE_BEGIN:
    case CORACLE_RECEIVE_END:
    case CORACLE_OPERATION_END:
    case CORACLE_SEND_END:
    case CORACLE_PAGE_MISS_END:
    case CORACLE_CHUNK_END:
    case CORACLE_DMA_BEGIN:
    case CORACLE_DMA_END:
      return false;
    default:
      return true;
  }
}

}  // namespace

void WaitAccount::advance(const coracle_event& event) noexcept {
  if (!std::exchange(has_begun_, true)) facts_.begin = facts_.last = event.ticks;
  const std::uint64_t time = event.ticks - facts_.last;
  // Nothing has run while the rank was idle, though handlers of calls that come then may be the first to tell of
  // something.
  const bool was_waiting = is_waiting_ && (std::exchange(is_idle_, false) || !shows_work(event.kind));
  (was_waiting ? facts_.waiting : facts_.computing) += time;
  facts_.last = event.ticks;
  if (event.kind != CORACLE_SLEEP_BEGIN) return;
  is_idle_ = true;
  is_waiting_ = true;  // also where tasks have ended, of which tools are not told
  can_run_count_ = 0;
}

void WaitAccount::can_run(std::uint64_t task) noexcept {
  is_waiting_ = false;
  if (can_run_count_ < can_run_.size()) can_run_[can_run_count_++] = task;
}

/// Tasks run in the order in which they could: those before it have run, too, and have ended. One that is not among
/// them was started by one that runs, which may go on: that shows when it tells of something.
void WaitAccount::can_not_run(std::uint64_t task) noexcept {
  const auto end = can_run_.begin() + static_cast<std::ptrdiff_t>(can_run_count_);
  const auto found = std::find(can_run_.begin(), end, task);
  const auto left = found == end ? end : found + 1;
  can_run_count_ = static_cast<std::size_t>(std::copy(left, end, can_run_.begin()) - can_run_.begin());
  is_waiting_ = can_run_count_ == 0;
}

std::uint64_t WaitAccount::book(std::uint64_t begin) noexcept {
  const std::uint64_t time = std::min(facts_.waiting - begin, facts_.waiting - booked_);
  booked_ += time;
  return time;
}

SummaryWriter::SummaryWriter(SummaryMemory memory) : memory_(memory), facts_(memory->facts), account_(memory->facts) {
  waits_.reserve(kOpenMax);
  collectives_.reserve(kOpenMax);
  spans_.reserve(64);
  misses_.reserve(kOpenMax);
  facts_.is_open = 1;
}

coracle_tool SummaryWriter::tool() noexcept {
  coracle_tool tool{};
  tool.version = CORACLE_TOOL_VERSION;
  tool.self = this;
  tool.event = [](void* self, const coracle_event* event) { static_cast<SummaryWriter*>(self)->write(*event); };
  return tool;
}

void SummaryWriter::write(const coracle_event& event) noexcept {
  account_.advance(event);
  switch (event.kind) {
    case CORACLE_WAIT_BEGIN:
      return begin_wait(event);
    case CORACLE_WAIT_END:
      return end_wait(event);
    case CORACLE_SPAN_BEGIN:
      return begin_span(event);
    case CORACLE_SPAN_END:
      return end_span(event);
    case CORACLE_COLLECTIVE_BEGIN:
      return begin_collective(event);
    case CORACLE_COLLECTIVE_END:
      return end_collective(event);
    case CORACLE_SEND_BEGIN:
      // The teams of what collectives send are odd (TeamCore::internal_identity).
      return count((event.team & 1) != 0 ? TrafficKind::collective : TrafficKind::message, event.peer, event.bytes);
    case CORACLE_OPERATION_BEGIN:
      return count_operation(event);
    case CORACLE_PAGE_MISS_BEGIN:
      return begin_miss(event);
    case CORACLE_PAGE_MISS_END:
      return end_miss(event);
    case CORACLE_PAGE_USES:
      facts_.page_uses += event.number;
      facts_.page_hits += event.id;
      return;
    case CORACLE_RANK_END:
      facts_.has_ended = 1;
      return;
    default:
      return;
  }
}

void SummaryWriter::begin_wait(const coracle_event& event) {
  if (waits_.size() >= kOpenMax && !waits_.contains(event.id)) return;
  OpenWait wait;
  wait.begin = account_.waiting();
  wait.group =
      event.what <= static_cast<int>(WaitGroup::loss) ? static_cast<WaitGroup>(event.what) : WaitGroup::unknown;
  const coracle_place* place = is_of_program(event.place) ? event.place : nullptr;
  const char* name = event.name;
  const OpenCollective* const collective = collective_of(event.task);
  if (collective != nullptr) {
    wait.group = WaitGroup::collective;
    if (is_of_program(collective->place)) place = collective->place;
    name = collective->name;
  } else if (awaits_page(event.task) || is_page(name)) {
    wait.group = WaitGroup::page;
  }
  wait.is_booked = place != nullptr || collective != nullptr || !spans_.empty();
  // While only services run, the rank waits.
  if (wait.is_booked) account_.can_not_run(event.task);
  if (wait.is_booked) wait.line = line_of(place, name, wait.group);
  waits_.insert_or_assign(event.id, wait);
}

void SummaryWriter::end_wait(const coracle_event& event) noexcept {
  const auto found = waits_.find(event.id);
  if (found == waits_.end()) return;
  const OpenWait wait = found->second;
  waits_.erase(found);
  if (!wait.is_booked) return;
  account_.can_run(event.task);
  const std::uint64_t time = account_.book(wait.begin);
  add(facts_.groups[static_cast<std::size_t>(wait.group)], time);
  add(wait.line == kNone ? facts_.other_lines : memory_->lines[wait.line].waited, time);
}

void SummaryWriter::begin_span(const coracle_event& event) {
  if (spans_.size() == spans_.capacity()) return;
  OpenSpan& span = spans_.emplace_back();
  span.id = event.id;
  span.place = event.place;
  set_text(span.name, event.name);
}

void SummaryWriter::end_span(const coracle_event& event) noexcept {
  const auto found = std::ranges::find(spans_, event.id, &OpenSpan::id);
  if (found != spans_.end()) spans_.erase(found);
}

void SummaryWriter::begin_collective(const coracle_event& event) {
  OpenCollective open{event.task, event.id, event.ticks, event.place, event.name, call_of(event.name), kNone};
  ++(open.call == kNone ? facts_.other_calls : memory_->calls[open.call]).calls;
  if (facts_.entries < SummaryMemory::kEntriesMax) {
    open.entry = static_cast<std::uint32_t>(facts_.entries);
    memory_->entries[open.entry] = {event.id, event.ticks, 0,
                                    open.call == kNone ? SummaryMemory::kCallsMax : open.call};
    ++facts_.entries;
  } else {
    ++facts_.other_entries;
  }
  if (collectives_.size() < kOpenMax) collectives_.push_back(open);
}

void SummaryWriter::end_collective(const coracle_event& event) noexcept {
  const auto found = std::ranges::find(collectives_, event.id, &OpenCollective::id);
  if (found == collectives_.end()) return;
  (found->call == kNone ? facts_.other_calls : memory_->calls[found->call]).time += event.ticks - found->begin;
  if (found->entry != kNone) memory_->entries[found->entry].end = event.ticks;
  collectives_.erase(found);
}

void SummaryWriter::begin_miss(const coracle_event& event) {
  if (misses_.size() < kOpenMax) misses_.push_back({event.id, event.task, event.bytes});
}

void SummaryWriter::end_miss(const coracle_event& event) noexcept {
  const auto found = std::ranges::find(misses_, event.id, &OpenMiss::id);
  if (found == misses_.end()) return;
  const std::size_t way = event.what < facts_.pages.size() ? event.what : 0;
  ++facts_.pages[way];
  facts_.page_bytes[way] += found->bytes;
  misses_.erase(found);
}

void SummaryWriter::count_operation(const coracle_event& event) noexcept {
  switch (event.what) {
    case CORACLE_PUT:
      return count(TrafficKind::put, event.peer, event.bytes);
    case CORACLE_GET:
      return count(TrafficKind::get, event.peer, event.bytes);
    case CORACLE_FETCH_ADD:
    case CORACLE_COMPARE_SWAP:
    case CORACLE_MODIFY:
      return count(TrafficKind::atomic, event.peer, event.bytes);
    default:
      return;  // what carries messages and calls
  }
}

void SummaryWriter::count(TrafficKind flow, std::uint32_t peer, std::uint64_t bytes) noexcept {
  PeerTraffic& traffic = traffic_with(peer);
  ++traffic.count[static_cast<std::size_t>(flow)];
  traffic.bytes[static_cast<std::size_t>(flow)] += bytes;
}

const SummaryWriter::OpenCollective* SummaryWriter::collective_of(std::uint64_t task) const noexcept {
  const auto found = std::ranges::find(collectives_, task, &OpenCollective::task);
  return found == collectives_.end() ? nullptr : &*found;
}

bool SummaryWriter::awaits_page(std::uint64_t task) const noexcept {
  return task != 0 && std::ranges::find(misses_, task, &OpenMiss::task) != misses_.end();
}

/// Places and names are constants of the program, so that their addresses tell most of them apart; a span's name is
/// not.
std::uint32_t SummaryWriter::line_of(const coracle_place* place, const char* name, WaitGroup group) noexcept {
  const OpenSpan* const span = place == nullptr && !spans_.empty() ? &spans_.back() : nullptr;
  const coracle_place* const at = span == nullptr ? place : span->place;
  const auto hash = reinterpret_cast<std::uintptr_t>(at) / 8 + reinterpret_cast<std::uintptr_t>(name);
  KnownLine& known = known_[hash % known_.size()];
  const bool is_known = at != nullptr && known.place == at && known.name == name && known.line != kNone &&
                        memory_->lines[known.line].group == group &&
                        (span == nullptr || memory_->lines[known.line].call == span->name);
  if (is_known) return known.line;
  WaitLine wanted;
  wanted.group = group;
  set_text(wanted.name, name);
  if (place != nullptr) {
    set_text(wanted.file, file_name_of(place->file));
    wanted.line = place->line;
  } else if (span != nullptr) {
    set_span(wanted, *span);
  }
  known = {at, name, find_line(wanted)};
  return known.line;
}

void SummaryWriter::set_span(WaitLine& line, const OpenSpan& span) noexcept {
  line.call = span.name;
  const coracle_place* const place = span.place;
  if (place == nullptr) return;
  if (place->column == CORACLE_IN_MODULE) {
    line.module = module_of(place->file);
    line.address = line.module == 0 ? 0 : place->line;
  } else {
    set_text(line.file, file_name_of(place->file));
    line.line = place->line;
  }
}

/// 0: there is no room for it.
std::uint32_t SummaryWriter::module_of(const char* path) noexcept {
  auto& modules = memory_->modules;
  const std::string_view wanted(path);
  for (std::uint32_t i = 0; i < facts_.modules; ++i)
    if (wanted == modules[i].data()) return i + 1;
  if (facts_.modules == modules.size() || wanted.size() >= modules[0].size()) return 0;
  set_text(modules[facts_.modules], path);
  return static_cast<std::uint32_t>(++facts_.modules);
}

std::uint32_t SummaryWriter::find_line(const WaitLine& wanted) noexcept {
  const auto is_it = [&wanted](const WaitLine& line) {
    return line.line == wanted.line && line.address == wanted.address && line.group == wanted.group &&
           line.module == wanted.module && line.file == wanted.file && line.call == wanted.call &&
           line.name == wanted.name;
  };
  const auto end = memory_->lines.begin() + static_cast<std::ptrdiff_t>(facts_.lines);
  const auto found = std::find_if(memory_->lines.begin(), end, is_it);
  if (found != end) return static_cast<std::uint32_t>(found - memory_->lines.begin());
  if (facts_.lines == memory_->lines.size()) return kNone;
  *found = wanted;
  return static_cast<std::uint32_t>(facts_.lines++);
}

PeerTraffic& SummaryWriter::traffic_with(std::uint32_t peer) noexcept {
  auto& peers = memory_->peers;
  for (std::size_t tried = 0; tried < peers.size(); ++tried) {
    PeerTraffic& each = peers[(peer + tried) % peers.size()];
    if (each.is_used != 0 && each.peer == peer) return each;
    if (each.is_used != 0) continue;
    each.peer = peer;
    each.is_used = 1;
    ++facts_.peers;
    return each;
  }
  return facts_.other_peers;
}

std::uint32_t SummaryWriter::call_of(const char* name) noexcept {
  decltype(CollectiveCalls::name) wanted;
  set_text(wanted, name);
  auto& calls = memory_->calls;
  for (std::uint32_t i = 0; i < facts_.calls; ++i)
    if (calls[i].name == wanted) return i;
  if (facts_.calls == calls.size()) return kNone;
  calls[facts_.calls].name = wanted;
  return static_cast<std::uint32_t>(facts_.calls++);
}

}  // namespace coracle::internals
