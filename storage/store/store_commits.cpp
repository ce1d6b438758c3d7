// How what was written becomes what a crash would find: flushes by the log, checkpoints and full logs by a new table.
//
// What goes wrong half-way, a cancellation included, leaves the store as it was before: nothing is adopted before the
// sync that makes it durable. One step needs care: once a manifest has been submitted, either it or the one before may
// be found after a crash. While that is in doubt, what both need is kept, and the next commit begins by writing the
// known one once more.
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "storage/store/file_store.hpp"

namespace coracle::internals::storage {
namespace {

constexpr std::uint64_t kTableChunkBlocks = 256;
/// Above this, a flush syncs its pages before it writes the log: opening then need not read them.
constexpr std::uint64_t kUncheckedBytesMax = 64 << 20;

std::uint64_t random_word() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace

StoreCommits::StoreCommits(StoreFile& file, const StorePlan& plan, std::vector<PageEntry>& table, SlotMap& slots,
                           LoadedManifest loaded)
    : file_(file),
      plan_(plan),
      table_(table),
      slots_(slots),
      manifest_(std::move(loaded.manifest)),
      manifest_which_(loaded.which),
      mark_found_(loaded.mark),
      sequence_(manifest_.sequence),
      generation_(std::max(manifest_.base.generation, loaded.mark.generation)),
      incarnation_(random_word()),
      back_(manifest_.back),
      changed_(plan.pages),
      changing_(plan.pages) {}

void StoreCommits::throw_if_broken() const {
  if (!broken_) return;
  throw Error(broken_,
              fmt::format("{} takes no more changes, because an earlier sync failed ({}): what was written since "
                          "the flush before may be lost; open it again on a device that works",
                          path(), broken_.message()));
}

void StoreCommits::changed(std::uint64_t page) noexcept {
  if (changed_.has(page)) return;
  changed_.add(page);
  ++changes_;
}

// --- what there is when it is opened ---

Task<> StoreCommits::load(std::uint64_t epoch) {
  // Who goes back to a checkpoint must get it also where what came after it is damaged.
  std::vector<StoreFault> given_up;
  const Faults faults(path(), epoch == kLatest ? nullptr : &given_up);
  if (epoch == kLatest && mark_found_.generation > manifest_.base.generation)
    faults.found("its newest manifest is lost, and with it what was flushed last; its checkpoints can be opened");
  std::vector<PageEntry> latest = co_await load_table(file_, plan_, manifest_.base, "the page table", faults);
  const LoadedManifest loaded{manifest_, manifest_which_, mark_found_};
  log_end_ = co_await replay_log(file_, plan_, loaded, latest, faults);
  add_slots(latest, slots_.of(SlotUse::flushed), "the page table", faults);
  co_await load_checkpoints(epoch);
  if (newest_epoch_ != kLatest) co_return;
  table_ = std::move(latest);
  slots_.of(SlotUse::present) = slots_.of(SlotUse::flushed);
  if (log_end_.discarded) co_await erase_log_end();
}

/// Their tables, for the slots that they need; and that of `epoch` as the present state.
Task<> StoreCommits::load_checkpoints(std::uint64_t epoch) {
  std::vector<KeptCheckpoint> whole;
  for (const KeptCheckpoint& each : std::vector<KeptCheckpoint>(manifest_.checkpoints)) {
    std::vector<StoreFault> damage;
    const Faults faults(path(), each.info.epoch == epoch ? nullptr : &damage);
    CheckpointTable table = co_await load_checkpoint(file_, plan_, each, faults);
    if (!damage.empty()) continue;  // it is lost, and says so when it is asked for or checked
    whole.push_back(each);
    if (each.info.epoch > epoch) {
      slots_.of(SlotUse::flushed).add_all(table.slots);
      continue;
    }
    std::swap(slots_.of(SlotUse::previous), slots_.of(SlotUse::last));
    slots_.of(SlotUse::last) = std::move(table.slots);
    if (each.info.epoch != epoch) continue;
    newest_epoch_ = epoch;
    table_ = std::move(table.entries);
    slots_.of(SlotUse::present) = slots_.of(SlotUse::last);
    rebase_ = manifest_.base != each.table || log_end_.sequence != 0;
  }
  manifest_.checkpoints = std::move(whole);
  if (epoch == kLatest || newest_epoch_ == epoch) co_return;
  std::string there;
  for (const KeptCheckpoint& each : manifest_.checkpoints) there += fmt::format(" {}", each.info.epoch);
  throw Error(Errc::bad_input, fmt::format("{} has no checkpoint of epoch {} (it has:{})", path(), epoch,
                                           there.empty() ? " none" : there));
}

/// Else a later flush that is torn might leave room for this one to be taken for whole.
Task<> StoreCommits::erase_log_end() {
  const AlignedBuffer nothing(kBlockBytes);
  co_await file_.write_all(nothing.data(), nothing.size(), StorePlan::log_at() + log_end_.sequence * kBlockBytes,
                           "the log");
  co_await sync();
}

// --- commits ---

/// One commit at a time; when it ends, those that wait look again.
class StoreCommits::Turn {
 public:
  explicit Turn(StoreCommits& store) noexcept : store_(store) {
    store_.committing_ = true;
    store_.committed_.reset();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    store_.committing_ = store_.checkpointing_ = false;
    store_.committed_.set();
  }

 private:
  StoreCommits& store_;
};

/// What a commit is about: all pages changed until now. Undone unless it succeeds.
class StoreCommits::Attempt {
 public:
  explicit Attempt(StoreCommits& store) : store_(store), number_(++store.commits_begun_) {
    std::swap(store_.changed_, store_.changing_);
    changes_ = std::exchange(store_.changes_, 0);
    store_.slots_.of(SlotUse::flushing) = store_.slots_.of(SlotUse::present);
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  ~Attempt() {
    if (!succeeded_) {
      store_.changed_.add_all(store_.changing_);
      store_.changes_ = store_.changed_.count();
      // What may be in the file as a whole flush must be found whole by open().
      if (store_.doubt_ || store_.log_doubt_)
        store_.slots_.of(SlotUse::flushed).add_all(store_.slots_.of(SlotUse::flushing));
    }
    store_.changing_.clear();
    store_.slots_.of(SlotUse::flushing).clear();
    store_.slots_.freed();
  }
  std::uint64_t changes() const noexcept { return changes_; }
  void succeeded() noexcept {
    std::swap(store_.slots_.of(SlotUse::flushed), store_.slots_.of(SlotUse::flushing));
    store_.commits_done_ = number_;
    store_.log_doubt_ = false;
    succeeded_ = true;
  }

 private:
  StoreCommits& store_;
  std::uint64_t number_;
  std::uint64_t changes_ = 0;
  bool succeeded_ = false;
};

Task<> StoreCommits::flush() {
  CORACLE_ASSERT(!checkpointing_, "{} was flushed beside a checkpoint", path());
  // A commit that has begun may have missed what was written last: the next one has it for sure.
  const std::uint64_t wanted = commits_begun_ + 1;
  while (commits_done_ < wanted) {
    throw_if_broken();
    if (committing_) {
      co_await committed_;
      continue;
    }
    if (nothing_to_commit()) co_return;
    const Turn turn(*this);
    co_await commit(nullptr);
  }
}

Task<> StoreCommits::checkpoint(std::string name, std::uint64_t epoch) {
  check_checkpoint_name(name);
  const auto known = checkpoints();
  if (!known.empty() && epoch <= known.back().epoch)
    throw Error(Errc::bad_input,
                fmt::format("checkpoint {} of {} can't come after {}", epoch, path(), known.back().epoch));
  while (committing_) co_await committed_;
  throw_if_broken();
  const Turn turn(*this);
  checkpointing_ = true;
  const CheckpointInfo request{std::move(name), epoch};
  co_await commit(&request);
}

Task<> StoreCommits::go_back(std::uint64_t times) {
  CORACLE_ASSERT(newest_epoch_ != kLatest, "{} was not opened at a checkpoint", path());
  while (committing_) co_await committed_;
  throw_if_broken();
  const Turn turn(*this);
  back_ = {times, newest_epoch_};
  rebase_ = true;
  co_await commit(nullptr);
}

std::vector<CheckpointInfo> StoreCommits::checkpoints() const {
  std::vector<CheckpointInfo> found;
  for (const KeptCheckpoint& each : manifest_.checkpoints)
    if (each.info.epoch >= confirmed_ && each.info.epoch <= newest_epoch_) found.push_back(each.info);
  return found;
}

/// The slots of older ones are free only when the file no longer names them: at the next flush or checkpoint.
void StoreCommits::confirm(std::uint64_t epoch) noexcept {
  for (const KeptCheckpoint& each : manifest_.checkpoints)
    // One that is here stays: it is what the segment goes back to.
    if (each.info.epoch <= std::min(epoch, newest_epoch_)) confirmed_ = std::max(confirmed_, each.info.epoch);
}

/// The manifest, without the checkpoints that are needed no more.
Manifest StoreCommits::kept() const {
  Manifest kept = manifest_;
  std::erase_if(kept.checkpoints, [this](const KeptCheckpoint& each) {
    return each.info.epoch > newest_epoch_ || each.info.epoch < confirmed_;
  });
  return kept;
}

Task<> StoreCommits::commit(const CheckpointInfo* request) {
  if (doubt_) co_await settle();
  Attempt attempt(*this);
  const std::uint64_t blocks = (attempt.changes() + kLogEntriesPerBlock - 1) / kLogEntriesPerBlock;
  const bool fits = (log_end_.sequence + blocks) * kBlockBytes <= plan_.log_bytes;
  if (request != nullptr || rebase_ || !fits) {
    co_await commit_to_table(request);
  } else {
    co_await commit_to_log(attempt.changes());
  }
  attempt.succeeded();  // at once after the sync: what it made durable must not be overwritten
  // Only a hint, and what was committed is durable: without it, open() compares pages.
  static_cast<void>(co_await as_result(put_mark()));
}

AlignedBuffer StoreCommits::log_blocks(std::uint64_t changes, bool synced, LogEnd& end) const {
  const std::uint64_t count = (changes + kLogEntriesPerBlock - 1) / kLogEntriesPerBlock;
  AlignedBuffer blocks(count * kBlockBytes);
  std::vector<LogEntry> entries;
  LogBlock head{manifest_.base.generation, end.sequence, incarnation_ + commits_begun_, false, synced, 0};
  std::uint64_t block = 0;
  const auto write = [&] {
    head.last = block + 1 == count;
    head.sequence = end.sequence++;
    end.seal = write_log_block(BlockSpan(blocks.data() + block++ * kBlockBytes, kBlockBytes), end.seal, head, entries);
    entries.clear();
  };
  changing_.for_each([&](std::uint64_t page) {
    entries.push_back({page, table_[page]});
    if (entries.size() == kLogEntriesPerBlock) write();
  });
  if (!entries.empty()) write();
  return blocks;
}

Task<> StoreCommits::commit_to_log(std::uint64_t changes) {
  const bool synced = changes * plan_.page_bytes > kUncheckedBytesMax;
  LogEnd end = log_end_;
  const AlignedBuffer blocks = log_blocks(changes, synced, end);
  if (synced) co_await sync();
  Manifest next = kept();
  const bool release = next.checkpoints.size() < manifest_.checkpoints.size();
  if (release) co_await put_manifest(next);
  log_doubt_ = true;
  co_await file_.write_all(blocks.data(), blocks.size(), StorePlan::log_at() + log_end_.sequence * kBlockBytes,
                           "the log");
  co_await sync();
  if (release) {
    adopt(std::move(next));
    slots_.of(SlotUse::previous).clear();
  }
  log_end_ = end;
}

Task<> StoreCommits::commit_to_table(const CheckpointInfo* request) {
  const TablePlace target{++generation_, free_place()};
  co_await save_table(target);
  co_await sync();
  Manifest next = kept();
  next.base = target;
  next.back = back_;
  // Of two, only the older one is sure to be at all homes, or to be what some of them have: the newer one goes.
  const bool replaces = request != nullptr && next.checkpoints.size() == 2;
  if (replaces) next.checkpoints.pop_back();
  if (request != nullptr) {
    next.checkpoints.push_back({*request, target});
    next.last_epoch = std::max(next.last_epoch, request->epoch);
  }
  const std::size_t count = next.checkpoints.size();
  co_await put_manifest(next);
  co_await sync();
  adopt(std::move(next));
  log_end_ = {0, first_log_seal(plan_.file_id, generation_), false};
  rebase_ = false;
  newest_epoch_ = kLatest;
  if (request != nullptr) {
    if (!replaces) std::swap(slots_.of(SlotUse::previous), slots_.of(SlotUse::last));
    slots_.of(SlotUse::last) = slots_.of(SlotUse::flushing);
  }
  if (count < 2) slots_.of(SlotUse::previous).clear();
}

/// The table as it is when each part is written: other writes go on meanwhile. Newer entries than those of the commit
/// do no harm, since their pages are written, and the sync that follows has them too; their slots are kept from now on.
Task<> StoreCommits::save_table(TablePlace target) {
  AlignedBuffer chunk(std::min(kTableChunkBlocks, std::max<std::uint64_t>(plan_.table_blocks, 1)) * kBlockBytes);
  for (std::uint64_t first = 0; first < plan_.table_blocks; first += kTableChunkBlocks) {
    const std::uint64_t count = std::min(kTableChunkBlocks, plan_.table_blocks - first);
    for (std::uint64_t block = first; block < first + count; ++block) {
      const std::uint64_t page = block * kEntriesPerBlock;
      const auto entries =
          std::span(table_).subspan(page, std::min<std::uint64_t>(kEntriesPerBlock, plan_.pages - page));
      write_table_block(BlockSpan(chunk.data() + (block - first) * kBlockBytes, kBlockBytes), plan_.file_id,
                        target.generation, block, entries);
      for (const PageEntry& each : entries)
        if (!each.empty()) slots_.of(SlotUse::flushing).add(each.slot());
    }
    co_await file_.write_all(chunk.data(), count * kBlockBytes, plan_.table_at(target.place) + first * kBlockBytes,
                             "the page table");
  }
}

std::uint32_t StoreCommits::free_place() const noexcept {
  std::uint32_t used = manifest_.base.generation == 0 ? 0 : 1U << manifest_.base.place;
  for (const KeptCheckpoint& each : manifest_.checkpoints) used |= 1U << each.table.place;
  return static_cast<std::uint32_t>(__builtin_ctz(~used));
}

Task<> StoreCommits::put_manifest(Manifest next) {
  AlignedBuffer block(kBlockBytes);
  next.sequence = ++sequence_;
  write_manifest(BlockSpan(block.data(), kBlockBytes), plan_.file_id, next);
  doubt_ = true;
  co_await file_.write_all(block.data(), block.size(), StorePlan::manifest_at(1 - manifest_which_), "the manifest");
}

void StoreCommits::adopt(Manifest next) noexcept {
  manifest_ = std::move(next);
  manifest_.sequence = sequence_;
  manifest_which_ = 1 - manifest_which_;
  doubt_ = false;
}

/// Replaces the manifest that is in doubt by the known one.
Task<> StoreCommits::settle() {
  Manifest known = manifest_;
  co_await put_manifest(known);
  co_await sync();
  adopt(std::move(known));
}

Task<> StoreCommits::sync() {
  PromiseBase& self = co_await this_coroutine();
  try {
    co_await file_.sync();
  } catch (const Error& error) {
    // The kernel reports a lost write once, and the next sync would pass: never try again.
    if (!self.scope().cancelled() || error.code() != self.scope().cancelled()) broken_ = error.code();
    throw;
  }
}

/// Written after the sync and not synced itself: it tells a later opening that the last flush had returned, so that a
/// page of it that is wrong is damaged and not merely unfinished.
Task<> StoreCommits::put_mark() {
  AlignedBuffer block(kBlockBytes);
  write_mark(BlockSpan(block.data(), kBlockBytes), plan_.file_id, {manifest_.base.generation, log_end_.sequence});
  co_await file_.write_all(block.data(), block.size(), StorePlan::mark_at(), "the mark");
}

}  // namespace coracle::internals::storage
