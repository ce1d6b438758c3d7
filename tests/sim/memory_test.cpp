// Simulated jobs that are too large for the memory there is: told before it is taken, or before the kernel kills.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/launch/launcher.hpp"
#include "tests/sanitized.hpp"
#include "tests/sim/job.hpp"
#include "transports/sim/memory_guard.hpp"

namespace memory_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;

namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kGiB = 1 << 30;

std::string refusal(std::uint32_t ranks, const MemoryRoom& room) {
  try {
    refuse_ranks(ranks, room);
  } catch (const Error& error) {
    CHECK(error.code() == std::errc::not_enough_memory);
    return error.what();
  }
  return "";
}

/// What a watch is told, in a test.
struct Told final : MemoryGuard::Source {
  explicit Told(const MemoryRoom& room) : now(room) {}
  MemoryRoom room() override {
    ++looks;
    return now;
  }
  std::uint64_t used_bytes() noexcept override { return now.used_bytes; }
  MemoryRoom now;
  int looks = 0;
};
struct Watched {
  Watched(std::uint64_t used, std::uint64_t free) {
    auto source = std::make_unique<Told>(MemoryRoom{used, free, "what the test says"});
    told = source.get();
    watch.emplace(std::move(source));
  }
  void becomes(std::uint64_t used, std::uint64_t free) const { told->now = {used, free, "what the test says"}; }
  Told* told;
  std::optional<MemoryGuard> watch;
};
/// More than one look's events.
bool runs_short_soon(MemoryGuard& watch) {
  for (int event = 0; event < 300; ++event)
    if (watch.runs_short()) return true;
  return false;
}

/// As much as a room of this process, for a while.
class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(std::uint64_t more_bytes) {
    REQUIRE(::getrlimit(RLIMIT_AS, &before_) == 0);
    rlimit limit = before_;
    limit.rlim_cur = mapped_bytes() + more_bytes;
    REQUIRE(::setrlimit(RLIMIT_AS, &limit) == 0);
  }
  ~AddressSpaceLimit() { ::setrlimit(RLIMIT_AS, &before_); }
  AddressSpaceLimit(const AddressSpaceLimit&) = delete;
  AddressSpaceLimit& operator=(const AddressSpaceLimit&) = delete;

 private:
  static std::uint64_t mapped_bytes() {
    std::uint64_t pages = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    REQUIRE(file != nullptr);
    REQUIRE(std::fscanf(file, "%lu", &pages) == 1);
    std::fclose(file);
    return pages * 4096;
  }
  rlimit before_{};
};

/// Takes ever more, in steps that are little.
Task<> allocate_until_full(Rank&) {
  std::vector<std::vector<std::byte>> taken;
  for (;;) {
    taken.emplace_back(256 << 10, std::byte{1});
    co_await sleep_for(std::chrono::microseconds(1));
  }
}

struct Megabyte {
  std::array<std::byte, kMiB> bytes;
};

Task<> gather_megabytes(Rank& self) {
  const auto mine = std::make_unique<Megabyte>();
  static_cast<void>(co_await self.world().gather_all(*mine));
}

}  // namespace

TEST_CASE("more simulated ranks than memory has room for are refused, with how many there could be") {
  const MemoryRoom room{kGiB, 3 * kGiB, "what the test says"};
  CHECK(refusal(65'536, room) == "");
  const std::string text = refusal(1'000'000, room);
  CHECK(text.find("1000000 ranks in one process take 30.5 GiB before their program begins") != std::string::npos);
  CHECK(text.find("there are 4.0 GiB (what the test says") != std::string::npos);
  CHECK(text.find("start at most 131072 (-n)") != std::string::npos);
}

TEST_CASE("the launcher refuses more simulated ranks than fit before it makes anything for them") {
  if (test::kSanitized) return;  // its shadow is address space, too
  SimJob job;
  job.size = 1'000'000;
  JobOptions options;
  options.shape = job.shape();
  std::string text;
  {
    const AddressSpaceLimit limit(1 * kGiB);
    try {
      check(options);
    } catch (const Error& error) {
      text = error.what();
    }
  }
  INFO(text);
  CHECK(text.find("1000000 ranks in one process take 30.5 GiB") != std::string::npos);
  options.shape.size = 8;
  check(options);
}

TEST_CASE("segments whose sizes count beyond 64 bits together are refused, as are those beyond the address space") {
  for (const std::uint64_t bytes : {std::uint64_t{1} << 62, ~std::uint64_t{0}, std::uint64_t{1} << 40}) {
    CAPTURE(bytes);
    SimJob job;
    job.size = 65'536;
    job.segment_bytes = bytes;
    std::string text;
    try {
      static_cast<void>(JobRegion::create(job.shape(), JobRegion::Backing::memfd));
    } catch (const Error& error) {
      text = error.what();
    }
    INFO(text);
    CHECK(text.find("65536 segments of ") != std::string::npos);
    CHECK(text.find("smaller --segment") != std::string::npos);
  }
}

TEST_CASE("a gather_all whose results can't all be in one process is refused, not begun") {
  SimJob job;
  job.size = 4096;
  job.nodes = 4096;
  job.segment_bytes = 128 << 10;
  const std::string text = text_of(job.run(gather_megabytes));
  INFO(text);
  CHECK(text.find("gather_all would give 4096 elements of 1048576 bytes to each of 4096 ranks") != std::string::npos);
  CHECK(text.find(": 16384.0 GiB, and there are ") != std::string::npos);
  CHECK(text.find("start fewer ranks (-n)") != std::string::npos);
}

TEST_CASE("a gather_all of much that fits into this process is none the worse") {
  SimJob job;
  job.size = 64;
  job.nodes = 64;
  job.segment_bytes = 128 << 10;
  const SimulationResult outcome = job.run([](Rank& self) -> Task<> {
    const std::array<std::uint64_t, 10'240> mine{self.id()};
    const auto all = co_await self.world().gather_all(mine);  // 320 MiB in all
    EXPECT(all.size() == 64);
    EXPECT(all[63][0] == 63);
  });
  CHECK(text_of(outcome) == "");
}

TEST_CASE("a watch over memory looks when much more is taken, and says when little is left") {
  Watched job(kGiB, 8 * kGiB);
  CHECK(!runs_short_soon(*job.watch));
  CHECK(job.told->looks == 0);  // nothing has been taken yet
  job.becomes(kGiB + 20 * kMiB, 8 * kGiB);
  CHECK(!runs_short_soon(*job.watch));
  CHECK(job.told->looks == 1);
  job.becomes(2 * kGiB, 7 * kGiB);
  CHECK(!runs_short_soon(*job.watch));
  CHECK(job.told->looks == 2);
  CHECK(!runs_short_soon(*job.watch));
  CHECK(job.told->looks == 2);
  job.becomes(9 * kGiB, kGiB / 8);
  CHECK(runs_short_soon(*job.watch));
  CHECK(job.watch->room().used_bytes == 9 * kGiB);
}

TEST_CASE("a watch over memory lets a small job run where little is free from the beginning") {
  Watched job(100 * kMiB, 20 * kMiB);
  job.becomes(110 * kMiB, 10 * kMiB);
  CHECK(!runs_short_soon(*job.watch));
}

TEST_CASE("a simulated job that takes all memory ends by itself, and says so") {
  if (test::kSanitized) return;  // its shadow is address space, too
  SimJob job;
  job.size = 30;
  job.nodes = 30;
  job.segment_bytes = 128 << 10;
  std::string text;
  SimulationResult outcome;
  {
    // What it maps, and 200 MiB to take.
    const AddressSpaceLimit limit(30 * (5 * kMiB) + 200 * kMiB);
    outcome = job.run(allocate_until_full);
    text = text_of(outcome);
  }
  INFO(text);
  CHECK(outcome.of_all);
  CHECK(text.find("memory runs out after 0.00") != std::string::npos);
  CHECK(text.find("the 30 ranks of this job, which are all in one process, have taken ") != std::string::npos);
  CHECK(text.find("what `ulimit -v` leaves") != std::string::npos);
}

}  // namespace memory_test
