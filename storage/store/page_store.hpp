// PageStore: the pages of one home, in one file, with checksums, durable flushes and atomic checkpoints. What a flush
// or checkpoint has returned for survives the death of the process, and of the machine as far as its device keeps its
// word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/task.hpp"

namespace coracle::internals {
class EventLoop;
class Io;
struct SsdModel;
}  // namespace coracle::internals

namespace coracle::internals::storage {

/// What a file says about itself; checked when it is opened.
struct StoreShape {
  std::uint32_t page_bytes = 0;  ///< A power of two, 4 KiB to 4 MiB.
  std::uint64_t pages = 0;       ///< In this file.
  std::uint32_t home = 0;        ///< Which of `homes` files of one segment this is.
  std::uint32_t homes = 1;
  std::uint64_t segment_bytes = 0;  ///< Of the whole segment, for messages and checks.
  std::uint32_t distribution = 0;   ///< How pages are spread over the homes: told by the layer above, compared at open.
};

/// A checkpoint that a file has whole.
struct CheckpointInfo {
  std::string name;
  std::uint64_t epoch = 0;  ///< Grows with each checkpoint; the same at all homes of a segment.
};

/// Throws Error (bad_input) for a name that no checkpoint can have: "", one that is too long, one with a NUL in it.
void check_checkpoint_name(const std::string& name);
/// The same for a path that the kernel would take for a shorter one: with a NUL in it.
void check_path(const std::string& path);

/// Is told of reads as they come from the device, so that the next can be asked for before what has come is verified.
class ReadObserver {
 public:
  /// The bytes are at `target`, and not yet verified.
  virtual void arrived(const std::byte* target) noexcept = 0;

 protected:
  ~ReadObserver() = default;
};

/// How often a segment has gone back to a checkpoint, and to which epoch the last time.
struct WentBack {
  std::uint64_t times = 0;
  std::uint64_t epoch = 0;
};

/// What a file says of itself.
struct StoreSummary {
  StoreShape shape;
  std::vector<CheckpointInfo> checkpoints;  ///< Those that it has whole, oldest first.
  WentBack back;
  std::uint64_t last_epoch = 0;  ///< The greatest that any checkpoint in it ever had.
};

/// Of one loop; any number of calls may be in flight at once, but not two writes of one page, nor a read beside a write
/// of the same page, and nothing beside checkpoint(). Buffers: `page_bytes`, at a multiple of 4096, belonging to the
/// call until it has returned. Errors: Error with the errno and the file's name, the page and what was tried (full,
/// EIO, short transfer); Errc::page_damaged where a page does not match its checksum. A failed call affects no other
/// page. A write that failed leaves the page as it was; after a failed device sync every later write, flush and
/// checkpoint of this store fails (a failed fsync is never retried).
class PageStore {
 public:
  virtual ~PageStore() = default;

  /// A new file, all pages zero; an existing one is refused unless `replace`. Space is taken when pages are written.
  static Task<std::unique_ptr<PageStore>> create(Io& io, std::string path, StoreShape shape, bool replace = false);
  /// What was flushed last (`checkpoint` empty: the last completed checkpoint and every flush after it), or the
  /// checkpoint of that epoch, if the file still has it.
  static Task<std::unique_ptr<PageStore>> open(Io& io, std::string path, std::uint64_t epoch = kLatest);
  static constexpr std::uint64_t kLatest = ~std::uint64_t{0};
  /// What can be opened there, also where what was flushed last is damaged. Changes nothing.
  static Task<StoreSummary> look(Io& io, std::string path);

  virtual const StoreShape& shape() const noexcept = 0;
  virtual const std::string& path() const noexcept = 0;
  /// False where the file system refused O_DIRECT: then reads and writes go through the kernel's cache.
  virtual bool direct() const noexcept = 0;
  /// True when `page` was never written: read() gives zeroes without touching the device.
  virtual bool empty(std::uint64_t page) const noexcept = 0;

  virtual Task<> read(std::uint64_t page, std::span<std::byte> target) = 0;
  /// From now on told of reads, where the store has a device; null: nobody. It must outlive the reads.
  void observe(ReadObserver* observer) noexcept { observer_ = observer; }
  /// Complete in the device's hands when it returns, but durable only after flush().
  virtual Task<> write(std::uint64_t page, std::span<const std::byte> source) = 0;
  /// Every write that had returned before it was called is durable when it returns. Concurrent calls share one sync.
  virtual Task<> flush() = 0;

  /// The checkpoints that this file has whole, oldest first: at most two (the last that was confirmed, and one that is
  /// not).
  virtual std::vector<CheckpointInfo> checkpoints() const = 0;
  /// Everything written so far becomes the checkpoint `name` of `epoch` (greater than any before), durably and
  /// atomically: after a crash at any moment the file has either it or the state before. It takes the place of a newer
  /// one of two that was not confirmed; the older one stays in any case.
  virtual Task<> checkpoint(std::string name, std::uint64_t epoch) = 0;
  /// Of a store that was opened at a checkpoint: makes that last, durably; what came later is gone. `times`: the
  /// segment's number of this. Without it, the first flush or checkpoint does so, under the number of before.
  virtual Task<> go_back(std::uint64_t times) = 0;
  /// All homes have checkpoint `epoch`: older ones are no longer needed, their space may be used again. Not written to
  /// the file: who opens it compares the homes' checkpoints anew.
  virtual void confirm(std::uint64_t epoch) noexcept = 0;
  /// Waits for what is in flight and closes the file. Does not flush.
  virtual Task<> close() = 0;

 protected:
  void tell_arrived(const std::byte* target) const noexcept {
    if (observer_ != nullptr) observer_->arrived(target);
  }

 private:
  ReadObserver* observer_ = nullptr;
};

/// One thing wrong with a file.
struct StoreFault {
  std::uint64_t page = ~std::uint64_t{0};  ///< All ones: not of one page.
  std::string what;
};
struct StoreReport {
  StoreShape shape;
  std::vector<CheckpointInfo> checkpoints;
  std::uint64_t pages_written = 0;
  std::uint64_t pages_checked = 0;
  std::uint64_t slots_free = 0;
  std::vector<StoreFault> faults;
};
/// Reads the whole file and verifies every checksum and every invariant; changes nothing. Throws Error only when the
/// file can't be read as a store at all.
Task<StoreReport> check_store(Io& io, std::string path);

/// A PageStore in memory that takes the time of a modelled SSD, for simulations at a scale that no machine here has.
/// Memory is taken for pages that are written. Its checkpoints end with it.
std::unique_ptr<PageStore> make_model_store(EventLoop& loop, const SsdModel& model, const StoreShape& shape);

}  // namespace coracle::internals::storage
