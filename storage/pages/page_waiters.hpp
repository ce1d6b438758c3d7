// PageWaiters: the coroutines that wait for one page of a cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "storage/pages/frames.hpp"

namespace coracle::internals::storage {

/// One of them; in its frame. Once `done` is set it has the page pinned in `frame`, or an error, or else asks again.
struct PageWaiting {
  bool writing = false;
  const std::byte* whole = nullptr;  ///< What all of the page is to be.
  std::uint32_t frame = Frames::kNone;
  std::optional<Error> error;
  Event done;
  PageWaiting* next = nullptr;
};

/// First come, first served.
class PageWaiters {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  void add(PageWaiting& waiting) noexcept {
    PageWaiting** last = &first_;
    while (*last != nullptr) last = &(*last)->next;
    *last = &waiting;
  }
  /// Those for whom `is_served(waiting)` gives true wait no more.
  template <class IsServed>
  void serve(IsServed is_served) {
    for (PageWaiting** link = &first_; *link != nullptr;) {
      PageWaiting& waiting = **link;
      if (!is_served(waiting)) {
        link = &waiting.next;
        continue;
      }
      *link = waiting.next;
      waiting.done.set();
    }
  }
  void wake_all() noexcept {
    serve([](PageWaiting&) { return true; });
  }
  void fail(const Error& error, bool also_whole = true) {
    serve([&](PageWaiting& waiting) {
      if (waiting.whole != nullptr && !also_whole) return false;
      waiting.error.emplace(error);
      return true;
    });
  }
  /// What the first of those who write all of the page has brought, which is his no more; null: nobody does.
  const std::byte* take_whole() noexcept {
    PageWaiting* waiting = first_;
    while (waiting != nullptr && waiting->whole == nullptr) waiting = waiting->next;
    return waiting != nullptr ? std::exchange(waiting->whole, nullptr) : nullptr;
  }

 private:
  PageWaiting* first_ = nullptr;
};

}  // namespace coracle::internals::storage
