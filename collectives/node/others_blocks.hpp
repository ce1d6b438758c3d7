// OthersBlocks: what a local member gives to each of the others, in a row and without its own block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/node/local_collective.hpp"
#include "runtime/core/copy_short.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals {

/// Of blocks of the same size, one for each member of a team's only node: all but its own, whose place the next ones
/// take. Gives itself as LocalCollective gives bytes.
struct OthersBlocks {
  std::span<const std::byte> source;
  std::size_t block_bytes = 0;
  std::uint32_t own = 0;

  std::size_t bytes() const noexcept { return source.size() - block_bytes; }
  /// Which of the blocks that `giver` gives is for `member`, another one.
  static std::size_t place_of(std::uint32_t member, std::uint32_t giver) noexcept {
    return member < giver ? member : member - 1;
  }
  void write(std::byte* room) const noexcept {
    const std::size_t before = own * block_bytes;
    copy_short(source.first(before), room);
    copy_short(source.subspan(before + block_bytes), room + before);
  }
  /// Of more than a contribution holds not in `sim`, where copies take time; neither is give().
  bool try_give(LocalCollective& local) const {
    return local.try_give_made(bytes(), [this](std::byte* room) { write(room); });
  }
  /// As LocalCollective::try_hand().
  bool try_hand(LocalCollective& local) const {
    return local.try_hand_made(bytes(), [this](std::byte* room) { write(room); });
  }
  Task<> give(LocalCollective& local) const {
    return local.give_made(bytes(), [blocks = *this](std::byte* room) { blocks.write(room); });
  }
  /// As give() in `sim`. This must live until it has ended.
  Task<> give_in_time(LocalCollective& local) const {
    const std::size_t whole = bytes();
    const std::size_t before = own * block_bytes;
    std::byte* room = co_await local.round().allocate_when_free(whole);
    if (before > 0) co_await local.round().copy_own(source.first(before), room);
    if (before < whole) co_await local.round().copy_own(source.last(whole - before), room + before);
    local.expose({room, whole}, 1);
  }
};

}  // namespace coracle::internals
