#include "storage/store/store_load.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/error.hpp"
#include "runtime/core/scope.hpp"
#include "storage/store/aligned_buffer.hpp"
#include "storage/store/checksum.hpp"

namespace coracle::internals::storage {
namespace {

constexpr std::uint64_t kTableReadBlocks = 256;

/// Empties entries that lie outside the file.
void keep_possible(std::span<PageEntry> entries, std::uint64_t first_page, std::uint64_t slots, const std::string& name,
                   const Faults& faults) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].slot_after <= slots) continue;
    faults.found(fmt::format("{} says that it is in slot {}, and the file has {}", name, entries[i].slot(), slots),
                 first_page + i);
    entries[i] = {};
  }
}

/// True when the pages of `entries` match their checksums. A page that can't be read does not.
Task<bool> all_match(StoreFile& file, const StorePlan& plan, std::vector<LogEntry> entries) {
  AlignedBuffer buffer(plan.page_bytes);
  bool match = true;
  for (std::size_t i = 0; match && i < entries.size(); ++i) {
    const PageEntry entry = entries[i].entry;
    if (entry.empty()) continue;
    // It may lie beyond the end: then the file's growth was lost too.
    match = co_await page_matches(file, plan, entry, buffer.span());
  }
  co_return match;
}

/// Whether the last flush in the log counts: one that was under way at a crash may have its log on the device and not
/// its pages. Then what its pages replaced is all still there, since nothing frees that before the flush has returned.
Task<bool> counts(StoreFile& file, const StorePlan& plan, const LogGroup& group, const std::vector<PageEntry>& before) {
  for (const LogEntry& each : group.entries)
    if (each.page >= plan.pages || each.entry.empty()) co_return true;  // no store has written that: a fault
  const bool pages_there = co_await all_match(file, plan, group.entries);
  if (pages_there) co_return true;
  std::vector<LogEntry> replaced;
  replaced.reserve(group.entries.size());
  for (const LogEntry& each : group.entries) replaced.push_back({each.page, before[each.page]});
  const bool replaced_there = co_await all_match(file, plan, std::move(replaced));
  co_return !replaced_there;
}

void take_over(const LogGroup& group, std::vector<PageEntry>& table) {
  for (const LogEntry& each : group.entries) table[each.page] = each.entry;
}

/// Drops entries that no store writes.
void keep_possible(LogGroup& group, const StorePlan& plan, std::uint64_t slots, const Faults& faults) {
  std::erase_if(group.entries, [&](const LogEntry& each) {
    if (each.page < plan.pages && !each.entry.empty() && each.entry.slot_after <= slots) return false;
    faults.found(fmt::format("the log, block {}, puts page {} of {} into slot {} of {}", group.sequence, each.page,
                             plan.pages, each.entry.slot(), slots));
    return true;
  });
}

}  // namespace

void Faults::found(std::string what, std::uint64_t page) const {
  if (report_ != nullptr) {
    report_->push_back({page, std::move(what)});
    return;
  }
  const std::string where = page == ~std::uint64_t{0} ? std::string() : fmt::format("page {}: ", page);
  throw Error(Errc::page_damaged,
              fmt::format("{} is damaged: {}{} (`coracle pages check {}` tells all)", path_, where, what, path_));
}

Task<Superblock> load_superblock(StoreFile& file) {
  if (file.bytes() < StorePlan::log_at())
    throw Error(Errc::bad_input,
                fmt::format("{} is not a page store: it has only {} bytes", file.path(), file.bytes()));
  AlignedBuffer blocks(2 * kBlockBytes);
  co_await file.read_all(blocks.data(), blocks.size(), 0, "the superblock");
  std::string why;
  std::optional<Superblock> superblock;
  for (unsigned copy = 0; copy < 2 && !superblock; ++copy)
    superblock = read_superblock(ConstBlockSpan(blocks.data() + copy * kBlockBytes, kBlockBytes), why);
  if (!superblock) throw Error(Errc::bad_input, fmt::format("{} is not a page store: {}", file.path(), why));
  const std::uint64_t needed = StorePlan(*superblock).data_at;
  if (file.bytes() < needed)
    throw Error(Errc::page_damaged, fmt::format("{} was cut short: it has {} bytes, and its tables alone need {}",
                                                file.path(), file.bytes(), needed));
  co_return *superblock;
}

Error too_large(const std::string& path, std::uint64_t file_bytes, const Superblock& superblock) {
  const std::uint64_t pages = superblock.shape.pages;
  return {
      std::make_error_code(std::errc::not_enough_memory),
      fmt::format("{} says that it has {} pages and room for {}: their tables need some {} MiB of memory each, which "
                  "is not there; the file is damaged, or its node needs more memory",
                  path, pages, StorePlan(superblock).slots_in(file_bytes), (pages * sizeof(PageEntry) >> 20) + 1)};
}

Task<LoadedManifest> load_manifest(StoreFile& file, const StorePlan& plan) {
  AlignedBuffer blocks(3 * kBlockBytes);
  co_await file.read_all(blocks.data(), blocks.size(), StorePlan::manifest_at(0), "the manifests");
  LoadedManifest loaded;
  bool found = false;
  for (unsigned which = 0; which < 2; ++which) {
    auto manifest = read_manifest(ConstBlockSpan(blocks.data() + which * kBlockBytes, kBlockBytes), plan.file_id);
    if (!manifest || (found && manifest->sequence < loaded.manifest.sequence)) continue;
    loaded.manifest = std::move(*manifest);
    loaded.which = which;
    found = true;
  }
  if (!found)
    throw Error(Errc::page_damaged,
                fmt::format("{} is damaged: both of its manifests are; nothing says where its pages are", file.path()));
  loaded.mark =
      read_mark(ConstBlockSpan(blocks.data() + 2 * kBlockBytes, kBlockBytes), plan.file_id).value_or(DurableMark{});
  co_return loaded;
}

Task<std::vector<PageEntry>> load_table(StoreFile& file, const StorePlan& plan, TablePlace place, std::string name,
                                        Faults faults) {
  std::vector<PageEntry> table(plan.pages);
  if (place.generation == 0) co_return table;  // a new store's: every page is empty
  AlignedBuffer chunk(std::min(kTableReadBlocks, plan.table_blocks) * kBlockBytes);
  for (std::uint64_t first = 0; first < plan.table_blocks; first += kTableReadBlocks) {
    const std::uint64_t count = std::min(kTableReadBlocks, plan.table_blocks - first);
    co_await file.read_all(chunk.data(), count * kBlockBytes, plan.table_at(place.place) + first * kBlockBytes,
                           "a page table");
    for (std::uint64_t block = first; block < first + count; ++block) {
      const std::uint64_t page = block * kEntriesPerBlock;
      const auto entries = std::span(table).subspan(page, std::min<std::uint64_t>(kEntriesPerBlock, plan.pages - page));
      const ConstBlockSpan bytes(chunk.data() + (block - first) * kBlockBytes, kBlockBytes);
      if (!read_table_block(bytes, plan.file_id, place.generation, block, entries))
        faults.found(
            fmt::format("{}, block {}: pages {} to {} can't be found", name, block, page, page + entries.size() - 1));
      keep_possible(entries, page, plan.slots_in(file.bytes()), name, faults);
    }
  }
  co_return table;
}

std::string name_of(const CheckpointInfo& checkpoint) {
  return fmt::format("checkpoint \"{}\" (epoch {})", checkpoint.name, checkpoint.epoch);
}

Task<CheckpointTable> load_checkpoint(StoreFile& file, const StorePlan& plan, KeptCheckpoint checkpoint,
                                      Faults faults) {
  const std::string name = name_of(checkpoint.info);
  CheckpointTable table{{}, BitSet(plan.slots_in(file.bytes()))};
  table.entries = co_await load_table(file, plan, checkpoint.table, name, faults);
  add_slots(table.entries, table.slots, name, faults);
  co_return table;
}

LogText parse_log(std::span<const std::byte> log, const StorePlan& plan, std::uint64_t generation) {
  LogText text;
  text.end.seal = first_log_seal(plan.file_id, generation);
  LogGroup group{0, text.end.seal, false, {}};
  std::uint64_t seal = text.end.seal;
  std::uint64_t number = 0;
  for (std::uint64_t sequence = 0; (sequence + 1) * kBlockBytes <= log.size(); ++sequence) {
    const ConstBlockSpan bytes(log.data() + sequence * kBlockBytes, kBlockBytes);
    const bool first = sequence == text.end.sequence;
    const auto block = read_log_block(bytes, seal, group.entries);
    if (!block || block->generation != generation || block->sequence != sequence) break;
    if (!first && block->group != number) break;
    number = block->group;
    group.synced = block->synced;
    text.unfinished = !block->last;
    if (!block->last) continue;
    text.groups.push_back(std::move(group));
    text.end = {sequence + 1, seal, false};
    group = {sequence + 1, seal, false, {}};
  }
  return text;
}

Task<LogEnd> replay_log(StoreFile& file, const StorePlan& plan, const LoadedManifest& loaded,
                        std::vector<PageEntry>& table, Faults faults) {
  AlignedBuffer log(plan.log_bytes);
  co_await file.read_all(log.data(), log.size(), StorePlan::log_at(), "the log");
  const std::uint64_t generation = loaded.manifest.base.generation;
  LogText text = parse_log(log.span(), plan, generation);
  for (std::size_t i = 0; i < text.groups.size(); ++i) {
    LogGroup& group = text.groups[i];
    // A flush begins only after the one before has returned.
    const bool followed = i + 1 < text.groups.size() || text.unfinished;
    const bool marked = loaded.mark.generation == generation && loaded.mark.sequence > group.sequence;
    bool valid = followed || marked || group.synced;
    if (!valid) valid = co_await counts(file, plan, group, table);
    if (!valid) co_return LogEnd{group.sequence, group.seal_before, true};
    keep_possible(group, plan, plan.slots_in(file.bytes()), faults);
    take_over(group, table);
  }
  co_return text.end;
}

Task<bool> page_matches(StoreFile& file, const StorePlan& plan, PageEntry entry, std::span<std::byte> buffer) {
  PromiseBase& self = co_await this_coroutine();
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      co_await file.read_all(buffer.data(), buffer.size(), plan.slot_at(entry.slot()), "a page");
    } catch (const Error&) {
      if (self.scope().cancelled()) throw;
      continue;
    }
    if (checksum(buffer.data(), buffer.size()) == entry.checksum) co_return true;
  }
  co_return false;
}

void add_slots(std::vector<PageEntry>& table, BitSet& slots, const std::string& name, const Faults& faults) {
  for (std::uint64_t page = 0; page < table.size(); ++page) {
    if (table[page].empty()) continue;
    if (slots.has(table[page].slot())) {
      faults.found(fmt::format("{} has another page in its slot {} too", name, table[page].slot()), page);
      table[page] = {};
      continue;
    }
    slots.add(table[page].slot());
  }
}

}  // namespace coracle::internals::storage
