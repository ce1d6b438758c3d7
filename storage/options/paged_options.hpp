// PagedOptions and PagedCounts: how a paged segment is laid out, cached and kept, and what it has counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "storage/eviction/eviction_kind.hpp"

namespace coracle::internals {

/// How pages are spread over the homes. one: all at home 0 (the paper's experiments).
enum class HomeSpread : std::uint8_t { cyclic, block, one };

/// An SSD that is only timed, for `sim`: its pages are in memory and last as long as the segment. It serves requests
/// one after the other, as fast as its bandwidth; the latency comes on top of each.
struct SsdModel {
  double read_bytes_per_s = 510e6;  ///< Of vGASNet's paper, both.
  double write_bytes_per_s = 400e6;
  std::uint64_t latency_ns = 100'000;
};

/// The same at every member of the team.
struct PagedOptions {
  /// Of the files: home h keeps its pages in "<path>.<h>". A folder that exists at every node, on a local SSD.
  std::string path;
  /// Of the whole segment. For open(): 0, or what it must be.
  std::uint64_t bytes = 0;
  /// A power of two, 4 KiB to 4 MiB. For open(): 0, or what it must be.
  std::uint64_t page_bytes = 64 * 1024;
  /// Of DRAM for cached pages, per cache: one per node where ranks share memory, else one per rank. Comes out of the
  /// segment of the cache's rank (`coracle run --segment`).
  std::uint64_t cache_bytes = 64ULL << 20;
  /// One cache for each rank also where ranks of a node could share one.
  bool cache_per_rank = false;
  HomeSpread spread = HomeSpread::cyclic;
  storage::EvictionKind eviction = storage::EvictionKind::arc;
  /// Misses are served by peers that have the page, before the SSD. Off: each goes to the home's SSD (for comparison).
  bool cooperative = true;
  /// N-chance forwarding: how often a page that is about to leave the last cache that has it may be handed on to the
  /// cache of an idle peer, before it is dropped; a use gives it all its chances back. 0 to 15; 0: never. For when some
  /// nodes read more than their caches hold while others are idle. Nothing without `cooperative`.
  std::uint32_t chances = 0;
  /// Pages read ahead of a sequential reader, at most; half of them are on their way at once. 0: none. Unset: 32 MiB,
  /// from 4 to 128 pages. Never more than half of the cache.
  std::optional<std::uint32_t> read_ahead_pages;
  /// Dirty pages of a cache, at most, as a share of it: above, writers wait until some have been written home.
  double dirty_share = 0.5;
  /// Replaces files that exist already (create only).
  bool replace = false;
  /// Instead of files (create only; the path is not used).
  std::optional<SsdModel> model;
};

/// What a paged segment has counted. Counted since the segment was made or opened; of this rank's cache (shared by the
/// ranks that share it).
struct PagedCounts {
  std::uint64_t hits = 0;        ///< Of this rank alone.
  std::uint64_t misses = 0;      ///< Pages asked for, included those read ahead or taken in.
  std::uint64_t from_peers = 0;  ///< Misses served by another cache's DRAM.
  std::uint64_t ssd_reads = 0;   ///< Pages read from the file of this cache's home.
  std::uint64_t ssd_writes = 0;  ///< Pages written to it.
  std::uint64_t evictions = 0;
  std::uint64_t dirty_evictions = 0;
  std::uint64_t invalidations = 0;
  std::uint64_t read_ahead = 0;
  std::uint64_t offered = 0;    ///< Hints that a page was about to leave this cache (PagedOptions::chances),
  std::uint64_t handed_on = 0;  ///< and those of them after which another cache took it in.
  std::uint64_t taken_in = 0;   ///< Pages that this cache took in after hints of others.
};

}  // namespace coracle::internals
