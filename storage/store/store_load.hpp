// What a store's file says, read and checked: for opening it and for checking it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/task.hpp"
#include "storage/store/slot_map.hpp"
#include "storage/store/store_file.hpp"
#include "storage/store/store_format.hpp"

namespace coracle::internals::storage {

/// Where faults of a file go: into a report, or else they are thrown as Errc::page_damaged.
class Faults {
 public:
  explicit Faults(const std::string& path, std::vector<StoreFault>* report = nullptr) : path_(path), report_(report) {}
  /// `page`: all ones where it is not of one page.
  void found(std::string what, std::uint64_t page = ~std::uint64_t{0}) const;

 private:
  const std::string& path_;
  std::vector<StoreFault>* report_;
};

/// Throws Error when the file is no store.
Task<Superblock> load_superblock(StoreFile& file);

/// For when memory is not enough for its tables.
Error too_large(const std::string& path, std::uint64_t file_bytes, const Superblock& superblock);

struct LoadedManifest {
  Manifest manifest;
  unsigned which = 0;  ///< Of the two places.
  DurableMark mark;
};
/// Throws Error when neither manifest is whole.
Task<LoadedManifest> load_manifest(StoreFile& file, const StorePlan& plan);

/// A page table as it was written. Entries that can't be true are faults, and empty.
Task<std::vector<PageEntry>> load_table(StoreFile& file, const StorePlan& plan, TablePlace place, std::string name,
                                        Faults faults);

/// The state that a checkpoint has kept, and the slots that it needs.
struct CheckpointTable {
  std::vector<PageEntry> entries;
  BitSet slots;
};
/// "checkpoint "one" (epoch 1)", for errors.
std::string name_of(const CheckpointInfo& checkpoint);
Task<CheckpointTable> load_checkpoint(StoreFile& file, const StorePlan& plan, KeptCheckpoint checkpoint, Faults faults);

/// One flush as the log has it.
struct LogGroup {
  std::uint64_t sequence = 0;     ///< Of its first block.
  std::uint64_t seal_before = 0;  ///< Of the block before that.
  bool synced = false;
  std::vector<LogEntry> entries;
};
/// Where the log ends: the next block's place, and the seal before it.
struct LogEnd {
  std::uint64_t sequence = 0;
  std::uint64_t seal = 0;
  bool discarded = false;  ///< A flush that was under way at a crash is still written there.
};
struct LogText {
  std::vector<LogGroup> groups;
  LogEnd end;
  bool unfinished = false;  ///< Blocks of one more flush follow, but not all of it.
};
/// Everything in the log that is whole. No I/O.
LogText parse_log(std::span<const std::byte> log, const StorePlan& plan, std::uint64_t generation);

/// Brings `table` from the base to what was flushed last. A last flush that may have been under way at a crash counts
/// only if its pages match their checksums.
Task<LogEnd> replay_log(StoreFile& file, const StorePlan& plan, const LoadedManifest& loaded,
                        std::vector<PageEntry>& table, Faults faults);

/// Reads the page (twice, if need be) and says whether it is what it was. A page that can't be read is not. Throws only
/// when cancelled.
Task<bool> page_matches(StoreFile& file, const StorePlan& plan, PageEntry entry, std::span<std::byte> buffer);

/// Adds the slots of all pages of `table`; two pages in one slot are a fault.
void add_slots(std::vector<PageEntry>& table, BitSet& slots, const std::string& name, const Faults& faults);

}  // namespace coracle::internals::storage
