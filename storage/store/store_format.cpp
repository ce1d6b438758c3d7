#include "storage/store/store_format.hpp"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "runtime/core/error.hpp"
#include "storage/store/checksum.hpp"

namespace coracle::internals::storage {
namespace {

constexpr std::uint64_t kSuperblockMagic = 0x45524f5453524f43;  // "CORSTORE" as it lies in the file
constexpr std::uint64_t kManifestMagic = 0x464e414d53524f43;    // "CORSMANF"
constexpr std::uint64_t kMarkMagic = 0x4b52414d53524f43;        // "CORSMARK"
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kLastOfGroup = 1;
constexpr std::uint32_t kPagesSynced = 2;
constexpr std::size_t kLogHeadBytes = 40;
static_assert(kLogHeadBytes + kLogEntriesPerBlock * 24 <= kBlockBytes);
static_assert((kEntriesPerBlock + 1) * 16 == kBlockBytes);

/// A number in the file's order of bytes, whatever the machine's is.
template <class T>
T little(T value) noexcept {
  if constexpr (std::endian::native == std::endian::little) {
    return value;
  } else if constexpr (sizeof(T) == 8) {
    return __builtin_bswap64(value);
  } else {
    return __builtin_bswap32(value);
  }
}

/// Writes fields one behind the other into a block, behind the place of its seal.
class FieldWriter {
 public:
  explicit FieldWriter(BlockSpan block) noexcept : block_(block) { std::memset(block.data(), 0, block.size()); }
  template <class... Values>
  void operator()(const Values&... values) noexcept {
    (put(values), ...);
  }
  std::uint64_t seal(std::uint64_t seed) noexcept {
    const std::uint64_t sum = checksum(block_.data() + 8, kBlockBytes - 8, seed);
    at_ = 0;
    put(sum);
    return sum;
  }

 private:
  template <class T>
  void put(T value) noexcept {
    value = little(value);
    std::memcpy(block_.data() + at_, &value, sizeof(T));
    at_ += sizeof(T);
  }
  void put(const std::string& text) noexcept {
    put(static_cast<std::uint32_t>(text.size()));
    std::memcpy(block_.data() + at_, text.data(), text.size());
    at_ += kNameBytesMax + 1;
  }

  BlockSpan block_;
  std::size_t at_ = 8;
};

/// Reads them in the same order. All offsets are the program's own, none comes from the file.
class FieldReader {
 public:
  explicit FieldReader(ConstBlockSpan block, std::size_t at = 8) noexcept : block_(block), at_(at) {}
  template <class... Values>
  void operator()(Values&... values) {
    (take(values), ...);
  }
  template <class T>
  T get() noexcept {
    T value;
    std::memcpy(&value, block_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return little(value);
  }

 private:
  template <class T>
  void take(T& value) noexcept {
    value = get<T>();
  }
  void take(std::string& text) {
    const std::size_t bytes = std::min<std::size_t>(get<std::uint32_t>(), kNameBytesMax);
    text.assign(reinterpret_cast<const char*>(block_.data() + at_), bytes);
    at_ += kNameBytesMax + 1;
  }

  ConstBlockSpan block_;
  std::size_t at_;
};

// What the blocks hold behind their seals, in this order, for both directions: `fields` writes or reads.

template <class Fields, class AnySuperblock>
void superblock_fields(Fields& fields, AnySuperblock& superblock) {
  auto& shape = superblock.shape;
  std::uint32_t unused = 0;
  fields(shape.page_bytes, shape.pages, shape.home, shape.homes, shape.segment_bytes, shape.distribution, unused);
  fields(superblock.file_id, superblock.log_bytes);
}

/// False when it can't be one.
template <class Fields, class AnyManifest>
bool manifest_fields(Fields& fields, AnyManifest& manifest) {
  auto count = static_cast<std::uint32_t>(manifest.checkpoints.size());
  fields(manifest.sequence, manifest.base.generation, manifest.base.place, count);
  if (count > 2) return false;
  if constexpr (!std::is_const_v<AnyManifest>) manifest.checkpoints.resize(count);
  for (auto& each : manifest.checkpoints)
    fields(each.info.epoch, each.table.generation, each.table.place, each.info.name);
  fields(manifest.back.times, manifest.back.epoch, manifest.last_epoch);
  return true;
}

bool sealed(ConstBlockSpan block, std::uint64_t seed) noexcept {
  return FieldReader(block, 0).get<std::uint64_t>() == checksum(block.data() + 8, kBlockBytes - 8, seed);
}

std::string complaint(const Superblock& superblock) {
  const StoreShape& shape = superblock.shape;
  if (!std::has_single_bit(shape.page_bytes) || shape.page_bytes < kPageBytesMin || shape.page_bytes > kPageBytesMax)
    return fmt::format("it says pages of {} bytes", shape.page_bytes);
  if (shape.pages > kPagesMax) return fmt::format("it says {} pages", shape.pages);
  if (shape.homes == 0 || shape.home >= shape.homes)
    return fmt::format("it says home {} of {}", shape.home, shape.homes);
  const std::uint64_t log_bytes = superblock.log_bytes;
  if (log_bytes % kBlockBytes != 0 || log_bytes < 2 * kBlockBytes || log_bytes > (std::uint64_t{1} << 30))
    return fmt::format("it says a log of {} bytes", log_bytes);
  return {};
}

}  // namespace

void check_checkpoint_name(const std::string& name) {
  if (name.empty()) throw Error(Errc::bad_input, "a checkpoint needs a name, by which it can be opened; \"\" is none");
  if (name.size() > kNameBytesMax)
    throw Error(Errc::bad_input,
                fmt::format("a checkpoint's name has {} bytes; {} are allowed", name.size(), kNameBytesMax));
  if (const std::size_t nul = name.find('\0'); nul != std::string::npos)
    throw Error(Errc::bad_input,
                fmt::format("the checkpoint's name that begins \"{}\" has a NUL (a zero byte) at place "
                            "{}; take one without",
                            name.substr(0, nul), nul));
}

void check_path(const std::string& path) {
  const std::size_t nul = path.find('\0');
  if (nul == std::string::npos) return;
  throw Error(Errc::bad_input, fmt::format("the path that begins {} has a NUL (a zero byte) at place {}, where the "
                                           "kernel would take it to end; take one without",
                                           path.substr(0, nul), nul));
}

StorePlan::StorePlan(const Superblock& superblock) noexcept
    : page_bytes(superblock.shape.page_bytes),
      pages(superblock.shape.pages),
      file_id(superblock.file_id),
      log_bytes(superblock.log_bytes),
      table_blocks((pages + kEntriesPerBlock - 1) / kEntriesPerBlock),
      table_bytes(table_blocks * kBlockBytes),
      data_at((table_at(kTablePlaces) + page_bytes - 1) / page_bytes * page_bytes) {}

std::uint64_t table_seed(std::uint64_t file_id, std::uint64_t generation, std::uint64_t index) noexcept {
  const std::array<std::uint64_t, 3> words{little(file_id), little(generation), little(index)};
  return checksum(reinterpret_cast<const std::byte*>(words.data()), sizeof(words));
}

void write_superblock(BlockSpan block, const Superblock& superblock) {
  FieldWriter to(block);
  to(kSuperblockMagic, kVersion);
  superblock_fields(to, superblock);
  to.seal(0);
}

std::optional<Superblock> read_superblock(ConstBlockSpan block, std::string& why) {
  FieldReader from(block);
  if (from.get<std::uint64_t>() != kSuperblockMagic) {
    why = "it does not begin as one";
    return {};
  }
  if (!sealed(block, 0)) {
    why = "its superblock is damaged";
    return {};
  }
  if (const auto version = from.get<std::uint32_t>(); version != kVersion) {
    why = fmt::format("its format is version {}; this program knows version {}", version, kVersion);
    return {};
  }
  Superblock superblock;
  superblock_fields(from, superblock);
  why = complaint(superblock);
  if (!why.empty()) return {};
  return superblock;
}

void write_manifest(BlockSpan block, std::uint64_t file_id, const Manifest& manifest) {
  FieldWriter to(block);
  to(kManifestMagic);
  manifest_fields(to, manifest);
  to.seal(file_id);
}

std::optional<Manifest> read_manifest(ConstBlockSpan block, std::uint64_t file_id) {
  FieldReader from(block);
  if (from.get<std::uint64_t>() != kManifestMagic || !sealed(block, file_id)) return {};
  Manifest manifest;
  if (!manifest_fields(from, manifest) || manifest.base.place >= kTablePlaces) return {};
  const std::vector<KeptCheckpoint>& kept = manifest.checkpoints;
  for (const KeptCheckpoint& each : kept) {
    if (each.table.place >= kTablePlaces) return {};
    manifest.last_epoch = std::max(manifest.last_epoch, each.info.epoch);
  }
  if (kept.size() == 2 && kept[0].info.epoch >= kept[1].info.epoch) return {};
  return manifest;
}

void write_mark(BlockSpan block, std::uint64_t file_id, DurableMark mark) {
  FieldWriter to(block);
  to(kMarkMagic, mark.generation, mark.sequence);
  to.seal(file_id);
}

std::optional<DurableMark> read_mark(ConstBlockSpan block, std::uint64_t file_id) {
  FieldReader from(block);
  if (from.get<std::uint64_t>() != kMarkMagic || !sealed(block, file_id)) return {};
  DurableMark mark;
  from(mark.generation, mark.sequence);
  return mark;
}

void write_table_block(BlockSpan block, std::uint64_t file_id, std::uint64_t generation, std::uint64_t index,
                       std::span<const PageEntry> entries) {
  FieldWriter to(block);
  to(generation);
  for (const PageEntry& each : entries) to(each.slot_after, each.checksum);
  to.seal(table_seed(file_id, generation, index));
}

bool read_table_block(ConstBlockSpan block, std::uint64_t file_id, std::uint64_t generation, std::uint64_t index,
                      std::span<PageEntry> entries) {
  FieldReader from(block);
  if (from.get<std::uint64_t>() != generation || !sealed(block, table_seed(file_id, generation, index))) return false;
  for (PageEntry& each : entries) from(each.slot_after, each.checksum);
  return true;
}

std::uint64_t first_log_seal(std::uint64_t file_id, std::uint64_t generation) noexcept {
  return table_seed(file_id, generation, ~std::uint64_t{0});
}

std::uint64_t write_log_block(BlockSpan block, std::uint64_t seal_before, const LogBlock& head,
                              std::span<const LogEntry> entries) {
  FieldWriter to(block);
  const std::uint32_t flags = (head.last ? kLastOfGroup : 0) | (head.synced ? kPagesSynced : 0);
  to(head.generation, head.sequence, head.group, static_cast<std::uint32_t>(entries.size()), flags);
  for (const LogEntry& each : entries) to(each.page, each.entry.slot_after, each.entry.checksum);
  return to.seal(seal_before);
}

std::optional<LogBlock> read_log_block(ConstBlockSpan block, std::uint64_t& seal_before,
                                       std::vector<LogEntry>& entries) {
  if (!sealed(block, seal_before)) return {};
  FieldReader from(block);
  LogBlock head;
  std::uint32_t flags = 0;
  from(head.generation, head.sequence, head.group, head.count, flags);
  head.last = (flags & kLastOfGroup) != 0;
  head.synced = (flags & kPagesSynced) != 0;
  if (head.count > kLogEntriesPerBlock) return {};
  for (std::uint32_t i = 0; i < head.count; ++i) {
    LogEntry& each = entries.emplace_back();
    from(each.page, each.entry.slot_after, each.entry.checksum);
  }
  seal_before = FieldReader(block, 0).get<std::uint64_t>();
  return head;
}

std::uint64_t detail::checksum_baseline(const std::byte* data, std::size_t bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

std::uint64_t checksum(const std::byte* data, std::size_t bytes, std::uint64_t seed) noexcept {
#if defined(__x86_64__)
  // One load and test: libgcc has asked the processor before main().
  if (__builtin_cpu_supports("avx2")) return detail::checksum_avx2(data, bytes, seed);
#endif
  return detail::checksum_baseline(data, bytes, seed);
}

}  // namespace coracle::internals::storage
