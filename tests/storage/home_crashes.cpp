#include "tests/storage/home_crashes.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "storage/segment/home_files.hpp"
#include "storage/store/aligned_buffer.hpp"
#include "tests/sim/job.hpp"

namespace coracle::internals::test {
namespace {

using storage::AlignedBuffer;
using storage::HomeDevice;
using storage::PageStore;

constexpr std::uint64_t kPageBytes = 4096;
constexpr const char* kName = "kept";
constexpr std::uint64_t kTorn = ~std::uint64_t{0};

void fill(std::span<std::byte> bytes, std::uint64_t number, std::uint64_t page) {
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t word = number == 0 ? 0 : (number << 16 | page) + at * 0x9e3779b97f4a7c15;
    std::memcpy(bytes.data() + at, &word, 8);
  }
}
std::uint64_t number_in(std::span<const std::byte> bytes, std::uint64_t page) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), 8);
  AlignedBuffer wanted(bytes.size());
  fill(wanted.span(), word >> 16, page);
  return std::memcmp(bytes.data(), wanted.data(), bytes.size()) == 0 ? word >> 16 : kTorn;
}

/// What the kernel does for a dead process; a dead rank's are still open here.
void close_files_in(const std::string& folder) {
  std::vector<int> found;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(each.path(), gone).string();
    if (!gone && target.starts_with(folder)) found.push_back(std::stoi(each.path().filename().string()));
  }
  for (const int fd : found) ::close(fd);
}

Task<> put_page(PagedSegment& segment, std::uint64_t page, std::uint64_t number) {
  AlignedBuffer buffer(kPageBytes);
  fill(buffer.span(), number, page);
  co_await segment.put(page * kPageBytes, buffer.span());
}

}  // namespace

HomeCrashes::HomeCrashes(std::uint64_t seed)
    : seed_(seed),
      random_(seed),
      homes_(static_cast<std::uint32_t>(2 + random_() % 3)),
      pages_(homes_ * (1 + random_() % 5)) {
  for (std::uint32_t home = 0; home < homes_; ++home) disks_.push_back(std::make_unique<FakeDisk>(seed * 8 + home));
}

void HomeCrashes::wrong(const std::string& what) {
  if (wrong_.empty()) wrong_ = what;
}

std::string HomeCrashes::run() {
  states_[0] = State(pages_);
  one_job(true);
  for (std::uint64_t jobs = 2 + random_() % 5; jobs > 0 && wrong_.empty(); --jobs) one_job(false);
  return wrong_;
}

PagedOptions HomeCrashes::options(bool create) const {
  PagedOptions options;
  options.path = folder_.file("pages");
  options.bytes = create ? pages_ * kPageBytes : 0;
  options.page_bytes = kPageBytes;
  options.cache_bytes = kPageBytes * std::max<std::uint64_t>(pages_, 4);
  options.dirty_share = 1;
  options.read_ahead_pages = 0;
  return options;
}

void HomeCrashes::one_job(bool first) {
  sim::SimJob job;
  job.size = job.nodes = homes_;
  job.seed = random_();
  job.segment_bytes = 4 << 20;
  job.model.jitter_ns = 20'000;
  job.survive = true;
  create_ = first;
  told_ = false;
  by_name_ = !first && wanted_ != 0 && random_() % 2 == 0;
  const auto crash = first ? Crash::none : static_cast<Crash>(random_() % 4);
  const std::uint64_t at_us = random_() % (random_() % 2 == 0 ? 300 : 5000);
  std::string plan;
  for (std::uint32_t rank = 0; rank < homes_; ++rank)
    if (crash == Crash::all_ranks || (crash == Crash::one_rank && rank == seed_ % homes_))
      plan += fmt::format("{} us kill rank {}\n", at_us, rank);
  if (!plan.empty()) job.faults = sim::parse_faults(plan, "test", job.shape());
  if (crash == Crash::one_disk) disks_[seed_ % homes_]->crash_after = 1 + random_() % (20 * homes_);
  const sim::SimulationResult outcome = job.run([this](Rank& self) { return live(self); },
                                                [&](sim::Simulation&, const sim::SimulationResult&) {
                                                  if (crash == Crash::none) return;
                                                  for (auto& disk : disks_)
                                                    disk->die();  // what is in flight is still there
                                                });
  if (outcome.error) wrong(sim::text_of(outcome));
  close_files_in(folder_.file(""));
  if (crash != Crash::none) ++crashes_;
  for (std::uint32_t home = 0; home < homes_; ++home) {
    disks_[home]->power_on(folder_.file(fmt::format("pages.{}", home)));
  }
  if (wrong_.empty()) look_at_files();
}

Task<> HomeCrashes::live(Rank& self) {
  FakeDisk& disk = *disks_[self.id()];
  self.loop().add_poller(disk);
  self.local<HomeDevice>().io = &disk;
  std::optional<PagedSegment> segment;
  const std::string name = by_name_ ? kName : "";
  try {
    if (create_)
      segment.emplace(co_await PagedSegment::create(self.world(), options(true)));
    else
      segment.emplace(co_await PagedSegment::open(self.world(), options(false), name));
    co_await use(self, *segment);
    co_await segment->close();
  } catch (const Error& error) {
    if (error.code() == Errc::page_damaged || error.code() == Errc::bad_input) wrong(error.what());
  }
  // Others may still ask this rank: its segment may not go before they have ended, which nobody can tell now.
  co_await sleep_for(std::chrono::seconds(1));
  self.loop().remove_poller(disk);
}

Task<> HomeCrashes::use(Rank& self, PagedSegment& segment) {
  std::mt19937_64 random(seed_ * 1000 + number_ * 10 + self.id());
  const std::uint64_t first = number_ + 1;
  const std::uint64_t attempts = 1 + (seed_ + number_) % 5;
  if (self.id() == 0) {
    State found(pages_);
    const Result<> read = co_await as_result(read_all(segment, found));
    readable_ = read.ok();
    if (readable_) opened(found);
  }
  co_await self.world().barrier();
  if (!readable_) co_return;  // the disk has gone
  for (std::uint64_t number = first; number < first + attempts; ++number) {
    if (number > number_) attempt(number);
    for (std::uint64_t page = self.id(); page < pages_; page += self.size())
      if (writes(number, page)) co_await put_page(segment, page, number);  // without fetching it: no disk can fail it
    if (random() % 3 == 0) static_cast<void>(co_await as_result(segment.flush()));
    if (!create_ && random() % 3 == 0) spoil(*disks_[self.id()]);
    const Result<> made = co_await as_result(segment.checkpoint(kName));
    if (made.ok())
      completed_ = std::max(completed_, number);
    else
      failed_ += self.id() == 0 ? 1 : 0;
  }
}

/// One of the next requests fails.
void HomeCrashes::spoil(FakeDisk& disk) {
  if (disk.crashed()) return;
  const std::uint64_t which = 1 + number_ * 7 % 11;
  if (number_ % 5 == 0)
    disk.fail_sync_after = 1 + number_ % 3;
  else
    disk.fail_write_after = which;
}

/// Every checkpoint is told by the first page of each home.
bool HomeCrashes::writes(std::uint64_t number, std::uint64_t page) const {
  return page < homes_ || (number * 0x9e3779b97f4a7c15 ^ page * 0xbf58476d1ce4e5b9 ^ seed_) % 3 == 0;
}

void HomeCrashes::attempt(std::uint64_t number) {
  number_ = number;
  for (std::uint64_t page = 0; page < pages_; ++page)
    if (writes(number, page)) present_[page] = number;
  states_[number] = present_;
}

Task<> HomeCrashes::read_all(PagedSegment& segment, State& state) {
  AlignedBuffer buffer(kPageBytes);
  for (std::uint64_t page = 0; page < pages_; ++page) {
    co_await segment.get(page * kPageBytes, buffer.span());
    state[page] = number_in(buffer.span(), page);
  }
}

void HomeCrashes::opened(const State& found) {
  if (by_name_) {
    if (found != states_[wanted_])
      wrong(fmt::format("opened by name: the pages are of {}, not of checkpoint {}: {}", fmt::join(found, " "), wanted_,
                        fmt::join(states_[wanted_], " ")));
    gone_back_to(wanted_);
    told_ = true;
  } else {
    const State& least = states_[completed_];
    for (std::uint64_t page = 0; page < pages_; ++page)
      if (found[page] < least[page] || found[page] > number_ || abandoned_.contains(found[page]))
        wrong(fmt::format("page {} is of checkpoint {}, {}at least {} was flushed", page, found[page],
                          abandoned_.contains(found[page]) ? "which was given up, " : "", least[page]));
  }
  present_ = found;
}

void HomeCrashes::gone_back_to(std::uint64_t number) {
  for (std::uint64_t each = number + 1; each <= number_; ++each) abandoned_.insert(each);
  completed_ = number;
}

void HomeCrashes::look_at_files() {
  at_.clear();
  const std::uint64_t times_before = back_times_;
  for (std::uint32_t home = 0; home < homes_; ++home) {
    EventLoop loop;
    loop.add_poller(*disks_[home]);
    loop.run(look_at_home(home));
    loop.remove_poller(*disks_[home]);
  }
  // From the first home that has gone back, the segment has, whether or not its program was told.
  if (back_times_ > times_before) {
    ++went_back_;
    if (!by_name_ || of_[back_epoch_] != wanted_)
      wrong(fmt::format("it went back to {}, not to {}", of_[back_epoch_], wanted_));
    if (!told_) gone_back_to(wanted_);
  }
  wanted_ = 0;
  for (const auto& [epoch, count] : at_)
    if (count == homes_) wanted_ = of_[epoch];
  if (wanted_ < completed_)
    wrong(fmt::format("the last checkpoint that all homes have is {}, and {} was completed", wanted_, completed_));
}

/// Every checkpoint of a home must have all of its pages.
Task<> HomeCrashes::look_at_home(std::uint32_t home) {
  const std::string path = folder_.file(fmt::format("pages.{}", home));
  const storage::StoreSummary summary = co_await PageStore::look(*disks_[home], path);
  if (summary.back.times > back_times_) {
    back_times_ = summary.back.times;
    back_epoch_ = summary.back.epoch;
  }
  AlignedBuffer buffer(kPageBytes);
  for (const storage::CheckpointInfo& each : summary.checkpoints) {
    std::unique_ptr<PageStore> store = co_await PageStore::open(*disks_[home], path, each.epoch);
    for (std::uint64_t place = 0; place < summary.shape.pages; ++place) {
      const std::uint64_t page = home + place * homes_;
      co_await store->read(place, buffer.span());
      const std::uint64_t found = number_in(buffer.span(), page);
      if (place == 0 && of_.try_emplace(each.epoch, found).first->second != found)
        wrong(fmt::format("epoch {} of home {} is checkpoint {}, elsewhere {}", each.epoch, home, found,
                          of_[each.epoch]));
      if (found != states_[of_[each.epoch]][page])
        wrong(fmt::format("page {} of checkpoint {} is of {}", page, of_[each.epoch], found));
    }
    co_await store->close();
    ++at_[each.epoch];
  }
}

}  // namespace coracle::internals::test
