// Making a store's file, and opening one.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <new>
#include <optional>
#include <random>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "storage/store/file_store.hpp"

namespace coracle::internals::storage {
namespace {

constexpr std::uint64_t kLogBytesMin = 64 << 10;
constexpr std::uint64_t kLogBytesMax = 4 << 20;

Superblock describe_new(const StoreShape& shape) {
  Superblock superblock{shape, 0, kLogBytesMin};
  std::random_device device;
  superblock.file_id = std::uint64_t{device()} << 32 | device();
  // About as long as a table: then writing a new one when the log is full costs no more than the log has.
  superblock.log_bytes = std::clamp(StorePlan(superblock).table_bytes, kLogBytesMin, kLogBytesMax);
  return superblock;
}

void refuse_bad(const StoreShape& shape, const std::string& path) {
  const bool pages_fit = shape.pages <= kPagesMax && shape.page_bytes >= kPageBytesMin &&
                         shape.page_bytes <= kPageBytesMax && std::has_single_bit(shape.page_bytes);
  if (pages_fit && shape.homes > 0 && shape.home < shape.homes) return;
  throw Error(
      Errc::bad_input,
      fmt::format(
          "{} can't hold {} pages of {} bytes as home {} of {}: pages are powers of two from {} to {} bytes, and "
          "a home has at most {}",
          path, shape.pages, shape.page_bytes, shape.home, shape.homes, kPageBytesMin, kPageBytesMax, kPagesMax));
}

/// Removes a file that is not finished.
class Unfinished {
 public:
  explicit Unfinished(std::string path) : path_(std::move(path)) {}
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  void finished() noexcept { path_.clear(); }

 private:
  std::string path_;
};

/// Removes what an interrupted creation has left under that name. Throws Error where it is something else, or in use.
Task<> take_away(Io& io, std::string path) {
  StoreFile file(io, path, StoreFile::Use::take_away);
  // A crash between the store's getting its name and its losing this one: the file belongs to whoever has it now.
  const bool second_name = file.has_its_name(false) && !file.has_its_name(true);
  if (!second_name) co_await file.lock();
  // Else another program has made it a whole store meanwhile, or has removed it and made one of its own.
  if (second_name || file.has_its_name(true)) ::unlink(path.c_str());
}

/// Nothing when the name is taken.
std::optional<StoreFile> make_new(Io& io, const std::string& path) {
  try {
    return StoreFile(io, path, StoreFile::Use::create);
  } catch (const Error& error) {
    if (error.code() != std::errc::file_exists) throw;
    return std::nullopt;
  }
}

/// An empty, locked file of that name, whatever an interrupted creation may have left under it. It is always a new one:
/// the name can be guessed, and whoever may write to the folder can have put a link to another file there.
Task<StoreFile> make_unfinished(Io& io, std::string path) {
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    std::optional<StoreFile> file = make_new(io, path);
    if (!file) {
      const Result<> taken_away = co_await as_result(take_away(io, path));
      const bool gone = taken_away.code() == std::errc::no_such_file_or_directory;  // others are at it, too
      if (!taken_away.ok() && !gone) throw Error(taken_away.error());
      continue;
    }
    co_await file->lock();
    // Another program may have taken it for what was left.
    if (file->has_its_name(true)) co_return std::move(*file);
  }
  throw Error(std::make_error_code(std::errc::device_or_resource_busy),
              fmt::format("{} comes and goes: other programs are creating the same store", path));
}

/// Throws unless `path` is free, or a file that is not in use and may be replaced.
Task<> check_name(Io& io, std::string path, bool replace) {
  if (::access(path.c_str(), F_OK) != 0) co_return;
  if (!replace)
    throw Error(std::make_error_code(std::errc::file_exists),
                fmt::format("{} exists already; remove it, or ask for it to be replaced", path));
  StoreFile unused(io, path, StoreFile::Use::write);
  co_await unused.lock();
}

Task<StoreSummary> summarise(StoreFile& file, const Superblock& superblock) {
  const StorePlan plan(superblock);
  const LoadedManifest loaded = co_await load_manifest(file, plan);
  StoreSummary summary{superblock.shape, {}, loaded.manifest.back, loaded.manifest.last_epoch};
  for (const KeptCheckpoint& each : std::vector<KeptCheckpoint>(loaded.manifest.checkpoints)) {
    std::vector<StoreFault> damage;
    const Faults faults(file.path(), &damage);
    const CheckpointTable unused = co_await load_checkpoint(file, plan, each, faults);
    if (damage.empty()) summary.checkpoints.push_back(each.info);
  }
  co_return summary;
}

}  // namespace

Task<std::unique_ptr<PageStore>> PageStore::create(Io& io, std::string path, StoreShape shape, bool replace) {
  refuse_bad(shape, path);
  check_path(path);
  co_await check_name(io, path, replace);
  // Under another name until it is whole, so that nobody finds half a store.
  StoreFile file = co_await make_unfinished(io, path + kUnfinished);
  Unfinished unfinished(file.path());
  const Superblock superblock = describe_new(shape);
  const StorePlan plan(superblock);
  file.reserve(plan.data_at);
  AlignedBuffer head(StorePlan::log_at());
  for (unsigned copy = 0; copy < 2; ++copy)
    write_superblock(BlockSpan(head.data() + StorePlan::superblock_at(copy), kBlockBytes), superblock);
  LoadedManifest first;
  first.manifest.sequence = 1;
  write_manifest(BlockSpan(head.data() + StorePlan::manifest_at(0), kBlockBytes), plan.file_id, first.manifest);
  co_await file.write_all(head.data(), head.size(), 0, "the superblock");
  co_await file.sync();
  file.rename(path, replace);
  unfinished.finished();
  co_await file.sync_name();
  auto store = std::make_unique<FileStore>(std::move(file), superblock, std::move(first));
  co_await store->load(kLatest);
  co_return store;
}

Task<std::unique_ptr<PageStore>> PageStore::open(Io& io, std::string path, std::uint64_t epoch) {
  StoreFile file(io, path, StoreFile::Use::write);
  co_await file.lock();
  const Superblock superblock = co_await load_superblock(file);
  // What a killed process has written may be in the kernel's or the device's hands still. What is read from here on is
  // taken as durable.
  co_await file.sync();
  LoadedManifest loaded = co_await load_manifest(file, StorePlan(superblock));
  const std::uint64_t bytes = file.bytes();
  try {
    auto store = std::make_unique<FileStore>(std::move(file), superblock, std::move(loaded));
    co_await store->load(epoch);
    co_return store;
  } catch (const std::bad_alloc&) {
    throw too_large(path, bytes, superblock);
  }
}

Task<StoreSummary> PageStore::look(Io& io, std::string path) {
  StoreFile file(io, std::move(path), StoreFile::Use::write);
  co_await file.lock();
  const Superblock superblock = co_await load_superblock(file);
  co_await file.sync();  // as open()
  try {
    co_return co_await summarise(file, superblock);
  } catch (const std::bad_alloc&) {
    throw too_large(file.path(), file.bytes(), superblock);
  }
}

}  // namespace coracle::internals::storage
