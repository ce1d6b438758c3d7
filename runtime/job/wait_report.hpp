// What a rank's live coroutines await, from whom and since when: the explanation of a hang.
#pragma once

#include <cstddef>

#include "runtime/core/event_loop.hpp"
#include "runtime/core/signal_text.hpp"

namespace coracle::internals {

/// Appends "rank 3: 2 waits" and one paragraph per wait, at most `details_max` of them. For a signal handler in the
/// loop's own thread. Returns how many waits there are.
std::size_t add_wait_report(SignalText& text, int rank, EventLoop& loop, std::size_t details_max) noexcept;

/// Counts the waits of many ranks by what and where, for thousands of ranks that wait for much the same.
class WaitGroups {
 public:
  /// Adds the waits of one loop.
  void count(EventLoop& loop) noexcept;
  /// Appends one line per group: "  4060 x barrier arrival at app.cpp:42".
  void add_to(SignalText& text) const;

 private:
  friend struct GroupingVisitor;
  struct Group {
    const char* what;
    const char* file;
    unsigned line;
    std::size_t count;
  };
  static constexpr std::size_t kGroupsMax = 64;
  Group groups_[kGroupsMax];
  std::size_t size_ = 0;
  std::size_t others_ = 0;
};

}  // namespace coracle::internals
