// Events: the point where tools hang (<coracle_tool.h>). A loop without one pays a load and a branch where something
// happens that a tool would be told of.
#pragma once

#include <coracle_tool.h>

#include <array>
#include <bit>
#include <cstdint>
#include <source_location>
#include <vector>

#include "runtime/core/ticks.hpp"
#include "runtime/core/timer.hpp"

namespace coracle::internals {

/// One rank's. Loop's thread only.
class Events {
 public:
  /// `tool`: what is told. `virtual_time`: whose time it is, in `sim`; else null. `by_processor`: see read_ticks().
  Events(const coracle_tool& tool, const Clock* virtual_time, bool by_processor) noexcept
      : tool_(tool), virtual_time_(virtual_time), by_processor_(by_processor) {}
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  /// All zero, of the task that runs now, with nobody.
  coracle_event event(coracle_event_kind kind) const noexcept {
    coracle_event event{};
    event.kind = static_cast<std::uint16_t>(kind);
    event.peer = CORACLE_NOBODY;
    event.task = task_;
    return event;
  }
  void tell(coracle_event& event) noexcept {
    event.ticks = now();
    tool_.event(tool_.self, &event);
  }
  /// One without more to tell, of no task.
  void tell(coracle_event_kind kind, std::uint64_t id = 0) noexcept;
  /// `place`: or null.
  void begin_span(const char* name, std::uint64_t id, const coracle_place* place) noexcept;
  void end_span(std::uint64_t id) noexcept;

  /// The task that runs now: its outermost coroutine's promise; 0: none does.
  void enter(std::uint64_t task) noexcept { task_ = task; }
  std::uint64_t task() const noexcept { return task_; }

  /// The number of the next message to, or from, a rank.
  std::uint64_t number_of_sent(std::uint32_t peer) { return next(sent_, peer); }
  std::uint64_t number_of_arrived(std::uint32_t peer) { return next(arrived_, peer); }
  /// As the function of program_place.hpp; it looks at each place once.
  bool is_of_library(const std::source_location& where) noexcept;
  /// For pairs of events that nothing else tells from each other.
  std::uint64_t new_id() noexcept { return ++ids_; }

 private:
  std::uint64_t now() const noexcept {
    if (by_processor_) [[likely]]
      return read_processor_count();
    return virtual_time_ != nullptr ? virtual_time_->now_ns() : read_ticks(false);
  }
  static std::uint64_t next(std::vector<std::uint64_t>& numbers, std::uint32_t peer) {
    if (peer >= numbers.size()) numbers.resize(std::size_t{peer} + 1);
    return ++numbers[peer];
  }

  struct KnownPlace {
    const coracle_place* place = nullptr;
    bool is_of_library = false;
  };

  const coracle_tool tool_;
  const Clock* const virtual_time_;
  const bool by_processor_;
  std::uint64_t task_ = 0;
  std::uint64_t ids_ = 0;
  std::vector<std::uint64_t> sent_;
  std::vector<std::uint64_t> arrived_;
  std::array<KnownPlace, 64> places_{};  // by hash
};

/// As events have it: null where it is not known.
inline const coracle_place* place_of(const std::source_location& where) noexcept {
  static_assert(sizeof where == sizeof(const coracle_place*));  // one pointer to constants, as of both compilers
  return std::bit_cast<const coracle_place*>(where);
}

}  // namespace coracle::internals
