// The file of a store, block by block: what its superblock, manifests, page tables and log hold, and how they are
// checked. Only bytes here, no I/O. docs/storage.md draws the file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/store/page_store.hpp"

namespace coracle::internals::storage {

/// The unit of all that a store keeps about itself: written whole, sealed by a checksum in its first 8 bytes.
inline constexpr std::size_t kBlockBytes = 4096;
using BlockSpan = std::span<std::byte, kBlockBytes>;
using ConstBlockSpan = std::span<const std::byte, kBlockBytes>;

inline constexpr std::uint32_t kPageBytesMin = 4096;
inline constexpr std::uint32_t kPageBytesMax = 4 << 20;
inline constexpr std::uint64_t kPagesMax = std::uint64_t{1} << 40;
inline constexpr std::size_t kNameBytesMax = 255;
inline constexpr std::uint32_t kTablePlaces = 4;

/// Where a page lies and what its bytes must sum to.
struct PageEntry {
  std::uint64_t slot_after = 0;  ///< The slot plus one; 0: never written.
  std::uint64_t checksum = 0;

  bool empty() const noexcept { return slot_after == 0; }
  std::uint64_t slot() const noexcept { return slot_after - 1; }
  friend bool operator==(const PageEntry&, const PageEntry&) = default;
};

/// Written once, in two copies.
struct Superblock {
  StoreShape shape;
  std::uint64_t file_id = 0;  ///< Drawn at creation; enters every other checksum.
  std::uint64_t log_bytes = 0;
};

/// Where things lie; bytes from the beginning of the file, all multiples of kBlockBytes.
struct StorePlan {
  explicit StorePlan(const Superblock& superblock) noexcept;

  static constexpr std::uint64_t superblock_at(unsigned copy) noexcept { return copy * kBlockBytes; }
  static constexpr std::uint64_t manifest_at(unsigned which) noexcept { return (2 + which) * kBlockBytes; }
  static constexpr std::uint64_t mark_at() noexcept { return 4 * kBlockBytes; }
  static constexpr std::uint64_t log_at() noexcept { return 8 * kBlockBytes; }
  std::uint64_t table_at(std::uint32_t place) const noexcept { return log_at() + log_bytes + place * table_bytes; }
  std::uint64_t slot_at(std::uint64_t slot) const noexcept { return data_at + slot * page_bytes; }
  /// Slots that a file of `file_bytes` has.
  std::uint64_t slots_in(std::uint64_t file_bytes) const noexcept {
    return file_bytes < data_at ? 0 : (file_bytes - data_at) / page_bytes;
  }

  std::uint64_t page_bytes;
  std::uint64_t pages;
  std::uint64_t file_id;
  std::uint64_t log_bytes;
  std::uint64_t table_blocks;
  std::uint64_t table_bytes;
  std::uint64_t data_at;
};

/// A page table on disk. The generation is one greater with every table written to the file.
struct TablePlace {
  std::uint64_t generation = 0;
  std::uint32_t place = 0;
  friend bool operator==(const TablePlace&, const TablePlace&) = default;
};
struct KeptCheckpoint {
  CheckpointInfo info;
  TablePlace table;
};
/// The root of everything: there are two, and the one with the greater sequence counts.
struct Manifest {
  std::uint64_t sequence = 0;
  TablePlace base;                          ///< The table that the log goes on from.
  std::vector<KeptCheckpoint> checkpoints;  ///< At most two, oldest first.
  WentBack back;
  std::uint64_t last_epoch = 0;  ///< The greatest that any checkpoint here has had: never given again.
};
/// Log blocks of that generation before `sequence` are on the device. A hint: it is not synced itself.
struct DurableMark {
  std::uint64_t generation = 0;
  std::uint64_t sequence = 0;
};

void write_superblock(BlockSpan block, const Superblock& superblock);
/// Nothing unless the seal is whole and every number makes sense; `why` says what does not.
std::optional<Superblock> read_superblock(ConstBlockSpan block, std::string& why);
void write_manifest(BlockSpan block, std::uint64_t file_id, const Manifest& manifest);
std::optional<Manifest> read_manifest(ConstBlockSpan block, std::uint64_t file_id);
void write_mark(BlockSpan block, std::uint64_t file_id, DurableMark mark);
std::optional<DurableMark> read_mark(ConstBlockSpan block, std::uint64_t file_id);

/// A block of a page table: kEntriesPerBlock entries, and nothing else but the seal and the generation.
inline constexpr std::size_t kEntriesPerBlock = 255;
/// What its seal is seeded with.
std::uint64_t table_seed(std::uint64_t file_id, std::uint64_t generation, std::uint64_t index) noexcept;
void write_table_block(BlockSpan block, std::uint64_t file_id, std::uint64_t generation, std::uint64_t index,
                       std::span<const PageEntry> entries);
/// False when the block is not that one.
bool read_table_block(ConstBlockSpan block, std::uint64_t file_id, std::uint64_t generation, std::uint64_t index,
                      std::span<PageEntry> entries);

/// A page that has moved, as the log has it.
struct LogEntry {
  std::uint64_t page = 0;
  PageEntry entry;
};
inline constexpr std::size_t kLogEntriesPerBlock = 169;
/// A flush is a group of blocks, which counts only when all of them are there. Each seal is seeded with the one before,
/// so that blocks of an earlier attempt can't follow a later one.
struct LogBlock {
  std::uint64_t generation = 0;  ///< Of the table that the log goes on from.
  std::uint64_t sequence = 0;    ///< Place in the log, in blocks.
  std::uint64_t group = 0;       ///< The same in all blocks of one flush, drawn at random.
  bool last = false;             ///< Of its group.
  bool synced = false;           ///< The pages were on the device before the group was written.
  std::uint32_t count = 0;       ///< Entries.
};
/// The seal before the first block of a log.
std::uint64_t first_log_seal(std::uint64_t file_id, std::uint64_t generation) noexcept;
/// Returns its seal.
std::uint64_t write_log_block(BlockSpan block, std::uint64_t seal_before, const LogBlock& head,
                              std::span<const LogEntry> entries);
/// Nothing when it does not follow `seal_before`; else its head, its entries behind `entries`, and `seal_before`
/// becomes its own seal.
std::optional<LogBlock> read_log_block(ConstBlockSpan block, std::uint64_t& seal_before,
                                       std::vector<LogEntry>& entries);

}  // namespace coracle::internals::storage
