#include "storage/segment/segment_setup.hpp"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/rpc.hpp"
#include "runtime/team/sized_values.hpp"
#include "runtime/team/team.hpp"
#include "storage/options/page_map.hpp"
#include "storage/options/paged_options.hpp"
#include "storage/pages/cache_controller.hpp"
#include "storage/pages/page_cache.hpp"
#include "storage/pages/segment_caches.hpp"
#include "storage/segment/home_files.hpp"
#include "storage/store/page_store.hpp"

namespace coracle::internals::storage {
namespace {

constexpr std::uint32_t kPageBytesMin = 4096;
constexpr std::uint32_t kPageBytesMax = 4 << 20;
constexpr std::uint64_t kSegmentBytesMax = std::uint64_t{1} << 62;
constexpr std::uint32_t kFramesMin = 4;
constexpr std::uint32_t kFramesMax = Frames::kNone - 1;

/// Whether one cache can serve all ranks of a node: they reach its frames by load and store.
bool caches_are_shared(const Team& team, const PagedOptions& options) noexcept {
  return !options.cache_per_rank && team.rank().placement() != Placement::sim;
}

/// The ranks that keep caches, the same at every member, and which of them serves this one.
struct Controllers {
  std::vector<std::uint32_t> ranks;
  std::uint32_t own = 0;
};

Controllers controllers_of(const Team& team, bool shared) {
  Controllers controllers;
  if (!shared) {
    for (std::uint32_t i = 0; i < team.size(); ++i) controllers.ranks.push_back(team.member(i));
    controllers.own = team.index();
    return controllers;
  }
  const TeamNodes& nodes = team.nodes();
  for (std::uint32_t node = 0; node < nodes.count(); ++node)
    controllers.ranks.push_back(team.member(nodes.member(node, 0)));
  controllers.own = nodes.own();
  return controllers;
}

void check_options(const PagedOptions& options, bool creating) {
  if (options.path.empty() && !options.model)
    throw Error(Errc::bad_input, "a paged segment needs a path for its files (PagedOptions::path)");
  if (!options.model) check_path(options.path);
  const std::uint64_t page = options.page_bytes;
  const bool unset = page == 0 && !creating;
  if (!unset && (!std::has_single_bit(page) || page < kPageBytesMin || page > kPageBytesMax))
    throw Error(Errc::bad_input,
                fmt::format("pages of {} bytes: their size must be a power of two from 4 KiB to 4 MiB", page));
  if (creating && options.bytes == 0)
    throw Error(Errc::bad_input, "a new paged segment needs a size (PagedOptions::bytes)");
  if (options.bytes > kSegmentBytesMax)
    throw Error(Errc::bad_input, fmt::format("a paged segment of {} bytes: it may have at most 2^62 "
                                             "(PagedOptions::bytes); see where the number comes from",
                                             options.bytes));
  if (!(options.dirty_share > 0 && options.dirty_share <= 1))
    throw Error(Errc::bad_input,
                fmt::format("a dirty share of {}: it must be above 0 and at most 1", options.dirty_share));
  if (options.chances > LastCopyHint::kChancesMax)
    throw Error(Errc::bad_input, fmt::format("{} chances for the last copy of a page: it may be handed on at most {} "
                                             "times (PagedOptions::chances)",
                                             options.chances, LastCopyHint::kChancesMax));
}

/// The memory of a cache, aligned for huge pages.
std::pair<Slab<std::byte>, std::byte*> allocate_frames(Rank& rank, const Frames::Shape& shape) {
  const std::size_t bytes = Frames::bytes_needed(shape) + Frames::kAlignment;
  try {
    Slab<std::byte> slab = rank.core().own_segment().allocate_raw(bytes);
    const auto address = reinterpret_cast<std::uintptr_t>(slab.data());
    auto* memory = reinterpret_cast<std::byte*>((address + Frames::kAlignment - 1) & ~(Frames::kAlignment - 1));
    // Only hints: where the kernel refuses, pages are small and reads somewhat slower. What was used for something else
    // before is small pages until they are collapsed; one of them in a registered buffer lets the kernel split all of
    // it. They must not be given back instead: a NIC may have the segment pinned, and would go on with the old pages.
    constexpr int kCollapse = 25;  // MADV_COLLAPSE (Linux 6.1), which leaves pinned pages alone
    const std::size_t frame_bytes = std::size_t{shape.frames} * shape.page_bytes;
    madvise(memory, frame_bytes, MADV_HUGEPAGE);
    madvise(memory, frame_bytes, kCollapse);
    return {std::move(slab), memory};
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("a page cache of {} bytes on rank {} does not fit into the rank's segment; "
                                          "start with a larger --segment, or ask for a smaller cache ({})",
                                          bytes, rank.id(), error.what()));
  }
}

template <class Work>
std::optional<Error> failure_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

std::uint32_t frames_in(const PagedOptions& options, const StoreShape& shape, std::uint64_t pages) {
  const std::uint64_t frames = options.cache_bytes / shape.page_bytes;
  if (frames < kFramesMin)
    throw Error(Errc::bad_input, fmt::format("a cache of {} bytes holds {} pages of {} bytes: it must hold at least {}",
                                             options.cache_bytes, frames, shape.page_bytes, kFramesMin));
  const std::uint64_t needed = std::min(frames, std::max<std::uint64_t>(pages, kFramesMin));
  if (needed > kFramesMax)
    throw Error(Errc::bad_input, fmt::format("a cache of {} bytes holds {} pages of {} bytes: it may hold at most {}; "
                                             "make it smaller, or its pages larger",
                                             options.cache_bytes, frames, shape.page_bytes, kFramesMax));
  return static_cast<std::uint32_t>(needed);
}

/// Where the caches' memories are, by their numbers.
Task<std::vector<SegmentCaches::Peer>> meet_peers(Team& team, std::vector<std::uint32_t> controllers,
                                                  Remote<std::byte> mine) {
  const std::vector<Remote<std::byte>> places = co_await gather_from_all(team, mine);
  std::vector<SegmentCaches::Peer> peers(controllers.size());
  for (std::uint32_t i = 0; i < team.size(); ++i) {
    const auto found = std::find(controllers.begin(), controllers.end(), team.member(i));
    if (found != controllers.end())
      peers[static_cast<std::size_t>(found - controllers.begin())] = {team.member(i), places[i]};
  }
  co_return peers;
}

/// Of what was not closed.
void drop(SegmentParts& parts) noexcept {
  Rank& rank = parts.team->rank();
  if (parts.number == 0 || rank.id() != parts.controllers[parts.own]) return;
  rank.local<SegmentTable>().close(parts.number, parts.own);
  parts.number = 0;
  if (parts.controller != nullptr) parts.controller->stop();
}

/// Makes the cache and the way to it, once the homes are open.
Task<> make_caches(SegmentParts& parts, const PagedOptions& options, const StoreShape& file, std::uint32_t own,
                   std::unique_ptr<PageStore> store) {
  Team& team = *parts.team;
  Rank& rank = team.rank();
  const bool keeps = rank.id() == parts.controllers[own];
  const PageMap map = map_of(file);
  Frames::Shape shape{0, file.page_bytes, map.pages};
  CacheController::Memory memory;
  co_await agree(team, failure_of([&] {
                   shape.frames = frames_in(options, file, map.pages);
                   if (!keeps) return;
                   std::tie(memory.slab, memory.frames) = allocate_frames(rank, shape);
                   Frames::make(memory.frames, shape);
                 }));
  Remote<std::byte> place;
  if (keeps) place = memory.slab.remote() + (memory.frames - memory.slab.data());
  std::vector<SegmentCaches::Peer> peers = co_await meet_peers(team, parts.controllers, place);
  std::byte* reached = keeps ? memory.frames : rank.reach(peers[own].frames, Frames::bytes_needed(shape));
  CORACLE_ASSERT(reached != nullptr, "rank {} does not reach the page cache of rank {}", rank.id(),
                 parts.controllers[own]);
  const Frames frames(reached, shape);
  if (keeps) {
    const SegmentCaches::Shape caches_shape{parts.number, own, file.segment_bytes, map};
    parts.controller = std::make_shared<CacheController>(SegmentCaches(rank, caches_shape, frames, std::move(peers)),
                                                         options, std::move(memory), std::move(store));
    rank.local<SegmentTable>().add(parts.number, *parts.controller);
    parts.controller->start();
  }
  const PageCache::Shape cache_shape{parts.number, file.segment_bytes, file.page_bytes, parts.controllers[own],
                                     options.read_ahead_pages};
  parts.cache = std::make_unique<PageCache>(rank, cache_shape, frames, parts.controller.get());
  co_await agree(team, std::nullopt);  // nobody asks before all can answer
}

/// Opens the homes and makes the caches.
Task<> fill(SegmentParts& parts, const PagedOptions& options, OpenOptions open_options, std::uint32_t own,
            OpenedHomes& homes) {
  Team& team = *parts.team;
  co_await agree(team, failure_of([&] {
                   check_options(options, open_options.create);
                   if (!open_options.checkpoint.empty()) check_checkpoint_name(open_options.checkpoint);
                 }));
  auto& table = team.rank().local<SegmentTable>();
  for (const std::uint32_t unused : co_await gather_from_all(team, table.unused()))
    parts.number = std::max(parts.number, unused);
  table.used(parts.number);
  const HomeAssignment assignment{team.rank().id() == parts.controllers[own] && own < parts.homes, own, parts.homes};
  co_await open_homes(team, options, open_options, assignment, homes);
  parts.epoch = homes.epoch;
  co_await make_caches(parts, options, homes.shape, own, std::move(homes.store));
}

/// For a rank that shares another's cache.
Task<> flush_there(Rank& rank, std::uint32_t number) {
  co_await flush(rank.local<SegmentTable>().at(number));
}

void advise_there(Rank& rank, std::uint32_t number, EvictionKind kind) {
  rank.local<SegmentTable>().at(number).advise(kind);
}

}  // namespace

SegmentParts::~SegmentParts() {
  drop(*this);
}

Task<std::unique_ptr<SegmentParts>> set_up(Team& team, PagedOptions options, OpenOptions open_options) {
  auto parts = std::make_unique<SegmentParts>();
  parts->team = &team;
  Controllers controllers = controllers_of(team, caches_are_shared(team, options));
  parts->controllers = std::move(controllers.ranks);
  parts->own = controllers.own;
  parts->homes = options.spread == HomeSpread::one ? 1 : static_cast<std::uint32_t>(parts->controllers.size());
  OpenedHomes homes;
  const Result<> filled = co_await as_result(fill(*parts, options, open_options, controllers.own, homes));
  if (!filled.ok()) {
    // A segment that was not made leaves nothing behind.
    drop(*parts);
    if (!homes.created.empty()) ::unlink(homes.created.c_str());
    throw Error(filled.error());
  }
  co_return parts;
}

Task<> flush(SegmentParts& parts) {
  if (parts.controller != nullptr)
    co_await flush(*parts.controller);
  else
    co_await parts.team->rank().call(parts.cache->shape().controller, flush_there, parts.number);
}

Task<> checkpoint(SegmentParts& parts, std::string name) {
  Team& team = *parts.team;
  PageHome* const home = parts.controller != nullptr ? parts.controller->home() : nullptr;
  // What anybody has put before he came here is in it. And what all homes have is confirmed before any of them may
  // write over what it takes to be not: a member that was cancelled may not have heard the end of the last one.
  parts.epoch = co_await next_epoch(team, home != nullptr ? &home->store() : nullptr, parts.epoch);
  std::optional<Error> failure = failure_of([&] { check_checkpoint_name(name); });
  if (parts.controller != nullptr && !failure) {
    const Result<> cleaned = co_await as_result(parts.controller->clean_all());
    failure = cleaned.failure();
  }
  co_await agree(team, failure);  // now every page is at its home
  if (home != nullptr) {
    const Result<> made = co_await as_result(home->checkpoint(name, parts.epoch));
    failure = made.failure();
  }
  co_await agree(team, failure);  // now every home has it: the one before is needed no more
  if (home != nullptr) home->store().confirm(parts.epoch);
}

Task<> close(SegmentParts& parts) {
  Team& team = *parts.team;
  std::optional<Error> failure;
  const Result<> come = co_await as_result(agree(team, std::nullopt));  // nobody puts any more
  if (parts.controller != nullptr) {
    const Result<> flushed = co_await as_result(flush(*parts.controller));
    failure = flushed.failure();
    co_await parts.controller->quiesce();  // what it has asked of others must be answered before they go
  }
  Result<> agreed = come;
  if (come.ok()) agreed = co_await as_result(agree(team, failure));
  if (parts.controller != nullptr) {
    // Where a member is lost, others may still ask: they are told from now on, and those that wait by stop().
    team.rank().local<SegmentTable>().close(parts.number, parts.own);
    const Result<> closed = co_await as_result(parts.controller->close());
    if (!closed.ok()) failure = closed.error();
  }
  agreed.value();
  co_await agree(team, failure);
  drop(parts);
}

void advise(SegmentParts& parts, EvictionKind kind) {
  if (parts.controller != nullptr) return parts.controller->advise(kind);
  Rank& rank = parts.team->rank();
  rank.service().spawn(rank.call(parts.cache->shape().controller, advise_there, parts.number, kind));
}

PagedCounts counts(const SegmentParts& parts) {
  const CacheCounters& shared = parts.cache->frames().counters();
  const auto read = [](const std::atomic<std::uint64_t>& count) { return count.load(std::memory_order_relaxed); };
  PagedCounts counts;
  counts.hits = parts.cache->hits();
  counts.misses = read(shared.misses);
  counts.from_peers = read(shared.from_peers);
  counts.ssd_reads = read(shared.ssd_reads);
  counts.ssd_writes = read(shared.ssd_writes);
  counts.evictions = read(shared.evictions);
  counts.dirty_evictions = read(shared.dirty_evictions);
  counts.invalidations = read(shared.invalidations);
  counts.read_ahead = read(shared.read_ahead);
  counts.offered = read(shared.offered);
  counts.handed_on = read(shared.handed_on);
  counts.taken_in = read(shared.taken_in);
  return counts;
}

}  // namespace coracle::internals::storage
