// FileStore: the page store over one file. Pages never overwrite anything: each write goes to a free slot, and a slot
// becomes free only when nothing that a crash could bring back needs it any more. docs/storage.md tells why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/task.hpp"
#include "storage/store/aligned_buffer.hpp"
#include "storage/store/page_store.hpp"
#include "storage/store/slot_map.hpp"
#include "storage/store/store_file.hpp"
#include "storage/store/store_format.hpp"
#include "storage/store/store_load.hpp"

namespace coracle::internals::storage {

// StoreCommits: how what was written to a store becomes what a crash would find, and which checkpoints there are.

/// Of one store; its functions are as PageStore's.
class StoreCommits {
 public:
  /// What it refers to must outlive it. `table`, `slots`: of the present state.
  StoreCommits(StoreFile& file, const StorePlan& plan, std::vector<PageEntry>& table, SlotMap& slots,
               LoadedManifest loaded);
  StoreCommits(const StoreCommits&) = delete;
  StoreCommits& operator=(const StoreCommits&) = delete;

  /// Once, before anything else. As PageStore::open.
  Task<> load(std::uint64_t epoch);
  /// A page has been written since.
  void changed(std::uint64_t page) noexcept;
  /// Throws Error when no more changes can be made.
  void throw_if_broken() const;
  bool checkpointing() const noexcept { return checkpointing_; }
  Task<> flush();
  std::vector<CheckpointInfo> checkpoints() const;
  Task<> checkpoint(std::string name, std::uint64_t epoch);
  Task<> go_back(std::uint64_t times);
  void confirm(std::uint64_t epoch) noexcept;

 private:
  static constexpr std::uint64_t kLatest = PageStore::kLatest;
  class Turn;
  class Attempt;

  const std::string& path() const noexcept { return file_.path(); }
  bool nothing_to_commit() const noexcept { return changes_ == 0 && !rebase_ && !doubt_; }
  Task<> load_checkpoints(std::uint64_t epoch);
  Task<> erase_log_end();

  /// One commit of everything changed so far, as a checkpoint if one is wished for.
  Task<> commit(const CheckpointInfo* request);
  Manifest kept() const;
  Task<> commit_to_log(std::uint64_t changes);
  Task<> commit_to_table(const CheckpointInfo* request);
  Task<> save_table(TablePlace target);
  Task<> put_manifest(Manifest next);
  void adopt(Manifest next) noexcept;
  Task<> settle();
  Task<> sync();
  Task<> put_mark();
  std::uint32_t free_place() const noexcept;
  AlignedBuffer log_blocks(std::uint64_t changes, bool synced, LogEnd& end) const;

  StoreFile& file_;
  const StorePlan& plan_;
  std::vector<PageEntry>& table_;
  SlotMap& slots_;

  // What a crash would find, and how it gets there.
  Manifest manifest_;
  unsigned manifest_which_;
  DurableMark mark_found_;
  std::uint64_t sequence_;    // of manifests: the greatest that may be in the file
  std::uint64_t generation_;  // the same of tables
  LogEnd log_end_;
  const std::uint64_t incarnation_;       // of this opening, for the names of groups
  std::uint64_t confirmed_ = 0;           // checkpoints of smaller epochs go with the next manifest,
  std::uint64_t newest_epoch_ = kLatest;  // and so do those of greater ones
  WentBack back_;                         // for the next table
  bool log_doubt_ = false;                // the log may hold blocks of a flush that did not succeed
  bool doubt_ = false;                    // the other manifest's place may hold one that is not manifest_
  bool rebase_ = false;                   // the present state is an older checkpoint, to which the log does not lead
  std::error_code broken_;

  BitSet changed_;  // pages since the last commit began
  BitSet changing_;
  std::uint64_t changes_ = 0;
  bool committing_ = false;
  bool checkpointing_ = false;
  Event committed_;
  std::uint64_t commits_begun_ = 0;
  std::uint64_t commits_done_ = 0;
};

class FileStore final : public PageStore {
 public:
  /// A store whose tables are still to be loaded.
  FileStore(StoreFile file, const Superblock& superblock, LoadedManifest loaded);
  ~FileStore() override;
  FileStore(const FileStore&) = delete;
  FileStore& operator=(const FileStore&) = delete;

  /// Once, before anything else. As PageStore::open.
  Task<> load(std::uint64_t epoch) { return commits_.load(epoch); }

  const StoreShape& shape() const noexcept override { return shape_; }
  const std::string& path() const noexcept override { return file_.path(); }
  bool direct() const noexcept override { return file_.direct(); }
  bool empty(std::uint64_t page) const noexcept override { return table_[page].empty(); }
  Task<> read(std::uint64_t page, std::span<std::byte> target) override;
  Task<> write(std::uint64_t page, std::span<const std::byte> source) override;
  Task<> flush() override;
  std::vector<CheckpointInfo> checkpoints() const override { return commits_.checkpoints(); }
  Task<> checkpoint(std::string name, std::uint64_t epoch) override;
  Task<> go_back(std::uint64_t times) override;
  void confirm(std::uint64_t epoch) noexcept override { commits_.confirm(epoch); }
  Task<> close() override;

 private:
  /// A call under way, for close().
  class Call {
   public:
    explicit Call(FileStore& store) noexcept : store_(store) {
      CORACLE_ASSERT(!store.closing_, "{} was used after it was closed", store.path());
      ++store_.calls_;
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() {
      if (--store_.calls_ == 0 && store_.closing_) store_.idle_.set();
    }

   private:
    FileStore& store_;
  };
  class Claim;

  void check_call(std::uint64_t page, const std::byte* data, std::size_t bytes) const;
  Error page_error(const char* verb, std::uint64_t page, std::error_code code) const;
  std::size_t advanced(std::size_t done, std::size_t count, const char* verb, std::uint64_t page) const;
  void add_slots_to_file();
  Task<> turn_to_verify(std::size_t bytes);

  StoreFile file_;
  const StoreShape shape_;
  const StorePlan plan_;
  std::vector<PageEntry> table_;
  SlotMap slots_;

  StoreCommits commits_;

  std::uint64_t arrived_ = 0;       // reads that came from the device,
  std::uint64_t verified_ = 0;      // and those whose turn to be verified has come
  std::size_t verified_bytes_ = 0;  // in one turn of the loop

  std::size_t calls_ = 0;
  bool closing_ = false;
  Event idle_;
};

}  // namespace coracle::internals::storage
