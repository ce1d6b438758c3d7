// check_store: everything that a store's file says, held against itself and against its pages.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <new>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/scope.hpp"
#include "storage/store/aligned_buffer.hpp"
#include "storage/store/store_load.hpp"

namespace coracle::internals::storage {
namespace {

constexpr std::size_t kReadersMax = 32;
constexpr std::size_t kBufferBytes = 16 << 20;

/// A page table, the checkpoint's or the last flush's.
struct State {
  std::string name;
  std::vector<PageEntry> table;
};

/// The pages of one state that an earlier one has not in the same place, read by several readers at once.
class PageCheck {
 public:
  PageCheck(StoreFile& file, const StorePlan& plan, const State& state, const State* before, StoreReport& report)
      : file_(file), plan_(plan), state_(state), before_(before), report_(report) {}

  Task<> run(Scope& scope) {
    const std::size_t readers = std::clamp<std::size_t>(kBufferBytes / plan_.page_bytes, 2, kReadersMax);
    for (std::size_t i = 0; i < readers; ++i) scope.spawn(read_pages());
    co_return;
  }

 private:
  Task<> read_pages() {
    AlignedBuffer buffer(plan_.page_bytes);
    while (next_ < state_.table.size()) {
      const std::uint64_t page = next_++;
      const PageEntry entry = state_.table[page];
      if (entry.empty() || (before_ != nullptr && before_->table[page] == entry)) continue;
      ++report_.pages_checked;
      const bool good = co_await page_matches(file_, plan_, entry, buffer.span());
      if (!good) report_.faults.push_back({page, fmt::format("does not match its checksum in {}", state_.name)});
    }
  }

  StoreFile& file_;
  const StorePlan& plan_;
  const State& state_;
  const State* before_;
  StoreReport& report_;
  std::uint64_t next_ = 0;
};

Task<> start(Scope& scope, PageCheck& check) {
  co_await check.run(scope);
}

/// A slot that two states share must hold the same page in both.
void compare(const State& state, const State& latest, BitSet& used, const BitSet& latest_slots, const Faults& faults) {
  for (std::uint64_t page = 0; page < state.table.size(); ++page) {
    const PageEntry entry = state.table[page];
    if (entry.empty()) continue;
    used.add(entry.slot());
    if (latest.table[page].slot_after == entry.slot_after) {
      if (latest.table[page].checksum != entry.checksum)
        faults.found(
            fmt::format("has two checksums in slot {}: in {} and in {}", entry.slot(), state.name, latest.name), page);
    } else if (latest_slots.has(entry.slot())) {
      faults.found(
          fmt::format("{} has it in slot {}, where {} has another page", state.name, entry.slot(), latest.name), page);
    }
  }
}

Task<State> load_latest(StoreFile& file, const StorePlan& plan, const LoadedManifest& loaded, const Faults& faults) {
  State latest{"the last flush", {}};
  latest.table = co_await load_table(file, plan, loaded.manifest.base, "the page table", faults);
  co_await replay_log(file, plan, loaded, latest.table, faults);
  co_return latest;
}

Task<> check_superblocks(StoreFile& file, const Faults& faults) {
  AlignedBuffer blocks(2 * kBlockBytes);
  co_await file.read_all(blocks.data(), blocks.size(), 0, "the superblock");
  std::string why;
  for (unsigned copy = 0; copy < 2; ++copy)
    if (!read_superblock(ConstBlockSpan(blocks.data() + copy * kBlockBytes, kBlockBytes), why))
      faults.found(fmt::format("copy {} of the superblock: {}", copy, why));
}

Task<> check_pages(StoreFile& file, const StorePlan& plan, const State& state, const State* before,
                   StoreReport& report) {
  PageCheck check(file, plan, state, before, report);
  co_await with_scope(start, std::ref(check));
}

Task<StoreReport> check_file(StoreFile& file, const Superblock& superblock) {
  const StorePlan plan(superblock);
  StoreReport report;
  report.shape = superblock.shape;
  const Faults faults(file.path(), &report.faults);
  co_await check_superblocks(file, faults);
  const LoadedManifest loaded = co_await load_manifest(file, plan);
  if (loaded.mark.generation > loaded.manifest.base.generation)
    faults.found("the newest manifest is lost, and with it what was flushed last");
  State latest = co_await load_latest(file, plan, loaded, faults);
  BitSet used(plan.slots_in(file.bytes()));
  add_slots(latest.table, used, latest.name, faults);
  report.pages_written = used.count();
  co_await check_pages(file, plan, latest, nullptr, report);
  const BitSet latest_slots = used;
  for (const KeptCheckpoint& each : std::vector<KeptCheckpoint>(loaded.manifest.checkpoints)) {
    report.checkpoints.push_back(each.info);
    CheckpointTable table = co_await load_checkpoint(file, plan, each, faults);
    const State state{name_of(each.info), std::move(table.entries)};
    compare(state, latest, used, latest_slots, faults);
    co_await check_pages(file, plan, state, &latest, report);
  }
  report.slots_free = plan.slots_in(file.bytes()) - used.count();
  co_return report;
}

}  // namespace

Task<StoreReport> check_store(Io& io, std::string path) {
  StoreFile file(io, std::move(path), StoreFile::Use::check);
  co_await file.lock();
  const Superblock superblock = co_await load_superblock(file);
  try {
    co_return co_await check_file(file, superblock);
  } catch (const std::bad_alloc&) {
    throw too_large(file.path(), file.bytes(), superblock);
  }
}

}  // namespace coracle::internals::storage
