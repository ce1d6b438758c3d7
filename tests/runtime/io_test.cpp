// Io: files, streams and their errors; one suite over both back ends.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "runtime/core/combinators.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/scope.hpp"
#include "tests/runtime/io_fixture.hpp"

namespace io_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::test;
using namespace std::chrono_literals;

namespace {

Task<> random_file(Io& io, int fd, unsigned seed) {
  std::mt19937 random(seed);
  Bytes model(1 << 18);
  for (int i = 0; i < 60; ++i) {
    const std::size_t offset = random() % (model.size() - 20000);
    const Bytes part = random_bytes(random, 1 + random() % 20000);
    std::copy(part.begin(), part.end(), model.begin() + static_cast<std::ptrdiff_t>(offset));
    co_await write_all(io, fd, part, offset);
  }
  co_await write_all(io, fd, Bytes(1), model.size() - 1);
  model.back() = 0;
  co_await io.sync(fd);
  Bytes seen(model.size(), 0xee);
  co_await read_all(io, fd, seen, 0);
  CHECK(seen == model);
}

Task<> many_blocks(Scope& scope, Io& io, int fd, const std::vector<Bytes>& blocks) {
  for (std::size_t i = 0; i < blocks.size(); ++i) scope.spawn(write_all(io, fd, blocks[i], i * blocks[i].size()));
  CHECK(io.in_flight() > 0);
  co_return;
}
Task<> many_reads(Scope& scope, Io& io, int fd, std::vector<Bytes>& blocks) {
  for (std::size_t i = 0; i < blocks.size(); ++i) scope.spawn(read_all(io, fd, blocks[i], i * blocks[i].size()));
  co_return;
}
Task<> many_then_compare(Io& io, int fd, std::vector<Bytes>& blocks) {
  co_await with_scope(many_blocks, std::ref(io), fd, std::cref(blocks));
  std::vector<Bytes> seen(blocks.size(), Bytes(blocks.front().size()));
  co_await with_scope(many_reads, std::ref(io), fd, std::ref(seen));
  CHECK(seen == blocks);
}

}  // namespace

TEST_CASE_TEMPLATE("io: what is written at random offsets is read back", BackEnd, Uring, Epoll) {
  if (!can_run<BackEnd>()) return;
  LoopWith<BackEnd> with;
  CHECK(std::string(with.io().name()) == BackEnd::kName);
  const Fd file = temporary_file();
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  with.loop.run(random_file(with.io(), file, seed));
  CHECK(with.io().in_flight() == 0);
}

TEST_CASE_TEMPLATE("io: more requests than the ring holds are in flight at once", BackEnd, Uring, Epoll) {
  if (!can_run<BackEnd>()) return;
  LoopWith<BackEnd> with;
  const Fd file = temporary_file();
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::vector<Bytes> blocks;
  for (int i = 0; i < 2000; ++i) blocks.push_back(random_bytes(random, 512));
  with.loop.run(many_then_compare(with.io(), file, blocks));
  CHECK(with.io().in_flight() == 0);
}

namespace {

/// What of `transfers` went from or to pinned memory, and what should have.
Task<> through_kept_memory(Io& io, int fd) {
  constexpr std::size_t kBytes = 40 << 20;  // in several pieces
  constexpr std::size_t kBlock = 64 << 10;
  std::mt19937 random(5);
  Bytes memory(kBytes);
  auto* const begin = reinterpret_cast<std::byte*>(memory.data());
  const bool kept = io.keep_memory(begin, kBytes);
  const Bytes content = random_bytes(random, 3 * kBlock);
  co_await write_all(io, fd, content, 0);
  const std::uint64_t before = io.pinned_transfers();
  std::uint64_t transfers = 0;
  for (std::size_t offset = 0; offset + kBlock <= kBytes; offset += 4 << 20) {
    CHECK(co_await io.read(fd, memory.data() + offset, kBlock, kBlock) == kBlock);
    CHECK(std::equal(memory.begin() + static_cast<std::ptrdiff_t>(offset),
                     memory.begin() + static_cast<std::ptrdiff_t>(offset + kBlock), content.begin() + kBlock));
    CHECK(co_await io.write(fd, memory.data() + offset, kBlock, 3 * kBlock + offset) == kBlock);
    transfers += 2;
  }
  const std::uint64_t pinned = io.pinned_transfers() - before;
  CHECK(pinned == (kept ? transfers : 0));
  // Over the end of a piece, and beyond the memory: as ever.
  CHECK(co_await io.read(fd, memory.data() + (16 << 20) - kBlock / 2, kBlock, 0) == kBlock);
  CHECK(std::equal(content.begin(), content.begin() + kBlock, memory.begin() + (16 << 20) - kBlock / 2));
  Bytes elsewhere(kBlock);
  CHECK(co_await io.read(fd, elsewhere.data(), kBlock, 0) == kBlock);
  io.forget_memory(begin);
  CHECK(co_await io.read(fd, memory.data(), kBlock, 0) == kBlock);
  CHECK(std::equal(memory.begin(), memory.begin() + kBlock, content.begin()));
  CHECK(io.pinned_transfers() - before == pinned);
  // The same again, where the first has left its places.
  CHECK(io.keep_memory(begin, kBytes) == kept);
  CHECK(co_await io.read(fd, memory.data(), kBlock, kBlock) == kBlock);
  CHECK(io.pinned_transfers() - before == pinned + (kept ? 1 : 0));
  io.forget_memory(begin);
}

}  // namespace

TEST_CASE_TEMPLATE("io: memory that is kept for transfers is read and written as any other", BackEnd, Uring, Epoll) {
  if (!can_run<BackEnd>()) return;
  const Fd fd = temporary_file();
  LoopWith<BackEnd> with;
  with.loop.run(through_kept_memory(with.io(), fd));
}

namespace {

/// It is submitted, and not yet with the kernel, when its memory is forgotten.
Task<> read_and_forget(Scope& scope, Io& io, int fd, Bytes& memory) {
  auto* const begin = reinterpret_cast<std::byte*>(memory.data());
  io.keep_memory(begin, memory.size());
  scope.spawn(read_all(io, fd, memory, 0));
  io.forget_memory(begin);
  co_return;
}

}  // namespace

TEST_CASE_TEMPLATE("io: transfers that are under way reach memory that was forgotten", BackEnd, Uring, Epoll) {
  if (!can_run<BackEnd>()) return;
  const Fd fd = temporary_file();
  LoopWith<BackEnd> with;
  const Bytes ones(4096, 1);
  Bytes memory(4096);
  with.loop.run(write_all(with.io(), fd, ones, 0));
  const Failure failure =
      failure_of(with.loop, with_scope(read_and_forget, std::ref(with.io()), int{fd}, std::ref(memory)));
  CHECK(failure.text == "");
  CHECK(memory == ones);
}

namespace {

Task<> through_kept_file(Io& io, int fd, int other) {
  const Bytes ones(512, 1);
  const Bytes twos(512, 2);
  const std::uint64_t before = io.kept_file_transfers();
  const bool kept = io.keep_file(fd);
  co_await write_all(io, fd, ones, 0);
  co_await io.sync(fd);
  Bytes back(512);
  CHECK(co_await io.read(fd, back.data(), 512, 0) == 512);
  CHECK(back == ones);
  const std::uint64_t transfers = io.kept_file_transfers() - before;
  CHECK(transfers == (kept ? 2 : 0));
  // Another one has its place, and the first is as any other.
  io.forget_file(fd);
  io.forget_file(fd);
  CHECK(io.keep_file(other) == kept);
  co_await write_all(io, other, twos, 0);
  CHECK(co_await io.read(fd, back.data(), 512, 0) == 512);
  CHECK(back == ones);
  CHECK(co_await io.read(other, back.data(), 512, 0) == 512);
  CHECK(back == twos);
  CHECK(io.kept_file_transfers() - before == transfers + (kept ? 2 : 0));
  io.forget_file(other);
}

/// More than there is room for; the rest goes on without.
Task<> many_kept_files(Io& io, const std::deque<Fd>& files) {
  const Bytes ones(512, 1);
  for (const Fd& file : files) io.keep_file(file);
  for (const Fd& file : files) co_await write_all(io, file, ones, 0);
  Bytes back(512);
  for (const Fd& file : files) CHECK(co_await io.read(file, back.data(), 512, 0) == 512);
  for (const Fd& file : files) io.forget_file(file);
}

/// They are submitted, and some have not even reached the ring, when their file's place goes to another.
Task<> write_and_replace(Scope& scope, Io& io, int fd, int other, const std::vector<Bytes>& blocks) {
  io.keep_file(fd);
  for (std::size_t i = 0; i < blocks.size(); ++i) scope.spawn(write_all(io, fd, blocks[i], i * blocks[i].size()));
  io.forget_file(fd);
  io.keep_file(other);
  co_return;
}

/// Kernels look the file of a sync up late, in a thread of theirs.
Task<> sync_and_replace(Scope& scope, Io& io, int fd, int pipe) {
  io.keep_file(fd);
  scope.spawn(one_sync(io, fd));
  io.hand_over();
  io.forget_file(fd);
  io.keep_file(pipe);  // which can't be synced
  co_return;
}

}  // namespace

TEST_CASE_TEMPLATE("io: files that are kept are read and written as any other", BackEnd, Uring, Epoll) {
  if (!can_run<BackEnd>()) return;
  const Fd fd = temporary_file();
  const Fd other = temporary_file();
  std::deque<Fd> files;
  for (int i = 0; i < 100; ++i) files.emplace_back(::dup(temporary_file()));
  LoopWith<BackEnd> with;
  with.loop.run(through_kept_file(with.io(), fd, other));
  with.loop.run(many_kept_files(with.io(), files));
}

TEST_CASE_TEMPLATE("io: requests that are under way keep to their file when another takes its place", BackEnd, Uring,
                   Epoll) {
  if (!can_run<BackEnd>()) return;
  LoopWith<BackEnd> with;
  for (const std::size_t count : {1U, 3U, 600U}) {
    CAPTURE(count);
    const Fd fd = temporary_file();
    const Fd other = temporary_file();
    const std::vector<Bytes> blocks(count, Bytes(512, 1));
    with.loop.run(with_scope(write_and_replace, std::ref(with.io()), int{fd}, int{other}, std::cref(blocks)));
    CHECK(::lseek(fd, 0, SEEK_END) == static_cast<off_t>(512 * count));
    CHECK(::lseek(other, 0, SEEK_END) == 0);
    with.io().forget_file(other);
  }
  const Fd fd = temporary_file();
  const Pipe pipe;
  for (int i = 0; i < 200; ++i) {
    CAPTURE(i);
    const Failure failure =
        failure_of(with.loop, with_scope(sync_and_replace, std::ref(with.io()), int{fd}, int{pipe.in}));
    REQUIRE(failure.text == "");
    with.io().forget_file(pipe.in);
  }
}

TEST_CASE_TEMPLATE("io: a read is short at the end of the file, and nothing beyond it", BackEnd, Uring, Epoll) {
  if (!can_run<BackEnd>()) return;
  LoopWith<BackEnd> with;
  const Fd file = temporary_file();
  const Bytes hundred(100, 7);
  with.loop.run(write_all(with.io(), file, hundred, 0));
  Bytes buffer(4096);
  std::size_t count = 99;
  with.loop.run(one_read(with.io(), file, buffer, 60, count));
  CHECK(count == 40);
  with.loop.run(one_read(with.io(), file, buffer, 100, count));
  CHECK(count == 0);
}

TEST_CASE_TEMPLATE("io: without an offset a file's own position is used and moved", BackEnd, Uring, Epoll) {
  if (!can_run<BackEnd>()) return;
  LoopWith<BackEnd> with;
  const Fd file = temporary_file();
  const Bytes five{1, 2, 3, 4, 5};
  with.loop.run(write_all(with.io(), file, five, kNoOffset));
  CHECK(::lseek(file, 0, SEEK_CUR) == 5);
  REQUIRE(::lseek(file, 2, SEEK_SET) == 2);
  Bytes buffer(2);
  std::size_t count = 0;
  with.loop.run(one_read(with.io(), file, buffer, kNoOffset, count));
  CHECK(count == 2);
  CHECK(buffer == Bytes{3, 4});
}

TEST_CASE_TEMPLATE("io: errors name the verb, the descriptor, its file, the offset and the bytes", BackEnd, Uring,
                   Epoll) {
  if (!can_run<BackEnd>()) return;
  LoopWith<BackEnd> with;
  Bytes buffer(64);
  std::size_t count = 0;
  int woken = 0;
  Failure failure = failure_of(with.loop, one_read(with.io(), 987654, buffer, 12, count));
  CHECK(failure.code == std::errc::bad_file_descriptor);
  CHECK(failure.text == "read of 64 bytes at offset 12, descriptor 987654 (not open), failed: Bad file descriptor");
  CHECK(failure_of(with.loop, one_read(with.io(), -1, buffer, kNoOffset, count)).code ==
        std::errc::bad_file_descriptor);
  CHECK(failure_of(with.loop, one_sync(with.io(), 987654)).code == std::errc::bad_file_descriptor);
  CHECK(failure_of(with.loop, until_readable(with.io(), 987654, woken)).code == std::errc::bad_file_descriptor);

  const Fd folder(::open("/proc", O_RDONLY | O_CLOEXEC));  // an emulator may put its own in /usr's place
  failure = failure_of(with.loop, one_read(with.io(), folder, buffer, 0, count));
  CHECK(failure.code == std::errc::is_a_directory);
  CHECK(failure.text.find("(/proc)") != std::string::npos);

  const Fd file = temporary_file();
  failure = failure_of(with.loop, one_read(with.io(), file, buffer, std::uint64_t{1} << 63, count));
  CHECK(failure.code == std::errc::invalid_argument);
  const Pipe pipe;
  failure = failure_of(with.loop, one_sync(with.io(), pipe.out));
  CHECK(failure.code == std::errc::invalid_argument);
  CHECK(failure.text.find("sync, descriptor") == 0);
  CHECK(with.io().in_flight() == 0);
}

namespace {

Task<> ping(Io& io, const Pipe& pipe, int& woken) {
  for (int i = 0; i < 3; ++i) co_await yield();
  CHECK(woken == 0);
  const Bytes one(1);
  co_await write_all(io, pipe.in, one, kNoOffset);
}

Task<> answer(Io& io, int fd, Bytes& seen) {
  const Bytes one{1}, two{2};
  for (int i = 0; i < 3; ++i) co_await yield();
  co_await write_all(io, fd, one, kNoOffset);
  co_await sleep_for(1ms);  // for the first reader to have taken its byte
  co_await write_all(io, fd, two, kNoOffset);
  co_await read_all(io, fd, seen, kNoOffset);
}

Task<> drain(Io& io, int fd, Bytes& seen) {
  Bytes buffer(10000);
  for (;;) {
    const std::size_t count = co_await io.read(fd, buffer.data(), buffer.size(), kNoOffset);
    if (count == 0) co_return;
    seen.insert(seen.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(count));
  }
}
Task<> write_and_close(Io& io, Fd& fd, const Bytes& bytes) {
  co_await write_all(io, fd, bytes, kNoOffset);
  fd.close();
}

template <class BackEnd>
void stream_through(Fd& out, Fd& in) {
  LoopWith<BackEnd> with;
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const Bytes sent = random_bytes(random, 1 << 20);
  Bytes seen;
  auto both = [](Io& io, int from, Fd& to, const Bytes& bytes, Bytes& result) -> Task<> {
    co_await when_all(drain(io, from, result), write_and_close(io, to, bytes));
  };
  with.loop.run(both(with.io(), out, in, sent, seen));
  CHECK(seen == sent);
}

}  // namespace

TEST_CASE_TEMPLATE("io: wait_readable ends when another writes, wait_writable when there is room", BackEnd, Uring,
                   Epoll) {
  if (!can_run<BackEnd>()) return;
  LoopWith<BackEnd> with;
  const Pipe pipe;
  int woken = 0;
  auto three = [](Io& io, const Pipe& ends, int& count) -> Task<> {
    co_await when_all(until_readable(io, ends.out, count), until_readable(io, ends.out, count), ping(io, ends, count));
  };
  with.loop.run(three(with.io(), pipe, woken));
  CHECK(woken == 2);
  with.loop.run(until_writable(with.io(), pipe.in, woken));
  CHECK(woken == 3);
  const Fd file = temporary_file();  // always ready
  with.loop.run(until_readable(with.io(), file, woken));
  with.loop.run(until_writable(with.io(), file, woken));
  CHECK(woken == 5);
  CHECK(with.io().in_flight() == 0);
}

TEST_CASE_TEMPLATE("io: several wait for one descriptor, to read and to write", BackEnd, Uring, Epoll) {
  if (!can_run<BackEnd>()) return;
  LoopWith<BackEnd> with;
  std::array<int, 2> ends{-1, -1};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const Fd left(ends[0]), right(ends[1]);
  Bytes first(1), second(1);
  const Bytes much(1 << 20, 9);  // more than the socket holds: waits beside the readers
  Bytes seen(much.size());
  auto all = [](Io& io, int near, int far, Bytes& one, Bytes& two, const Bytes& sent, Bytes& got) -> Task<> {
    co_await when_all(read_all(io, near, one, kNoOffset), read_all(io, near, two, kNoOffset),
                      write_all(io, near, sent, kNoOffset), answer(io, far, got));
  };
  with.loop.run(all(with.io(), left, right, first, second, much, seen));
  CHECK(first[0] + second[0] == 3);
  CHECK(seen == much);
}

TEST_CASE_TEMPLATE("io: a megabyte goes through pipes and sockets, blocking or not", BackEnd, Uring, Epoll) {
  if (!can_run<BackEnd>()) return;
  for (const int flags : {0, O_NONBLOCK}) {
    CAPTURE(flags);
    Pipe pipe(flags);
    stream_through<BackEnd>(pipe.out, pipe.in);
    std::array<int, 2> ends{-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (flags != 0 ? SOCK_NONBLOCK : 0), 0, ends.data()) == 0);
    Fd left(ends[0]), right(ends[1]);
    stream_through<BackEnd>(left, right);
  }
}

TEST_CASE_TEMPLATE("io: terminals can be read and written", BackEnd, Uring, Epoll) {
  if (!can_run<BackEnd>()) return;
  LoopWith<BackEnd> with;
  const Fd leader(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(::unlockpt(leader) == 0);
  std::array<char, 64> name{};
  REQUIRE(::ptsname_r(leader, name.data(), name.size()) == 0);
  const Fd terminal(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  Bytes line(3);
  const Bytes sent{'h', 'i', '\n'};
  auto both = [](Io& io, int from, int to, const Bytes& bytes, Bytes& result) -> Task<> {
    co_await when_all(read_all(io, from, result, kNoOffset), write_all(io, to, bytes, kNoOffset));
  };
  with.loop.run(both(with.io(), terminal, leader, sent, line));
  CHECK(line == sent);
}

}  // namespace io_test
