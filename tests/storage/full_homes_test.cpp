// Simulated jobs in which one home's disk has no room left, and those of the others have, or a file is still in use.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <coracle/coracle.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "storage/segment/home_files.hpp"
#include "tests/sim/job.hpp"
#include "tests/storage/fake_disk.hpp"
#include "tests/storage/temporary_folder.hpp"

namespace full_homes_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;
using coracle::internals::test::FakeDisk;

namespace {

constexpr std::uint64_t kPage = 4096;

struct Homes {
  coracle::internals::test::TemporaryFolder folder;
  FakeDisk disks[2] = {FakeDisk(1), FakeDisk(2)};

  PagedOptions options() const {
    PagedOptions options;
    options.path = folder.file("pages");
    options.bytes = 64 * kPage;
    options.page_bytes = kPage;
    options.cache_bytes = 32 * kPage;  // 16 may be dirty; above 12, they are written behind the program's back
    options.read_ahead_pages = 0;
    return options;
  }
};

Task<> put_word(PagedSegment& segment, std::uint64_t page, std::uint64_t word, std::uint64_t value) {
  co_await segment.put(page * kPage + 8 * word, std::as_bytes(std::span(&value, 1)));
}

Task<std::uint64_t> word_of(PagedSegment& segment, std::uint64_t page, std::uint64_t word) {
  std::uint64_t value = 0;
  co_await segment.get(page * kPage + 8 * word, std::as_writable_bytes(std::span(&value, 1)));
  co_return value;
}

/// Of home 1.
std::uint64_t odd(std::uint64_t number) {
  return 2 * number + 1;
}

/// Rank 0 dirties many pages of home 1, which has no room, and then one of home 0 after the other.
Task<> one_home_full(Rank& self, PagedSegment& segment, Homes& homes) {
  FakeDisk& full = homes.disks[1];
  if (self.id() == 0) {
    full.full = true;
    for (std::uint64_t number = 0; number < 14; ++number) co_await put_word(segment, odd(number), 0, number + 1);
    co_await sleep_for(std::chrono::seconds(1));
    const std::uint64_t requests = full.requests();
    const std::uint64_t others = homes.disks[0].requests();
    for (std::uint64_t round = 0; round < 30; ++round) {
      co_await put_word(segment, 2 * round, 0, round);
      co_await sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT(full.requests() == requests);
    EXPECT(homes.disks[0].requests() >= others + 20);
    const Result<> flushed = co_await as_result(segment.flush());
    EXPECT(flushed.code() == std::errc::no_space_on_device);
    full.full = false;
    co_await segment.flush();
  }
  co_await self.world().barrier();
  for (std::uint64_t number = 0; number < 14; ++number) {
    const std::uint64_t value = co_await word_of(segment, odd(number), 0);
    EXPECT(value == number + 1);
  }
}

/// What rank 0 has put is in rank 1's cache when rank 0 flushes.
Task<> given_away(Rank& self, PagedSegment& segment, Homes& homes) {
  if (self.id() == 0) co_await put_word(segment, 1, 0, 7);
  co_await self.world().barrier();
  if (self.id() == 1) {
    homes.disks[1].full = true;
    co_await put_word(segment, 1, 1, 8);
  }
  co_await self.world().barrier();
  if (self.id() == 0) {
    const Result<> flushed = co_await as_result(segment.flush());
    EXPECT(flushed.code() == std::errc::no_space_on_device);
    homes.disks[1].full = false;
    co_await segment.flush();
    const std::uint64_t value = co_await word_of(segment, 1, 0);
    EXPECT(value == 7);
  }
}

using Body = Task<> (*)(Rank&, PagedSegment&, Homes&);

Task<> live(Rank& self, Homes& homes, Body body) {
  FakeDisk& disk = homes.disks[self.id()];
  self.loop().add_poller(disk);
  self.local<storage::HomeDevice>().io = &disk;
  PagedSegment segment = co_await PagedSegment::create(self.world(), homes.options());
  co_await body(self, segment, homes);
  co_await segment.close();
  self.loop().remove_poller(disk);
}

void run_on_two_homes(Body body) {
  Homes homes;
  SimJob job;
  job.size = job.nodes = 2;
  job.segment_bytes = 4 << 20;
  const SimulationResult outcome = job.run([&](Rank& self) { return live(self, homes, body); });
  CHECK(text_of(outcome) == "");
}

}  // namespace

TEST_CASE("a home whose disk is full is left alone until somebody asks, and the others go on") {
  run_on_two_homes(one_home_full);
}

TEST_CASE("flush tells that the disk is full also where another cache has what was put") {
  run_on_two_homes(given_away);
}

TEST_CASE("a file is waited for by the clock of the one who still has it open, also where time is simulated") {
  Homes homes;
  const int held = ::open((homes.options().path + ".1").c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(::flock(held, LOCK_EX) == 0);
  std::thread other([held] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ::close(held);
  });
  SimJob job;
  job.size = job.nodes = 2;
  job.segment_bytes = 4 << 20;
  const SimulationResult outcome = job.run([&](Rank& self) -> Task<> {
    PagedOptions options = homes.options();
    options.replace = true;
    PagedSegment segment = co_await PagedSegment::create(self.world(), options);
    co_await segment.close();
  });
  other.join();
  CHECK(text_of(outcome) == "");
}

}  // namespace full_homes_test
