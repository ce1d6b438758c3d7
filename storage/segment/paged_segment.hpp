// PagedSegment: global memory larger than DRAM: its pages have homes in files on the nodes' SSDs and are cached in the
// DRAM of all of them; one-sided access, awaited. After vGASNet (IPSJ HPC-160, 2017). docs/storage.md has the protocol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/std_parts.hpp"
#include "runtime/core/task.hpp"
#include "runtime/layout/layout.hpp"
#include "runtime/rank/handle.hpp"
#include "runtime/rank/transfer.hpp"
#include "runtime/team/team.hpp"
#include "storage/options/paged_options.hpp"
#include "storage/pages/pinned_page.hpp"

namespace coracle::internals {

namespace storage {
class PageCache;
struct SegmentParts;
/// Error (out_of_segment), for arrays.
[[noreturn]] void throw_no_such_elements(std::uint64_t first, std::uint64_t count, std::uint64_t size);
}  // namespace storage

/// The awaitable of get and put: done at once, without a suspension, where all pages are cached.
class [[nodiscard]] PagedTransfer {
 public:
  PagedTransfer(storage::PageCache& cache, bool writing, std::uint64_t offset, std::byte* local,
                std::size_t bytes) noexcept
      : cache_(cache), local_(local), bytes_(bytes), offset_(offset), writing_(writing) {}
  bool await_ready();
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    return rest_->await_suspend(self);  // NOLINT(bugprone-unchecked-optional-access): set by await_ready
  }
  void await_resume() {
    if (rest_) rest_->await_resume();
  }

 private:
  storage::PageCache& cache_;
  std::byte* local_;
  std::size_t bytes_;
  std::uint64_t offset_;
  std::optional<Task<>> rest_;
  bool writing_;
};

/// All members of a team hold one each, made and closed together. Used by its rank's thread only. Bytes are addressed
/// from 0 to bytes(). Rules for programs: what one rank puts, others see from the moment its put has returned; a get
/// beside a put of the same bytes gives old or new bytes, in any mixture. Pages move between caches as a whole, one
/// writer or many readers, so unrelated writes into one page cost transfers but lose nothing.
///
/// Errors, thrown at the await: out_of_segment; page_damaged (its checksum is wrong); page_lost (the only current copy
/// was at a node that died); peer_lost (its home is gone); those of the file (no space, EIO, ...). Other pages go on.
class PagedSegment {
 public:
  /// A new segment, all zero. Collective. Throws Error (bad_input, file exists, ...), the same kind at every member.
  static Task<PagedSegment> create(Team& team, PagedOptions options);
  /// What was flushed or checkpointed last; or, with `checkpoint`, the last one of that name that all homes have: the
  /// segment goes back to it, and what came later is given up. Needs as many homes as it was made with. Collective.
  static Task<PagedSegment> open(Team& team, PagedOptions options, std::string checkpoint = {});
  PagedSegment(PagedSegment&&) noexcept;
  PagedSegment& operator=(PagedSegment&&) noexcept;
  /// Of a segment that is not closed: its caches are dropped; what was not flushed is lost.
  ~PagedSegment();

  std::uint64_t bytes() const noexcept;
  std::uint64_t page_bytes() const noexcept;
  std::uint64_t pages() const noexcept;

  /// Copies from the segment to `target`, or from `source` into it. The memory belongs to the transfer until it has
  /// returned.
  PagedTransfer get(std::uint64_t offset, std::span<std::byte> target);
  PagedTransfer put(std::uint64_t offset, std::span<const std::byte> source);
  /// Scattered: `count` repetitions of `layout` whose origin is at `offset` of the segment, against local memory.
  Task<> get(std::uint64_t offset, const Layout& layout, std::uint64_t count, ScatteredTarget target);
  Task<> put(ScatteredSource source, std::uint64_t offset, const Layout& layout, std::uint64_t count = 1);
  /// Started now; awaited by wait(), or together by nbi_done(), which throws the first error of any.
  class Handle;
  Handle get_nb(std::uint64_t offset, std::span<std::byte> target);
  Handle put_nb(std::uint64_t offset, std::span<const std::byte> source);
  void get_nbi(std::uint64_t offset, std::span<std::byte> target);
  void put_nbi(std::uint64_t offset, std::span<const std::byte> source);
  Task<> nbi_done();

  /// The page in the cache, to be read or written in place.
  Task<PinnedPage> pin(std::uint64_t page, bool writing = false);
  /// Asks for pages that will be read soon; never waits, never fails.
  void prefetch(std::uint64_t offset, std::uint64_t bytes);
  /// From now on this cache evicts so: EvictionKind::mru before loops over more than the cache.
  void advise(storage::EvictionKind kind);

  /// Every put of this rank (and of those that share its cache) that had returned before is on the device when it
  /// returns. Not collective.
  Task<> flush();
  /// Everything put before by anybody becomes the checkpoint `name`, atomically over all homes. Collective.
  Task<> checkpoint(std::string name);
  /// Flushes, and closes the files. Collective.
  Task<> close();

  PagedCounts counts() const;

 private:
  explicit PagedSegment(std::unique_ptr<storage::SegmentParts> parts) noexcept;
  std::unique_ptr<storage::SegmentParts> parts_;
};

/// A started transfer; wait for it before its memory ends. Dropping it cancels nothing: the segment keeps it going.
class [[nodiscard]] PagedSegment::Handle {
 public:
  Task<> wait();
  bool done() const noexcept;

 private:
  friend class PagedSegment;
  struct Started;
  explicit Handle(std::shared_ptr<Started> started) noexcept : started_(std::move(started)) {}
  std::shared_ptr<Started> started_;
};

}  // namespace coracle::internals
