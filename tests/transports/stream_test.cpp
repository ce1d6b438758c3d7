// Streams: when they end their side.
#include "transports/tcp/stream.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "runtime/core/event.hpp"
#include "runtime/core/scope.hpp"
#include "tests/runtime/io_fixture.hpp"
#include "transports/tcp/ready_stream.hpp"
#include "transports/tcp/uring_stream.hpp"

namespace stream_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::tcp;
using namespace std::chrono_literals;

namespace {

std::atomic<int> sends_without_memory = 0;

}  // namespace

/// In place of the C library's: so that the system can lack memory at will.
extern "C" ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  if (sends_without_memory > 0) {
    --sends_without_memory;
    errno = ENOBUFS;
    return -1;
  }
  return ::syscall(SYS_sendmsg, fd, message, flags);
}

namespace {

/// Has something to send when it is told to.
struct StreamWriter final : StreamUser {
  void received(std::span<const std::byte>) noexcept override {}
  std::span<std::byte> landing() const noexcept override { return {}; }
  void landed(std::size_t) noexcept override {}
  bool wants_input() const noexcept override { return true; }
  Outbox& outbox() noexcept override { return bytes; }
  bool output_over() const noexcept override { return over; }
  void drained() noexcept override {}
  void ended(std::error_code error) noexcept override { failure = error; }

  Outbox bytes;
  bool over = false;
  std::error_code failure;
};

/// What a peer sees: "nothing", "bytes" or "end".
std::string seen_at(int fd) {
  std::array<std::byte, 64> bytes;
  const ssize_t count = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN ? "nothing" : "error";
  return count == 0 ? "end" : "bytes";
}

Task<> some_turns(UringDriver* driver) {
  for (int turn = 0; turn < 20; ++turn) {
    if (driver != nullptr) driver->poll();
    co_await sleep_for(100us);
  }
}

Task<> use_stream(Scope& scope, Io& io, UringDriver* driver, int fd, int peer) {
  StreamWriter writer;
  std::unique_ptr<Stream> stream;
  if (driver != nullptr)
    stream = std::make_unique<UringStream>(*driver, writer, fd);
  else
    stream = std::make_unique<ReadyStream>(io, scope, writer, fd);
  stream->output_ready();
  co_await some_turns(driver);
  CHECK(seen_at(peer) == "nothing");  // what is to come may wait somewhere else
  sends_without_memory = 3;           // which says nothing of the connection
  writer.bytes.copy(std::as_bytes(std::span("goodbye")));
  writer.over = true;
  stream->output_ready();
  co_await some_turns(driver);
  CHECK(seen_at(peer) == "bytes");
  CHECK(seen_at(peer) == "end");
  CHECK_FALSE(writer.failure);
  sends_without_memory = 0;
  stream->close(false);
  co_await some_turns(driver);
  CHECK(stream->idle());
}

}  // namespace

TEST_CASE_TEMPLATE(
    "tcp streams: the end comes when the output is over, not when nothing is there, or no memory to send it", BackEnd,
    internals::test::Uring, internals::test::Epoll) {
  if (!internals::test::can_run<BackEnd>()) return;
  internals::test::LoopWith<BackEnd> setting;
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  const internals::test::Fd peer(ends[1]);
  UringPort* port = setting.io().uring();
  const auto driver = port != nullptr ? UringDriver::create(*port, 0) : nullptr;
  setting.loop.run(with_scope(use_stream, std::ref(setting.io()), driver.get(), ends[0], static_cast<int>(peer)));
}

}  // namespace stream_test
