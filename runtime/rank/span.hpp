// Span: a piece of a program's own work, under a name, for traces and tools.
#pragma once

#include <cstdint>
#include <source_location>
#include <utility>

#include "runtime/core/events.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals {

/// From its making to its end, awaits and all; where no tool is told, nothing.
///
///     const Span solve(self, "solve");
///     co_await relax(self);
class [[nodiscard("a Span ends with its object")]] Span {
 public:
  /// In a coroutine of `rank`, which outlives this. `name` is copied.
  Span(Rank& rank, const char* name, const std::source_location& where = std::source_location::current()) noexcept
      : events_(rank.loop().events()) {
    if (events_ == nullptr) [[likely]]
      return;
    id_ = events_->new_id();
    events_->begin_span(name, id_, place_of(where));
  }
  Span(Span&& other) noexcept : events_(std::exchange(other.events_, nullptr)), id_(other.id_) {}
  Span& operator=(Span&&) = delete;
  ~Span() { end(); }

  /// Before its object does.
  void end() noexcept {
    if (events_ != nullptr) [[unlikely]]
      std::exchange(events_, nullptr)->end_span(id_);
  }

 private:
  Events* events_;  // null: it has ended, or nobody is told
  std::uint64_t id_ = 0;
};

}  // namespace coracle::internals
