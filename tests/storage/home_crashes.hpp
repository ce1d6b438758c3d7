// The homes of one segment, each on a fake disk of its own, over several simulated jobs that crash: what checkpoints
// there are afterwards, and what a segment gives that is opened again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "runtime/rank/rank.hpp"
#include "storage/segment/paged_segment.hpp"
#include "tests/storage/fake_disk.hpp"
#include "tests/storage/temporary_folder.hpp"

namespace coracle::internals::test {

class HomeCrashes {
 public:
  explicit HomeCrashes(std::uint64_t seed);
  /// Empty when all was well.
  std::string run();
  std::uint64_t crashes() const noexcept { return crashes_; }
  std::uint64_t went_back() const noexcept { return went_back_; }
  std::uint64_t failed_checkpoints() const noexcept { return failed_; }

 private:
  /// Of each page, the number of the checkpoint that it was last written for; 0: never.
  using State = std::vector<std::uint64_t>;
  enum class Crash : std::uint8_t { none, all_ranks, one_rank, one_disk };

  void one_job(bool first);
  Task<> live(Rank& self);
  Task<> use(Rank& self, PagedSegment& segment);
  Task<> read_all(PagedSegment& segment, State& state);
  void opened(const State& state);
  void attempt(std::uint64_t number);
  bool writes(std::uint64_t number, std::uint64_t page) const;
  void spoil(FakeDisk& disk);
  PagedOptions options(bool create) const;
  void look_at_files();
  Task<> look_at_home(std::uint32_t home);
  void gone_back_to(std::uint64_t number);
  void wrong(const std::string& what);

  std::uint64_t seed_;
  std::mt19937_64 random_;
  TemporaryFolder folder_;
  std::uint32_t homes_;
  std::uint64_t pages_;
  std::vector<std::unique_ptr<FakeDisk>> disks_;

  std::map<std::uint64_t, State> states_;      // by the number of the checkpoint that it was, or would have been
  std::map<std::uint64_t, std::uint64_t> of_;  // epoch → number of the checkpoint
  std::map<std::uint64_t, std::uint32_t> at_;  // epoch → how many homes have it
  std::set<std::uint64_t> abandoned_;          // numbers from which the segment has gone back
  std::uint64_t completed_ = 0;                // the last that some rank was told to be complete
  std::uint64_t number_ = 0;                   // of the last attempt
  std::uint64_t back_times_ = 0;
  std::uint64_t back_epoch_ = 0;

  // Of the present job.
  bool create_ = false;
  bool by_name_ = false;
  std::uint64_t wanted_ = 0;  // by name: what it must be
  bool told_ = false;         // it has been opened by name
  bool readable_ = false;
  State present_;

  std::uint64_t crashes_ = 0;
  std::uint64_t went_back_ = 0;
  std::uint64_t failed_ = 0;
  std::string wrong_;
};

}  // namespace coracle::internals::test
