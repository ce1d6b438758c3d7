// What `co_await self.put({data, layout}, there, layout_there)` and get of layouts await: a copy straight from layout
// to layout wherever loads and stores reach the peer's memory, else a transfer over the network.
#pragma once

#include <optional>
#include <source_location>
#include <utility>
#include <vector>

#include "runtime/core/task.hpp"
#include "runtime/layout/layout.hpp"
#include "runtime/rank/operation.hpp"
#include "runtime/rank/transport.hpp"

namespace coracle::internals {

class ExposedAccess;
class RankCore;

/// Two-dimensional data on both sides: `count` blocks of `block` elements; strides are in elements, too, and may be
/// negative.
struct Strided {
  std::size_t count;
  std::size_t block;
  std::ptrdiff_t source_stride;  ///< From the beginning of a block to that of the next.
  std::ptrdiff_t target_stride;
};

/// `count` elements in a row in a peer's memory.
template <class T>
struct RemoteRange {
  Remote<T> place;
  std::size_t count;
};

/// Begins when it is awaited. All that it refers to must live until it has finished.
class [[nodiscard]] ScatteredTransfer {
 public:
  /// `local` is only read by a put. The sides must have equally many bytes.
  ScatteredTransfer(RankCore& core, Operation::Verb verb, const ScatteredTarget& local, const RemoteAddress& remote,
                    const Layout& layout, std::uint64_t count);
  /// One that keeps the layouts itself. One of each.
  ScatteredTransfer(RankCore& core, Operation::Verb verb, void* local, Layout local_layout, const RemoteAddress& remote,
                    Layout layout);
  /// A strided one, of elements of so many bytes. It has layouts only where it must go over a network.
  ScatteredTransfer(RankCore& core, Operation::Verb verb, void* local, const RemoteAddress& remote,
                    std::size_t element_bytes, const Strided& shape);

  void awaited_at(const std::source_location& where) noexcept { where_ = where; }
  bool await_ready();
  template <class Promise>
  auto await_suspend(std::coroutine_handle<Promise> self) {
    // await_ready() has said that there is one.
    return rest_->await_suspend(self);  // NOLINT(bugprone-unchecked-optional-access)
  }
  void await_resume() {
    if (failure_) [[unlikely]]
      throw_failure();
    if (rest_) rest_->await_resume();
  }

  /// The same as an operation, for groups of them: what, with whom and where it is.
  const Operation& operation() const noexcept { return operation_; }

 private:
  /// Tells of itself in errors; never submitted.
  struct Description final : Operation {
    using Operation::Operation;
  };

  /// The two sides of a strided transfer, in bytes.
  struct Tile {
    std::int64_t count;
    std::int64_t block_bytes;
    std::int64_t local_stride;
    std::int64_t remote_stride;
  };

  void take_extent(const RemoteAddress& low, std::uint64_t bytes) noexcept {
    operation_.remote = low;
    operation_.bytes = static_cast<std::size_t>(bytes);
  }
  bool on_device() const;
  bool describe_tile(std::size_t element_bytes, const Strided& shape) noexcept;
  void make_layouts(const Tile& tile);
  void copy_tile(const Tile& tile) noexcept;
  ExposedAccess access_remote() const noexcept;
  std::error_code find_remote();
  std::error_code check_remote() const noexcept;
  void copy_piece(std::uint64_t position) noexcept;
  Task<> copy_rest();
  Task<> transfer();
  Task<> transfer_packed_or_by_blocks();
  Task<> put_strided(StridedShape shape);
  [[noreturn]] void throw_failure() const;
  ScatteredTarget local() const noexcept { return {operation_.local, *local_layout_, local_count_}; }

  RankCore& core_;
  Description operation_;
  const Layout* local_layout_ = nullptr;
  const Layout* remote_layout_ = nullptr;
  std::uint64_t local_count_ = 1;
  std::uint64_t remote_count_ = 1;
  RemoteAddress origin_;
  std::uint64_t bytes_ = 0;
  std::optional<Tile> tile_;     // until it has layouts
  std::byte* remote_ = nullptr;  // the origin, where loads and stores reach it
  std::error_code failure_;
  struct Layouts {
    Layout local;
    Layout remote;
  };
  std::optional<Layouts> own_;
  std::optional<Task<>> rest_;
  std::source_location where_;
};

namespace scattered {

/// The ways of a transfer without loads and stores.
enum class TransferRoute : std::uint8_t {
  blocks,  ///< A put or get for each run of bytes that is one on both sides.
  pieces,  ///< Packed, by messages (Exchange).
};

/// Which one takes less time over a transport with these traits, by the shapes of the two sides.
TransferRoute choose_route(const TransportTraits& traits, const LayoutShape& local, const LayoutShape& remote) noexcept;

/// Puts or gets each common run by itself, several at a time. All of the remote layout must lie in the peer's segment.
Task<> transfer_blocks(RankCore& core, Operation::Verb verb, ScatteredTarget local, RemoteAddress origin,
                       const Layout& layout, std::uint64_t count);

/// Of a range of so many elements. Throws Error (bad_input) for more than any memory has.
std::int64_t range_bytes(std::size_t count, std::size_t element_bytes);

/// Runs of `T` that lie anywhere, as a layout around the first one.
template <class T>
Layout ranges_of(const std::vector<std::span<T>>& ranges) {
  std::vector<std::int64_t> lengths;
  std::vector<std::int64_t> places;
  for (const std::span<T>& range : ranges) {
    lengths.push_back(range_bytes(range.size(), sizeof(T)));
    places.push_back(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(range.data()) -
                                               reinterpret_cast<std::uintptr_t>(ranges.front().data())));
  }
  return Layout::bytes(1).hindexed(lengths, std::move(places));
}

template <class T>
Layout ranges_of(const std::vector<RemoteRange<T>>& ranges) {
  std::vector<std::int64_t> lengths;
  std::vector<std::int64_t> places;
  for (const RemoteRange<T>& range : ranges) {
    const RemoteAddress& first = ranges.front().place.address();
    const RemoteAddress& here = range.place.address();
    CORACLE_ASSERT(here.rank == first.rank && here.segment == first.segment,
                   "ranges of one transfer lie in segment {} of rank {} and segment {} of rank {}", first.segment,
                   first.rank, here.segment, here.rank);
    lengths.push_back(range_bytes(range.count, sizeof(T)));
    places.push_back(static_cast<std::int64_t>(here.offset - first.offset));
  }
  return Layout::bytes(1).hindexed(lengths, std::move(places));
}

}  // namespace scattered
}  // namespace coracle::internals
