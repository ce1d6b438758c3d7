// Paged segments whose device has no room left: all that must be told is told, nothing goes on for ever, and nothing is
// lost once there is room again.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <coracle/coracle.hpp>
#include <coracle/mapped.hpp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/segment/home_files.hpp"
#include "tests/storage/fake_disk.hpp"
#include "tests/storage/mapped_job.hpp"
#include "tests/storage/temporary_folder.hpp"

namespace full_disk_test {

using namespace coracle;
using namespace coracle::internals;
using coracle::internals::test::FakeDisk;
using coracle::internals::test::Job;
using coracle::internals::test::TemporaryFolder;

namespace {

constexpr std::uint64_t kFrames = 32;
constexpr std::uint64_t kDirtyMax = kFrames / 2;
constexpr std::uint64_t kMark = kDirtyMax * 3 / 4;  // above, pages are written behind the program's back

PagedOptions options_in(const std::string& folder, std::uint32_t page_bytes) {
  PagedOptions options;
  options.path = folder + "/pages";
  options.bytes = 64ULL * page_bytes;
  options.page_bytes = page_bytes;
  options.cache_bytes = kFrames * page_bytes;
  options.read_ahead_pages = 0;
  return options;
}

std::vector<std::byte> page_of(const PagedSegment& segment, std::uint64_t page, std::uint64_t version) {
  std::vector<std::byte> bytes(segment.page_bytes());
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t word = version << 32 | page << 16 | at;
    std::memcpy(&bytes[at], &word, 8);
  }
  return bytes;
}

Task<> put_pages(PagedSegment& segment, std::uint64_t first, std::uint64_t last, std::uint64_t version) {
  for (std::uint64_t page = first; page < last; ++page) {
    const std::vector<std::byte> bytes = page_of(segment, page, version);
    co_await segment.put(page * segment.page_bytes(), bytes);
  }
}

/// How many pages from 0 on hold what put_pages() has put.
Task<std::uint64_t> pages_held(PagedSegment& segment, std::uint64_t last, std::uint64_t version) {
  std::uint64_t held = 0;
  std::vector<std::byte> bytes(segment.page_bytes());
  for (std::uint64_t page = 0; page < last; ++page) {
    co_await segment.get(page * segment.page_bytes(), bytes);
    held += bytes == page_of(segment, page, version) ? 1 : 0;
  }
  co_return held;
}

Task<> take_down(Task<> task, std::optional<Result<>>& outcome) {
  outcome.emplace(co_await as_result(std::move(task)));
}

/// What becomes of `task` in some thousands of turns of the loop; nothing: it goes on. Each turn finishes one request
/// of the disk.
Task<std::optional<Result<>>> outcome_soon(Rank& self, FakeDisk& disk, Task<> task) {
  std::optional<Result<>> outcome;
  self.service().spawn(take_down(std::move(task), outcome));
  for (int turn = 0; turn < 20'000 && !outcome; ++turn) co_await yield();
  const std::optional<Result<>> found = outcome;
  disk.full = false;  // so that it ends in any case
  while (!outcome) co_await yield();
  disk.full = true;
  co_return found;
}

/// How many requests the disk gets in some thousands of turns, when there was time for those that are under way.
Task<std::uint64_t> requests_of_idle_program(FakeDisk& disk) {
  for (int turn = 0; turn < 2'000; ++turn) co_await yield();
  const std::uint64_t before = disk.requests();
  for (int turn = 0; turn < 2'000; ++turn) co_await yield();
  co_return disk.requests() - before;
}

/// `task`: a flush or the like.
Task<> fails_in_time(Rank& self, FakeDisk& disk, Task<> task) {
  const std::optional<Result<>> flushed = co_await outcome_soon(self, disk, std::move(task));
  REQUIRE(flushed.has_value());
  CHECK(flushed->code() == std::errc::no_space_on_device);
  CHECK(std::string(flushed->error().what()).find("make room there and flush again") != std::string::npos);
}

Task<> dirty_pages_and_no_room(Rank& self, FakeDisk& disk, std::uint64_t dirty) {
  const TemporaryFolder folder;
  const PagedOptions options = options_in(folder.file(""), 4096);
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  disk.full = true;
  co_await put_pages(segment, 0, dirty, 1);
  const std::uint64_t requests = co_await requests_of_idle_program(disk);
  CHECK(requests == 0);
  co_await fails_in_time(self, disk, segment.flush());
  co_await fails_in_time(self, disk, segment.checkpoint("no room"));
  co_await fails_in_time(self, disk, segment.flush());
  disk.full = false;
  co_await segment.flush();
  std::uint64_t held = co_await pages_held(segment, dirty, 1);
  CHECK(held == dirty);
  // Behind the program's back, too, it goes on as before.
  const std::uint64_t written = segment.counts().ssd_writes;
  co_await put_pages(segment, 0, kMark + 2, 2);
  co_await requests_of_idle_program(disk);
  CHECK(segment.counts().ssd_writes > written);
  co_await segment.close();
  PagedSegment again = co_await PagedSegment::open(self.world(), options);
  held = co_await pages_held(again, kMark + 2, 2);
  CHECK(held == kMark + 2);
  co_await again.close();
}

/// A program that goes on putting is told at the limit, and goes on when there is room.
Task<> writers_at_the_limit(Rank& self, FakeDisk& disk) {
  const TemporaryFolder folder;
  const PagedOptions options = options_in(folder.file(""), 4096);
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  disk.full = true;
  co_await put_pages(segment, 0, kDirtyMax, 1);
  const std::optional<Result<>> put = co_await outcome_soon(self, disk, put_pages(segment, kDirtyMax, 40, 1));
  REQUIRE(put.has_value());
  CHECK(put->code() == std::errc::no_space_on_device);
  disk.full = false;
  co_await put_pages(segment, kDirtyMax, 40, 1);
  co_await segment.close();
  PagedSegment again = co_await PagedSegment::open(self.world(), options);
  const std::uint64_t held = co_await pages_held(again, 40, 1);
  CHECK(held == 40);
  co_await again.close();
}

/// Each put waits for the pages of all: what one is told is not taken from the others.
Task<> many_writers_at_the_limit(Rank& self, FakeDisk& disk) {
  const TemporaryFolder folder;
  PagedSegment segment = co_await PagedSegment::create(self.world(), options_in(folder.file(""), 4096));
  disk.full = true;
  co_await put_pages(segment, 0, kDirtyMax, 1);
  std::vector<std::optional<Result<>>> outcomes(3);
  for (std::uint64_t i = 0; i < outcomes.size(); ++i)
    self.service().spawn(take_down(put_pages(segment, kDirtyMax + i, kDirtyMax + i + 1, 1), outcomes[i]));
  for (int turn = 0; turn < 20'000; ++turn) co_await yield();
  for (const std::optional<Result<>>& outcome : outcomes) {
    REQUIRE(outcome.has_value());
    CHECK(outcome->code() == std::errc::no_space_on_device);
  }
  disk.full = false;
  co_await put_pages(segment, kDirtyMax, kDirtyMax + 3, 1);
  co_await segment.flush();
  const std::uint64_t held = co_await pages_held(segment, kDirtyMax + 3, 1);
  CHECK(held == kDirtyMax + 3);
  co_await segment.close();
}

/// The same by loads and stores.
Task<> stores_and_no_room(Rank& self, FakeDisk& disk) {
  const TemporaryFolder folder;
  const PagedOptions options = options_in(folder.file(""), 4096);
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  MappedSegment window = co_await MappedSegment::map(self, segment, {.window_bytes = kFrames * 4096});
  const auto words = window.as<std::uint64_t>();
  disk.full = true;
  co_await window.run([words] {
    for (std::uint64_t page = 0; page < kMark + 2; ++page) words[page * 512] = page + 1;
  });
  co_await fails_in_time(self, disk, window.flush());
  co_await fails_in_time(self, disk, window.flush());
  disk.full = false;
  co_await window.flush();
  co_await window.unmap();
  co_await segment.close();
  PagedSegment again = co_await PagedSegment::open(self.world(), options);
  for (std::uint64_t page = 0; page < kMark + 2; ++page) {
    std::uint64_t word = 0;
    co_await again.get(page * 4096, std::as_writable_bytes(std::span(&word, 1)));
    CHECK(word == page + 1);
  }
  co_await again.close();
}

template <class Body>
void run_on_fake_disk(Body body) {
  Job job;
  FakeDisk disk(1);
  job.loop.add_poller(disk);
  job.self.local<storage::HomeDevice>().io = &disk;
  job.run(body(job.self, disk));
  job.loop.remove_poller(disk);
}

}  // namespace

TEST_CASE("flush on a full disk tells of it, however many pages are dirty, and loses none") {
  for (const std::uint64_t dirty : {std::uint64_t{1}, kMark, kMark + 1, kMark + 2, kDirtyMax}) {
    CAPTURE(dirty);
    run_on_fake_disk([&](Rank& self, FakeDisk& disk) { return dirty_pages_and_no_room(self, disk, dirty); });
  }
}

TEST_CASE("who puts more than a full disk takes is told, and puts it when there is room") {
  run_on_fake_disk(writers_at_the_limit);
}

TEST_CASE("of a full disk all are told who wait for the same pages to go there") {
  run_on_fake_disk(many_writers_at_the_limit);
}

TEST_CASE("a window on a segment tells that the disk is full, and loses no stores") {
  if (coracle::internals::test::available()) run_on_fake_disk(stores_and_no_room);
}

// --- a real one ---

namespace {

constexpr int kCannotMount = 77;

/// Room for all but `bytes` of a file system is taken.
bool fill_up(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const std::vector<char> block(4096, 'x');
  ssize_t written = 0;
  while ((written = ::write(fd, block.data(), block.size())) > 0) {
  }
  const bool full = written < 0 && errno == ENOSPC;
  ::close(fd);
  return full;
}

/// Steps that went well, for the status of the process.
Task<> use_small_file_system(Rank& self, std::string folder, int& steps) {
  const PagedOptions options = options_in(folder, 64 << 10);
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  if (!fill_up(folder + "/filler")) co_return;
  ++steps;
  co_await put_pages(segment, 0, kMark + 2, 1);
  const Result<> flushed = co_await as_result(segment.flush());
  if (flushed.code() != std::errc::no_space_on_device) co_return;
  ++steps;
  ::unlink((folder + "/filler").c_str());
  co_await segment.flush();
  co_await segment.close();
  PagedSegment again = co_await PagedSegment::open(self.world(), options);
  const std::uint64_t held = co_await pages_held(again, kMark + 2, 1);
  co_await again.close();
  if (held == kMark + 2) ++steps;
}

int status_on_small_file_system(const std::string& folder) {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("coracle-test", folder.c_str(), "tmpfs", 0, "size=4m") != 0)
    return kCannotMount;
  ::alarm(300);  // for a flush without an end
  int steps = 0;
  Job job;
  job.run(use_small_file_system(job.self, folder, steps));
  return steps;
}

}  // namespace

TEST_CASE("flush on a small file system that is full tells of it, and succeeds once there is room") {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int status = 100;
    try {
      status = status_on_small_file_system(folder.file(""));
    } catch (const std::exception& error) {
      std::fprintf(stderr, "on a small file system: %s\n", error.what());
    }
    ::_exit(status);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kCannotMount) {
    MESSAGE("SKIPPED: mounting a tmpfs needs root");
    return;
  }
  CHECK(WEXITSTATUS(status) == 3);
}

}  // namespace full_disk_test
