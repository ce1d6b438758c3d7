// A store's lives on a fake disk: random writes, flushes and checkpoints, a crash, and what must be there after it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "storage/store/page_store.hpp"
#include "tests/storage/fake_disk.hpp"
#include "tests/storage/temporary_folder.hpp"

namespace coracle::internals::test {

struct TrialPlan {
  DiskFaults faults;     ///< While a store is in use.
  bool cancels = false;  ///< Flushes and checkpoints are cancelled at times.
  bool crashes = true;
};

/// One seed's run. What it finds wrong is text, so that a test may also demand that something is found.
class StoreTrial {
 public:
  StoreTrial(std::uint64_t seed, TrialPlan plan);
  /// Empty when all was well.
  std::string run();
  std::uint64_t crashes() const noexcept { return crashes_; }
  std::uint64_t checkpoints_seen() const noexcept { return checkpoints_seen_; }

 private:
  using Numbers = std::vector<std::uint64_t>;
  /// Numbers that were written, oldest first; what a crash brings back is none from before `floor`.
  struct PageModel {
    Numbers numbers{0};
    std::size_t floor = 0;
    std::size_t present = 0;
  };

  Task<> create();
  Task<> live();
  Task<> phase(Scope& scope);
  Task<> writer(std::uint64_t first, std::uint64_t step);
  Task<> flusher();
  Task<> flush_once();
  Task<> checkpoint();
  Task<> cancelled_soon(Task<> task);
  Task<> write_page(std::uint64_t page);
  Task<> expect_present(std::uint64_t page);
  void remember(const std::vector<storage::CheckpointInfo>& listed);
  Task<> after();
  Task<> check_checkpoint(std::uint64_t epoch);
  Task<> check_latest();
  Task<std::uint64_t> read_number(storage::PageStore& store, std::uint64_t page);
  void wrong(const std::string& what);
  bool over() const noexcept { return disk_.crashed() || broken_; }

  std::mt19937_64 random_;
  TrialPlan plan_;
  TemporaryFolder folder_;
  std::string path_;
  EventLoop loop_;
  FakeDisk disk_;
  storage::StoreShape shape_;
  std::unique_ptr<storage::PageStore> store_;

  std::vector<PageModel> pages_;
  std::map<std::uint64_t, Numbers> whole_;  // checkpoints that must be there when they are listed
  std::vector<std::uint64_t> kept_;         // those that were listed last, oldest first
  std::uint64_t next_number_ = 1;
  std::uint64_t epoch_ = 0;
  bool broken_ = false;
  std::uint64_t crashes_ = 0;
  std::uint64_t checkpoints_seen_ = 0;
  std::string wrong_;
};

}  // namespace coracle::internals::test
