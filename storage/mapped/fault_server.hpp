// FaultServer: serves the faults of those who touch a window, and fetches pages ahead of them; and FaultWatchdog, for
// faults that it can't serve.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <thread>

#include "runtime/core/scope.hpp"
#include "runtime/core/semaphore.hpp"
#include "runtime/core/task.hpp"
#include "storage/mapped/userfault.hpp"
#include "storage/mapped/window_pages.hpp"
#include "storage/options/mapped_options.hpp"

namespace coracle::internals {
class PagedSegment;
class PinnedPage;
class Rank;
}  // namespace coracle::internals

namespace coracle::internals::storage {

/// Which faults go through a window in order, and which pages to fetch ahead of them. Pages that are there cause no
/// fault, so a stream is known by faults at the pages that were fetched ahead for it: at those still on their way,
/// right behind them, and at the first of each batch, which is to be a mark: it tells that the next batch is needed
/// before the reader has to wait for it. Several streams at a time, for several threads.
class FaultStreams {
 public:
  /// At most `pages_max` ahead, in batches of half of that; 0: never.
  explicit FaultStreams(std::uint32_t pages_max) noexcept : batch_max_((pages_max + 1) / 2) {}

  struct Pages {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  /// Somebody has come to `page`; gives the batch to fetch now, if any: each twice as long as the last, up to the
  /// limit.
  Pages fault(std::uint64_t page) noexcept {
    ++time_;
    const auto known = std::find_if(streams_.begin(), streams_.end(), [page](const Stream& each) {
      return page <= each.end && each.end - page <= 2ULL * each.batch;
    });
    if (known == streams_.end()) {
      const auto older = [](const Stream& one, const Stream& other) { return one.used_at < other.used_at; };
      *std::min_element(streams_.begin(), streams_.end(), older) = {page + 1, 0, time_};
      return {};
    }
    known->used_at = time_;
    if (known->end > page + known->batch) return {};  // not yet at the mark
    known->batch = std::min(std::max(2 * known->batch, 1U), batch_max_);
    const std::uint64_t first = std::max(known->end, page + 1);
    known->end = first + known->batch;
    return {first, known->batch};
  }

 private:
  struct Stream {
    std::uint64_t end = ~std::uint64_t{0};  ///< All before has been asked for.
    std::uint32_t batch = 0;
    std::uint64_t used_at = 0;
  };
  std::array<Stream, 16> streams_;
  std::uint64_t time_ = 0;
  std::uint32_t batch_max_;
};

/// Used by the loop's thread. Its tasks are in `scope`, and must have ended before it does.
class FaultServer {
 public:
  FaultServer(Rank& rank, PagedSegment& segment, Userfault& faults, WindowPages& pages, Scope& scope,
              const MappedOptions& options);
  FaultServer(const FaultServer&) = delete;
  FaultServer& operator=(const FaultServer&) = delete;

  /// Serves what take() gave. What can't be served gives its threads a signal, as a page that can't be read.
  void serve(std::span<const Userfault::Fault> faults);

 private:
  using State = WindowPages::State;
  enum class Reason { load, store, ahead, mark };
  void serve_one(const Userfault::Fault& fault);
  void serve_known(std::uint64_t number, WindowPages::Page& page, bool writing);
  void fetch_ahead(std::uint64_t page);
  void begin_fetch(std::uint64_t number, Reason reason);
  Task<> fetch(std::uint64_t number);
  Task<> read_and_install(std::uint64_t number);

  void install(std::uint64_t number, const PinnedPage& pinned);
  int fill(std::uint64_t number, WindowPages::Page& page, std::span<const std::byte> bytes, bool frozen);
  int fill_behind_head(std::uint64_t number, WindowPages::Page& page, std::span<const std::byte> bytes);
  bool bring_head(std::uint64_t number, WindowPages::Page& page);
  void refuse(std::uint64_t number, const std::exception_ptr& error);
  void give_up(std::uint64_t number, const std::exception_ptr& error) noexcept;

  Rank& rank_;
  PagedSegment& segment_;
  Userfault& faults_;
  WindowPages& pages_;
  Scope& scope_;
  HugePagePool& huge_pages_;
  std::size_t page_bytes_;
  std::size_t head_bytes_;  ///< Of the smallest piece that can be missing.
  Semaphore reads_;         ///< Pages that are read at the same time.
  FaultStreams streams_;
};

/// Tells when an event loop has touched a window whose faults only it can serve, instead of a hang. A thread that looks
/// four times a second for faults that have not been taken for as long. One of the loop's own thread is explained on
/// standard error and answered by SIGBUS, which that thread gets where it waits; the others are reported again.
class FaultWatchdog {
 public:
  /// Made by the loop's thread. Throws Error when the system gives no thread.
  FaultWatchdog(Userfault& faults, std::uint32_t rank);
  ~FaultWatchdog();
  FaultWatchdog(const FaultWatchdog&) = delete;
  FaultWatchdog& operator=(const FaultWatchdog&) = delete;

  /// The loop takes faults.
  void alive() noexcept { taken_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void watch() noexcept;
  void look_at_stuck() noexcept;

  Userfault& faults_;
  std::uint32_t rank_;
  std::uint32_t loop_thread_;
  std::atomic<std::uint64_t> taken_{0};
  std::mutex mutex_;
  std::condition_variable end_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace coracle::internals::storage
