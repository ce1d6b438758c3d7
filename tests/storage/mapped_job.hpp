// A job of one rank with a window on a small segment, for the tests of MappedSegment.
#pragma once

#include <doctest/doctest.h>

#include <coracle/mapped.hpp>
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "runtime/core/thread_sanitizer.hpp"
#include "runtime/launch/boot.hpp"
#include "storage/segment/paged_segment.hpp"
#include "tests/lone_rank.hpp"
#include "tests/storage/temporary_folder.hpp"
#include "transports/connect.hpp"

namespace coracle::internals::test {

inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kWords = kPage / 8;
using Words = std::vector<std::uint64_t>;

/// A job of one rank with room for a cache.
struct Job {
  Job() { connect_transports(self); }
  static JobShape shape() {
    JobShape shape = LoneRank::shape();
    shape.segment_bytes = 16 << 20;
    return shape;
  }
  /// As a program's end: what serves peers ends, too.
  static Task<> whole(Rank& self, Task<> body) {
    const std::exception_ptr error = co_await as_exception(std::move(body));
    self.service().cancel();
    co_await join_quietly(self.service());
    if (error) std::rethrow_exception(error);
  }
  static Task<std::exception_ptr> as_exception(Task<> body) {
    std::exception_ptr error;
    try {
      co_await body;
    } catch (...) {
      error = std::current_exception();
    }
    co_return error;
  }
  void run(Task<> body) { loop.run(whole(self, std::move(body))); }

  const JobRegion region = JobRegion::create(shape(), JobRegion::Backing::anonymous);
  EventLoop loop;
  WholeRank self{region, 0, loop};
};

inline bool available() {
#ifdef CORACLE_THREAD_SANITIZER
  MESSAGE("SKIPPED: ThreadSanitizer can't see that write protection orders a thread's stores before the loop's reads");
  return false;
#endif
  const IoSupport support = storage::probe_userfaultfd();
  if (!support.available) MESSAGE("SKIPPED: " << support.reason);
  return support.available;
}

inline constexpr std::size_t kMiddlePage = 64 << 10;
inline constexpr std::size_t kHugePage = 2 << 20;

inline PagedOptions options_of(const TemporaryFolder& folder, std::uint64_t bytes, std::size_t page_bytes = kPage) {
  PagedOptions options;
  options.path = folder.file("mapped");
  options.bytes = bytes;
  options.page_bytes = page_bytes;
  options.cache_bytes = (page_bytes == kHugePage ? 4 : 16) * page_bytes;
  options.replace = true;
  return options;
}

inline MappedOptions window_of(std::size_t pages, bool whole_pages = false, std::size_t page_bytes = kPage) {
  MappedOptions options;
  options.window_bytes = pages * page_bytes;
  options.whole_pages = whole_pages;
  return options;
}

inline std::span<std::byte> bytes_of(Words& words) {
  return std::as_writable_bytes(std::span(words));
}

/// Runs `body(rank, segment, window)` on a new segment of so many words.
template <class Body>
Task<> with_window(Rank& self, std::uint64_t words, MappedOptions mapped, Body body, std::size_t page_bytes) {
  const TemporaryFolder folder;
  PagedSegment segment = co_await PagedSegment::create(self.world(), options_of(folder, words * 8, page_bytes));
  MappedSegment window = co_await MappedSegment::map(self, segment, mapped);
  co_await body(self, segment, window);
  co_await window.unmap();
  co_await segment.close();
}

template <class Body>
void run_with_window(std::uint64_t words, MappedOptions mapped, Body body, std::size_t page_bytes = kPage) {
  if (!available()) return;
  Job job;
  job.run(with_window(job.self, words, mapped, body, page_bytes));
}

inline Task<Words> content_of(PagedSegment& segment) {
  Words words(segment.bytes() / 8);
  const auto target = bytes_of(words);
  co_await segment.get(0, target);
  co_return words;
}

}  // namespace coracle::internals::test
