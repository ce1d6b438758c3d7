// FaultServer: serves the faults of those who touch a window, and fetches pages ahead of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>

#include "runtime/core/scope.hpp"
#include "runtime/core/semaphore.hpp"
#include "runtime/core/task.hpp"
#include "storage/mapped/fault_streams.hpp"
#include "storage/mapped/huge_page_pool.hpp"
#include "storage/mapped/userfault.hpp"
#include "storage/mapped/window_pages.hpp"
#include "storage/options/mapped_options.hpp"

namespace coracle::internals {
class PagedSegment;
class PinnedPage;
class Rank;
}  // namespace coracle::internals

namespace coracle::internals::storage {

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

}  // namespace coracle::internals::storage
