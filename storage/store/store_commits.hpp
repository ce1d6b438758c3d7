// StoreCommits: how what was written to a store becomes what a crash would find, and which checkpoints there are.
#pragma once

#include <cstddef>
#include <cstdint>
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

}  // namespace coracle::internals::storage
