// A store's file where it can't be had: made anew over what a crash has left, larger than memory has room for, beyond
// the process's limit of file sizes.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "runtime/core/event.hpp"
#include "storage/store/store_file.hpp"
#include "storage/store/store_format.hpp"
#include "tests/sanitized.hpp"
#include "tests/storage/store_fixture.hpp"

namespace store_limits_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::storage;
using namespace coracle::internals::test;

namespace {

/// Calls `body` in a process of its own, which gives its status.
template <class Body>
int status_of_child(Body body) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int status = 100;
    try {
      status = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "the child: %s\n", error.what());
    }
    ::_exit(status);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

/// A store of so many pages, of which nothing was ever written.
void make_sparse(const std::string& path, std::uint64_t pages) {
  const Superblock superblock{StoreShape{.page_bytes = 4096, .pages = pages}, 1, 64 << 10};
  std::vector<std::byte> head(StorePlan::log_at());
  write_superblock(BlockSpan(head.data(), kBlockBytes), superblock);
  const Manifest manifest{1, {}, {}, {}, 0};
  write_manifest(BlockSpan(head.data() + StorePlan::manifest_at(0), kBlockBytes), superblock.file_id, manifest);
  const coracle::internals::test::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(::write(file, head.data(), head.size()) == static_cast<ssize_t>(head.size()));
  REQUIRE(::ftruncate(file, static_cast<off_t>(StorePlan(superblock).data_at)) == 0);
}

constexpr int kNoLimit = 1;  ///< Memory can't be made scarce here.

/// 0 when checking and opening say in words that memory is not enough.
int use_without_memory(const std::string& path) {
  EventLoop loop;
  const rlimit limit{1 << 30, 1 << 30};
  rlimit set{};
  if (::setrlimit(RLIMIT_AS, &limit) != 0 || ::getrlimit(RLIMIT_AS, &set) != 0) return kNoLimit;
  if (set.rlim_cur != limit.rlim_cur) return kNoLimit;  // an emulator has need of memory for itself
  StoreReport unused;
  std::unique_ptr<PageStore> store;
  for (const auto& failure : {failure_of(loop, check(loop.io(), path, unused)),
                              failure_of(loop, open_store(loop.io(), path, PageStore::kLatest, store))})
    if (failure.code != std::errc::not_enough_memory || failure.text.find("some 4097 MiB") == std::string::npos)
      return 2;
  return 0;
}

}  // namespace

TEST_CASE("store: a file that claims more pages than memory has room for is refused in words") {
  if (test::kSanitized) return;  // their memory has no limit
  const TemporaryFolder folder;
  make_sparse(folder.file("home.0"), std::uint64_t{1} << 28);
  const int status = status_of_child([&] { return use_without_memory(folder.file("home.0")); });
  if (status == kNoLimit)
    MESSAGE("SKIPPED: limits of memory (ulimit -v) are without effect here");
  else
    CHECK(status == 0);
}

namespace {

void expect_whole(StoreFixture& fixture, const std::string& path) {
  StoreReport found;
  fixture.loop.run(check(fixture.loop.io(), path, found));
  CHECK(found.faults.empty());
  CHECK(found.pages_written == 28);
}

}  // namespace

TEST_CASE_FIXTURE(StoreFixture, "store: creation harms no store that an interrupted one has left a second name") {
  const std::string fresh = folder.file("fresh.0");
  const std::string moved = folder.file("moved.0");
  const StoreShape shape{.page_bytes = 4096, .pages = 10};
  // As a crash between the two names leaves it, and somebody who then moves the store away.
  REQUIRE(::link(path.c_str(), (fresh + ".new").c_str()) == 0);
  std::filesystem::rename(path, moved);
  CHECK(failure_of(loop, create_store(loop.io(), fresh, shape, false, store)).text == "");
  loop.run(store->close());
  expect_whole(*this, moved);
  CHECK(!std::filesystem::exists(fresh + ".new"));
  // Also while that one is in use.
  REQUIRE(::link(moved.c_str(), (fresh + ".new").c_str()) == 0);
  std::unique_ptr<PageStore> used;
  loop.run(open_store(loop.io(), moved, PageStore::kLatest, used));
  CHECK(failure_of(loop, create_store(loop.io(), fresh, shape, true, store)).text == "");
  loop.run(store->close());
  loop.run(used->close());
  expect_whole(*this, moved);
}

TEST_CASE_FIXTURE(StoreFixture, "store: what an interrupted creation has left is told of and used up by the next") {
  const std::string fresh = folder.file("fresh.0");
  { const coracle::internals::test::Fd file(::open((fresh + ".new").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)); }
  mentions(failure_of(loop, open_store(loop.io(), fresh, PageStore::kLatest, store)).text,
           fresh + ".new is there: its creation was interrupted");
  const StoreShape shape{.page_bytes = 4096, .pages = 10};
  CHECK(failure_of(loop, create_store(loop.io(), fresh, shape, false, store)).text == "");
  loop.run(store->close());
  CHECK(!std::filesystem::exists(fresh + ".new"));
}

namespace {

/// A file that is not the store's matter.
void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}
std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE_FIXTURE(StoreFixture, "store: a symbolic link under the name of an unfinished one is told of, not followed") {
  bool target_exists = false;
  SUBCASE("to a file") {
    target_exists = true;
  }
  SUBCASE("to nothing") {}
  const std::string fresh = folder.file("fresh.0");
  const std::string planted = fresh + ".new";
  const std::string target = folder.file("target");
  const StoreShape shape{.page_bytes = 4096, .pages = 10};
  if (target_exists) write_file(target, "of somebody");
  std::filesystem::create_symlink(target, planted);
  for (const bool replace : {false, true}) {
    const auto failure = failure_of(loop, create_store(loop.io(), fresh, shape, replace, store));
    mentions(failure.text, planted);
    mentions(failure.text, "symbolic link");
  }
  CHECK(std::filesystem::is_symlink(planted));
  CHECK(std::filesystem::exists(target) == target_exists);
  if (target_exists) CHECK(content_of(target) == "of somebody");
  CHECK(!std::filesystem::exists(fresh));
  std::filesystem::remove(planted);
  CHECK(failure_of(loop, create_store(loop.io(), fresh, shape, false, store)).text == "");
  loop.run(store->close());
}

TEST_CASE_FIXTURE(StoreFixture,
                  "store: a second name of a file of others, under that of an unfinished one, harms it not") {
  const std::string fresh = folder.file("fresh.0");
  const std::string target = folder.file("target");
  write_file(target, "of somebody");
  REQUIRE(::link(target.c_str(), (fresh + ".new").c_str()) == 0);
  const StoreShape shape{.page_bytes = 4096, .pages = 10};
  CHECK(failure_of(loop, create_store(loop.io(), fresh, shape, false, store)).text == "");
  loop.run(store->close());
  CHECK(content_of(target) == "of somebody");
  CHECK(!std::filesystem::exists(fresh + ".new"));
}

TEST_CASE_FIXTURE(StoreFixture,
                  "store: who has opened what lies under the name of an unfinished one sees nothing of it") {
  const std::string fresh = folder.file("fresh.0");
  write_file(fresh + ".new", "left over");
  const coracle::internals::test::Fd held(::open((fresh + ".new").c_str(), O_RDWR | O_CLOEXEC));
  const StoreShape shape{.page_bytes = 4096, .pages = 10};
  CHECK(failure_of(loop, create_store(loop.io(), fresh, shape, false, store)).text == "");
  loop.run(store->close());
  struct stat left {};
  REQUIRE(::fstat(held, &left) == 0);
  CHECK(left.st_size == 9);
  CHECK(left.st_nlink == 0);
}

TEST_CASE_FIXTURE(StoreFixture, "store: a file of another user under the name of an unfinished one is told of") {
  if (::geteuid() != 0) {
    MESSAGE("SKIPPED: giving a file away needs root");
    return;
  }
  const std::string fresh = folder.file("fresh.0");
  write_file(fresh + ".new", "of another");
  if (::chown((fresh + ".new").c_str(), 12345, 12345) != 0) {
    MESSAGE("SKIPPED: root of a container that has no user 12345 to give a file to");
    return;
  }
  const StoreShape shape{.page_bytes = 4096, .pages = 10};
  mentions(failure_of(loop, create_store(loop.io(), fresh, shape, false, store)).text, "another user (number 12345)");
  CHECK(content_of(fresh + ".new") == "of another");
}

TEST_CASE_FIXTURE(StoreFixture, "store: paths that the kernel would cut short are refused") {
  const std::string cut = folder.file(std::string("fresh\0.0", 8));
  const StoreShape shape{.page_bytes = 4096, .pages = 10};
  mentions(failure_of(loop, create_store(loop.io(), cut, shape, false, store)).text, "has a NUL");
  CHECK(!std::filesystem::exists(folder.file("fresh")));
  StoreReport unused;
  const std::string other = path + std::string("\0x", 2);
  mentions(failure_of(loop, open_store(loop.io(), other, PageStore::kLatest, store)).text, "has a NUL");
  mentions(failure_of(loop, look(loop.io(), other)).text, "has a NUL");
  mentions(failure_of(loop, check(loop.io(), other, unused)).text, "has a NUL");
}

namespace {

/// In a process that may not write beyond `limit`: 0 when all went as it should.
int write_under_limit(const std::string& path, rlim_t limit) {
  EventLoop loop;
  std::unique_ptr<PageStore> store;
  loop.run(create_store(loop.io(), path, StoreShape{.page_bytes = 65536, .pages = 4000}, false, store));
  for (std::uint64_t page = 0; page < 10; ++page) loop.run(write_page(*store, page));
  loop.run(store->flush());
  const rlimit wanted{limit, RLIM_INFINITY};
  if (::setrlimit(RLIMIT_FSIZE, &wanted) != 0) return 2;
  std::uint64_t page = 0;
  coracle::internals::test::Failure failure;
  for (; page < 4000 && !failure.code; ++page) failure = failure_of(loop, write_page(*store, page));
  const bool told = failure.code == std::errc::file_too_large && failure.text.find("ulimit -f") != std::string::npos &&
                    failure.text.find(path) != std::string::npos;
  if (!told) return 3;
  if (!failure_of(loop, read_page(*store, 5)).text.empty()) return 4;
  loop.run(store->close());
  return 0;
}

}  // namespace

TEST_CASE("store: a limit of file sizes is an error and does not kill the process") {
  for (const rlim_t limit : {rlim_t{8} << 20, rlim_t{64} << 10}) {
    const TemporaryFolder folder;
    CHECK(status_of_child([&] { return write_under_limit(folder.file("home.0"), limit); }) == 0);
  }
}

TEST_CASE_FIXTURE(StoreFixture, "store: a file that was closed can be opened again at once") {
  const StoreImage image(path);
  for (int round = 0; round < (test::kSanitized ? 20 : 100); ++round) {
    CAPTURE(round);
    image.save();  // through the kernel's cache, so that the first read has to wait for it in a thread of the kernel
    StoreReport unused;
    REQUIRE(failure_of(loop, check(loop.io(), path, unused)).text == "");
    REQUIRE(failure_of(loop, look(loop.io(), path)).text == "");
    REQUIRE(open_error() == "");
    loop.run(store->close());
  }
}

namespace {

/// Notes which files are kept.
class KeepingIo final : public Io {
 public:
  bool no_memory = false;
  std::multiset<int> kept;

  bool keep_file(int fd) override {
    if (no_memory) throw std::bad_alloc();
    kept.insert(fd);
    return true;
  }
  void forget_file(int fd) noexcept override { CHECK(kept.erase(fd) == 1); }

  const char* name() const noexcept override { return "no device"; }
  std::size_t in_flight() const noexcept override { return 0; }
  void submit(IoRequest& request) noexcept override { request.finish(-EIO); }
  void stop(IoRequest&) noexcept override {}
  void wake_on(int) override {}
  void forget(int) noexcept override {}
  void sleep(std::optional<std::uint64_t>) noexcept override {}
  bool poll() noexcept override { return false; }
};

/// That the next file will have.
int next_descriptor() {
  const coracle::internals::test::Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return fd;
}

Task<> nap() {
  co_await sleep_for(std::chrono::milliseconds(5));
}

/// Whether any description of it is open but this one's.
bool is_open_elsewhere(const std::string& path) {
  const coracle::internals::test::Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (::fcntl(fd, F_SETLEASE, F_WRLCK) == 0) return false;
  REQUIRE(errno == EAGAIN);
  return true;
}

}  // namespace

TEST_CASE("store: its file is kept open for requests as long as it is open, also when moved") {
  const TemporaryFolder folder;
  KeepingIo io;
  {
    StoreFile file(io, folder.file("home.0"), StoreFile::Use::create);
    CHECK(io.kept == std::multiset<int>{file.fd()});
    StoreFile moved(std::move(file));
    CHECK(io.kept == std::multiset<int>{moved.fd()});
  }
  CHECK(io.kept.empty());
  StoreFile closed(io, folder.file("home.0"), StoreFile::Use::write);
  closed.close();
  CHECK(io.kept.empty());
}

TEST_CASE("store: a file that no memory is left for leaves no descriptor behind") {
  const TemporaryFolder folder;
  KeepingIo io;
  io.no_memory = true;
  const int next = next_descriptor();
  CHECK_THROWS_AS(StoreFile(io, folder.file("home.0"), StoreFile::Use::create), std::bad_alloc);
  CHECK(next_descriptor() == next);
}

TEST_CASE_FIXTURE(StoreFixture, "store: nothing has a file open that was closed") {
  REQUIRE(open_error() == "");
  loop.run(write_page(*store, 1));
  loop.run(read_page(*store, 1));
  CHECK(is_open_elsewhere(path));
  loop.run(store->close());
  // Up to a second later, by old kernels.
  for (int i = 0; i < 1000 && is_open_elsewhere(path); ++i) loop.run(nap());
  CHECK_FALSE(is_open_elsewhere(path));
}

}  // namespace store_limits_test
