// The collectives that move a block of each member's to others as it is: gathers, scatters, all_to_all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <type_traits>

#include "collectives/data/blocks.hpp"
#include "collectives/parts/member_blocks.hpp"
#include "runtime/core/byte_counts.hpp"
#include "runtime/team/in_place.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

// `same_size`: all blocks are as long as the others, as every member knows, and in a row; else only their owners know.
// A buffer ends where its last block does (Blocks::reach()). Where blocks lie may differ from member to member.

/// `mine` of each into its block of `all`, which is looked at at the root alone; so are `blocks` where they differ.
Task<> gather_bytes(Team& team, std::span<const std::byte> mine, std::span<std::byte> all, Blocks blocks,
                    bool same_size, std::uint32_t root, Algorithm algorithm, std::source_location where);
/// The way back.
Task<> scatter_bytes(Team& team, std::span<const std::byte> all, std::span<std::byte> mine, Blocks blocks,
                     bool same_size, std::uint32_t root, Algorithm algorithm, std::source_location where);
/// The way back of blocks that differ, on a team's only node.
Task<> scatter_parts(Team& team, std::span<const std::byte> all, std::span<std::byte> mine, Blocks blocks,
                     CollectiveCall call);
/// `all`: a block for each member. `mine` may be this member's own block of it. `called`: of what it is a part.
Task<> gather_all_bytes(Team& team, std::span<const std::byte> mine, std::span<std::byte> all, Blocks blocks,
                        Algorithm algorithm, std::source_location where, Called called = Called::gather_all);
/// Block i of `source` goes to member i, into the block of its `target` for this one.
Task<> all_to_all_bytes(Team& team, std::span<const std::byte> source, Blocks source_blocks,
                        std::span<std::byte> target, Blocks target_blocks, bool same_size, Algorithm algorithm,
                        std::source_location where);
/// The same of blocks that may be scattered; on a team's only node. What it refers to lives until it has ended.
Task<> all_to_all_parts(Team& team, const SourceBlocks& sources, const TargetBlocks& targets,
                        const CollectiveCall& call);
/// Asserts that there is a block for each member, on both sides, and that the own ones are as long as each other.
void check_members(const Team& team, const SourceBlocks& sources, const TargetBlocks& targets);
bool any_on_device(const Team& team, const SourceBlocks& sources, const TargetBlocks& targets);
/// Whether Team::all_to_all_w copies straight from the members' layouts to each other's, of all sizes.
bool copies_straight(const Team& team);
/// Whether `bytes` of each member, in blocks of the same size, go without anybody's waiting until others have read.
bool exchanges_at_once(Team& team, std::size_t bytes);

template <class T>
Task<> Team::gather(std::span<const std::type_identity_t<T>> mine, std::span<T> all, std::uint32_t root,
                    Algorithm algorithm, Where where) {
  detail::check_elements<T>();
  return gather_bytes(*this, byte_span(mine), writable_byte_span(all), Blocks(size(), byte_span(mine).size()), true,
                      root, algorithm, where);
}
template <class T>
Task<> Team::gather_v(std::span<const std::type_identity_t<T>> mine, std::span<T> all,
                      std::span<const std::size_t> counts, std::uint32_t root, Where where) {
  detail::check_elements<T>();
  return gather_bytes(*this, byte_span(mine), writable_byte_span(all),
                      index() == root ? Blocks(counts, sizeof(T)) : Blocks(size(), 0), false, root,
                      Algorithm::automatic, where);
}

template <class T>
Task<> Team::scatter(std::span<const std::type_identity_t<T>> all, std::span<T> mine, std::uint32_t root,
                     Algorithm algorithm, Where where) {
  detail::check_elements<T>();
  return scatter_bytes(*this, byte_span(all), writable_byte_span(mine), Blocks(size(), byte_span(mine).size()), true,
                       root, algorithm, where);
}
template <class T>
Task<> Team::scatter_v(std::span<const std::type_identity_t<T>> all, std::span<const std::size_t> counts,
                       std::span<T> mine, std::uint32_t root, Where where) {
  detail::check_elements<T>();
  return scatter_bytes(*this, byte_span(all), writable_byte_span(mine),
                       index() == root ? Blocks(counts, sizeof(T)) : Blocks(size(), 0), false, root,
                       Algorithm::automatic, where);
}

template <class T>
Task<> Team::gather_all(std::span<const std::type_identity_t<T>> mine, std::span<T> all, Algorithm algorithm,
                        Where where) {
  detail::check_elements<T>();
  return gather_all_bytes(*this, byte_span(mine), writable_byte_span(all), Blocks(size(), byte_span(mine).size()),
                          algorithm, where);
}
template <class T>
Task<> Team::gather_all_v(std::span<const std::type_identity_t<T>> mine, std::span<T> all,
                          std::span<const std::size_t> counts, Algorithm algorithm, Where where) {
  detail::check_elements<T>();
  return gather_all_bytes(*this, byte_span(mine), writable_byte_span(all), Blocks(counts, sizeof(T)), algorithm, where);
}

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
