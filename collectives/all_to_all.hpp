// all_to_all: a block from every member to every other.
#pragma once

#include <source_location>
#include <span>
#include <utility>

#include "collectives/data/blocks.hpp"
#include "runtime/core/byte_counts.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// Block i of `source` goes to member i, into the block of its `target` for this one. `same_size`: all blocks of all
/// members are equally long.
Task<> all_to_all_bytes(Team& team, std::span<const std::byte> source, Blocks source_blocks,
                        std::span<std::byte> target, Blocks target_blocks, bool same_size, Algorithm algorithm,
                        std::source_location where);

/// Whether `bytes` of each member, in blocks of the same size, go without anybody's waiting until others have read.
bool exchanges_at_once(Team& team, std::size_t bytes);

template <class T>
Task<> Team::all_to_all(std::span<const std::type_identity_t<T>> source, std::span<T> target, Algorithm algorithm,
                        Where where) {
  detail::check_elements<T>();
  const Blocks blocks(size(), byte_span(source).size() / size());
  return all_to_all_bytes(*this, byte_span(source), blocks, writable_byte_span(target), blocks, true, algorithm, where);
}

template <class T>
Task<> Team::all_to_all_v(std::span<const std::type_identity_t<T>> source, std::span<const std::size_t> source_counts,
                          std::span<T> target, std::span<const std::size_t> target_counts, Where where) {
  detail::check_elements<T>();
  return all_to_all_bytes(*this, byte_span(source), Blocks(source_counts, sizeof(T)), writable_byte_span(target),
                          Blocks(target_counts, sizeof(T)), false, Algorithm::automatic, where);
}

}  // namespace coracle::internals
