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
#include "storage/store/page_store.hpp"
#include "storage/store/slot_map.hpp"
#include "storage/store/store_commits.hpp"
#include "storage/store/store_file.hpp"
#include "storage/store/store_format.hpp"
#include "storage/store/store_load.hpp"

namespace coracle::internals::storage {

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
