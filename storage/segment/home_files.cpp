#include "storage/segment/home_files.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/sized_values.hpp"
#include "runtime/team/team.hpp"
#include "storage/store/page_store.hpp"

namespace coracle::internals::storage {
namespace {

std::string file_of(const PagedOptions& options, std::uint32_t home) {
  return fmt::format("{}.{}", options.path, home);
}

StoreShape shape_of(const PagedOptions& options, HomeAssignment assignment) noexcept {
  StoreShape shape;
  shape.page_bytes = static_cast<std::uint32_t>(options.page_bytes);
  shape.home = assignment.home;
  shape.homes = assignment.homes;
  shape.segment_bytes = options.bytes;
  shape.distribution = static_cast<std::uint32_t>(options.spread);
  shape.pages = map_of(shape).pages_of(assignment.home);
  return shape;
}

Io& device_of(Rank& rank) {
  Io* const chosen = rank.local<HomeDevice>().io;
  return chosen != nullptr ? *chosen : rank.loop().io();
}

/// What a home's file says; `epochs.home` is false where a member has none.
struct Facts {
  KnownEpochs epochs;
  std::array<bool, 2> named{};  ///< Those of `epochs` that have the name that is asked for.
  StoreShape shape;
  WentBack back;

  bool has_named(std::uint64_t epoch) const noexcept {
    for (std::uint32_t i = 0; i < epochs.count; ++i)
      if (epochs.epochs[i] == epoch && named[i]) return true;
    return false;
  }
};

Facts facts_of(const StoreSummary& summary, const std::string& name) {
  Facts facts;
  facts.shape = summary.shape;
  facts.back = summary.back;
  facts.epochs.home = true;
  facts.epochs.last = summary.last_epoch;
  for (const CheckpointInfo& each : summary.checkpoints) {
    facts.named[facts.epochs.count] = each.name == name;
    facts.epochs.epochs[facts.epochs.count++] = each.epoch;
  }
  return facts;
}

void refuse_unknown_name(const std::string& path, const StoreSummary& summary, const std::string& name) {
  std::string known;
  for (const CheckpointInfo& each : summary.checkpoints) {
    if (each.name == name) return;
    known += (known.empty() ? "" : ", ") + each.name;
  }
  throw Error(std::make_error_code(std::errc::no_such_file_or_directory),
              fmt::format("{} has no checkpoint '{}'; it has: {}", path, name, known.empty() ? "none" : known));
}

void check_shape(const PagedOptions& options, const StoreShape& first, const StoreShape& shape, std::uint32_t homes) {
  if (shape.homes != homes)
    throw Error(Errc::bad_input, fmt::format("{}.*: made with {} homes, but this team has {} caches: start as many "
                                             "nodes (or ranks) as then",
                                             options.path, shape.homes, homes));
  // What comes from a file is not to be trusted: a segment of no pages would have its first put lead anywhere.
  if (shape.segment_bytes == 0 || shape.pages != map_of(shape).pages_of(shape.home) ||
      shape.distribution > static_cast<std::uint32_t>(HomeSpread::one))
    throw Error(
        Errc::page_damaged,
        fmt::format("{}.{}: its superblock does not fit itself: a segment of {} bytes in pages of {} has not {} "
                    "of them at home {} of {} (distribution {})",
                    options.path, shape.home, shape.segment_bytes, shape.page_bytes, shape.pages, shape.home,
                    shape.homes, shape.distribution));
  const bool same = shape.page_bytes == first.page_bytes && shape.segment_bytes == first.segment_bytes &&
                    shape.distribution == first.distribution;
  if (!same)
    throw Error(Errc::bad_input, fmt::format("{}.{} does not belong to the same segment as {}.{}", options.path,
                                             shape.home, options.path, first.home));
  if (options.page_bytes != 0 && options.page_bytes != shape.page_bytes)
    throw Error(Errc::bad_input, fmt::format("{}.*: has pages of {} bytes, not of {}", options.path, shape.page_bytes,
                                             options.page_bytes));
  if (options.bytes != 0 && options.bytes != shape.segment_bytes)
    throw Error(Errc::bad_input,
                fmt::format("{}.*: has {} bytes, not {}", options.path, shape.segment_bytes, options.bytes));
}

/// What the homes' files say together; the same at every member.
struct Decision {
  StoreShape shape;
  std::uint64_t last = 0;       ///< The greatest epoch that any home has.
  std::uint64_t confirmed = 0;  ///< The greatest that all homes have and will have; 0: none.
  WentBack back;                ///< What homes that have gone back less often than this must do now.
};

/// The last checkpoint of the wanted name that all homes have.
std::uint64_t chosen_epoch(const std::vector<Facts>& homes, const PagedOptions& options, const std::string& name) {
  std::uint64_t chosen = 0;
  std::string where;
  for (const Facts& each : homes) {
    for (std::uint32_t i = 0; i < each.epochs.count; ++i) {
      const std::uint64_t epoch = each.epochs.epochs[i];
      if (!each.named[i]) continue;
      where += fmt::format("{}home {} has one as number {}", where.empty() ? "" : ", ", each.shape.home, epoch);
      const bool everywhere =
          std::all_of(homes.begin(), homes.end(), [epoch](const Facts& home) { return home.has_named(epoch); });
      if (everywhere) chosen = std::max(chosen, epoch);
    }
  }
  if (chosen == 0)
    throw Error(Errc::bad_input, fmt::format("{}.*: no checkpoint '{}' is at all homes ({}): none of that name was "
                                             "completed; open another one, or none for what was flushed last",
                                             options.path, name, where));
  return chosen;
}

Decision decide(const std::vector<Facts>& all, const PagedOptions& options, const OpenOptions& open_options,
                HomeAssignment assignment) {
  std::vector<Facts> homes;
  std::vector<KnownEpochs> epochs;
  for (const Facts& each : all) {
    if (!each.epochs.home) continue;
    homes.push_back(each);
    epochs.push_back(each.epochs);
  }
  Decision decision;
  decision.shape = homes.front().shape;
  for (const Facts& each : homes) {
    check_shape(options, decision.shape, each.shape, assignment.homes);
    decision.last = std::max(decision.last, each.epochs.last);
    if (each.back.times > decision.back.times) decision.back = each.back;
  }
  if (!open_options.checkpoint.empty())
    decision.back = {decision.back.times + 1, chosen_epoch(homes, options, open_options.checkpoint)};
  const bool anyone_goes =
      std::any_of(homes.begin(), homes.end(), [&](const Facts& each) { return each.back.times < decision.back.times; });
  decision.confirmed = anyone_goes ? decision.back.epoch : common_epoch(epochs);
  return decision;
}

Task<> create_home(Rank& rank, const PagedOptions& options, HomeAssignment assignment, OpenedHomes& opened) {
  if (options.model) {
    opened.store = make_model_store(rank.loop(), *options.model, shape_of(options, assignment));
    co_return;
  }
  std::string path = file_of(options, assignment.home);
  opened.store = co_await PageStore::create(device_of(rank), path, shape_of(options, assignment), options.replace);
  opened.created = std::move(path);
}

Task<> look_at_home(Rank& rank, const PagedOptions& options, HomeAssignment assignment, const std::string& name,
                    Facts& facts) {
  if (options.model) throw Error(Errc::bad_input, "a paged segment on a modelled SSD has no file that could be opened");
  const std::string path = file_of(options, assignment.home);
  const StoreSummary summary = co_await PageStore::look(device_of(rank), path);
  if (!name.empty()) refuse_unknown_name(path, summary, name);
  facts = facts_of(summary, name);
}

Task<> open_home(Rank& rank, const PagedOptions& options, HomeAssignment assignment, std::uint64_t epoch,
                 OpenedHomes& opened) {
  opened.store = co_await PageStore::open(device_of(rank), file_of(options, assignment.home), epoch);
}

Task<> go_back(PageStore* store, std::uint64_t times) {
  co_await store->go_back(times);
}

/// Does `work` where this member has a home, and tells all what has gone wrong anywhere.
Task<> by_homes(Team& team, bool home, Task<> work) {
  std::optional<Error> failure;
  if (home) {
    const Result<> done = co_await as_result(std::move(work));
    failure = done.failure();
  }
  co_await agree(team, failure);
}

Task<> open_existing(Team& team, const PagedOptions& options, const OpenOptions& open_options,
                     HomeAssignment assignment, OpenedHomes& opened) {
  Rank& rank = team.rank();
  Facts facts;
  co_await by_homes(team, assignment.taken, look_at_home(rank, options, assignment, open_options.checkpoint, facts));
  const std::vector<Facts> all = co_await gather_from_all(team, facts);
  const Decision decision = decide(all, options, open_options, assignment);
  opened.shape = decision.shape;
  opened.epoch = decision.last;
  const bool goes_back = facts.back.times < decision.back.times;
  const std::uint64_t epoch = goes_back ? decision.back.epoch : PageStore::kLatest;
  co_await by_homes(team, assignment.taken, open_home(rank, options, assignment, epoch, opened));
  // Only once all can: from the first that has gone back, all must.
  co_await by_homes(team, assignment.taken && goes_back, go_back(opened.store.get(), decision.back.times));
  if (assignment.taken) opened.store->confirm(decision.confirmed);
}

}  // namespace

Task<> agree(Team& team, std::optional<Error> failure) {
  const std::vector<std::optional<Error>> all = co_await gather_from_all(team, std::move(failure));
  for (const std::optional<Error>& each : all)
    if (each) throw Error(*each);
}

PageMap map_of(const StoreShape& shape) noexcept {
  const bool rest = shape.segment_bytes % shape.page_bytes != 0;
  const std::uint64_t pages = shape.segment_bytes / shape.page_bytes + (rest ? 1 : 0);
  return {pages, shape.homes, static_cast<HomeSpread>(shape.distribution)};
}

Task<> open_homes(Team& team, PagedOptions options, OpenOptions open_options, HomeAssignment assignment,
                  OpenedHomes& opened) {
  if (!open_options.create) {
    co_await open_existing(team, options, open_options, assignment, opened);
    co_return;
  }
  co_await by_homes(team, assignment.taken, create_home(team.rank(), options, assignment, opened));
  opened.shape = shape_of(options, {true, 0, assignment.homes});
}

bool KnownEpochs::has(std::uint64_t epoch) const noexcept {
  return std::find(epochs.begin(), epochs.begin() + count, epoch) != epochs.begin() + count;
}

KnownEpochs known_epochs(const PageStore* store, std::uint64_t last) {
  KnownEpochs known;
  known.last = last;
  if (store == nullptr) return known;
  known.home = true;
  for (const CheckpointInfo& each : store->checkpoints()) known.epochs[known.count++] = each.epoch;
  return known;
}

std::uint64_t common_epoch(std::span<const KnownEpochs> all) noexcept {
  std::uint64_t common = 0;
  for (const KnownEpochs& each : all)
    for (std::uint32_t i = 0; i < each.count; ++i) {
      const std::uint64_t epoch = each.epochs[i];
      const bool everywhere = std::all_of(
          all.begin(), all.end(), [epoch](const KnownEpochs& other) { return !other.home || other.has(epoch); });
      if (everywhere) common = std::max(common, epoch);
    }
  return common;
}

Task<std::uint64_t> next_epoch(Team& team, PageStore* store, std::uint64_t last) {
  const std::vector<KnownEpochs> all = co_await gather_from_all(team, known_epochs(store, last));
  if (store != nullptr) store->confirm(common_epoch(all));
  for (const KnownEpochs& each : all) last = std::max(last, each.last);
  co_return last + 1;
}

}  // namespace coracle::internals::storage
