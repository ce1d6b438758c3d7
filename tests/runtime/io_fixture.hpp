// What the tests of Io share: loops with either back end, descriptors that close themselves, and small tasks.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/event_loop.hpp"
#include "runtime/core/io.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals::test {

struct Uring {
  static constexpr const char* kWish = "io_uring";
  static constexpr const char* kName = "io_uring";
};
struct Epoll {
  static constexpr const char* kWish = "epoll";
  static constexpr const char* kName = "epoll and threads";
};

/// False where the kernel refuses io_uring; says so.
template <class BackEnd>
bool can_run() {
  if (std::string(BackEnd::kWish) == "epoll") return true;
  const IoSupport support = probe_io();
  if (!support.available) MESSAGE("skipped: ", support.reason, "; ", support.remedy);
  return support.available;
}

/// A loop with the wished back end that goes to sleep soon.
template <class BackEnd>
struct LoopWith {
  LoopWith() {
    ::setenv("CORACLE_IO", BackEnd::kWish, 1);
    loop.io();
    ::unsetenv("CORACLE_IO");
    loop.set_idle_policy({.spins = 3, .yields = 1, .lingers = 0});
  }
  Io& io() { return loop.io(); }
  EventLoop loop;
};

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) { REQUIRE(fd >= 0); }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { close(); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  operator int() const { return fd_; }

 private:
  int fd_;
};

inline Fd temporary_file() {
  std::string path = (std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "/tmp") + std::string("/io-XXXXXX");
  const int fd = ::mkostemp(path.data(), O_CLOEXEC);
  ::unlink(path.c_str());
  return Fd(fd);
}

struct Pipe {
  explicit Pipe(int flags = 0) : Pipe(ends(flags)) {}
  Fd out, in;

 private:
  static std::array<int, 2> ends(int flags) {
    std::array<int, 2> fds{-1, -1};
    REQUIRE(::pipe2(fds.data(), O_CLOEXEC | flags) == 0);
    return fds;
  }
  explicit Pipe(std::array<int, 2> fds) : out(fds[0]), in(fds[1]) {}
};

using Bytes = std::vector<unsigned char>;

inline Bytes random_bytes(std::mt19937& random, std::size_t count) {
  Bytes bytes(count);
  for (auto& byte : bytes) byte = static_cast<unsigned char>(random());
  return bytes;
}

inline Task<> write_all(Io& io, int fd, const Bytes& bytes, std::uint64_t offset) {
  for (std::size_t done = 0; done < bytes.size();)
    done +=
        co_await io.write(fd, bytes.data() + done, bytes.size() - done, offset == kNoOffset ? offset : offset + done);
}

inline Task<> read_all(Io& io, int fd, Bytes& bytes, std::uint64_t offset) {
  for (std::size_t done = 0; done < bytes.size();) {
    const std::size_t count =
        co_await io.read(fd, bytes.data() + done, bytes.size() - done, offset == kNoOffset ? offset : offset + done);
    REQUIRE(count > 0);
    done += count;
  }
}

inline Task<> one_read(Io& io, int fd, Bytes& bytes, std::uint64_t offset, std::size_t& count) {
  count = co_await io.read(fd, bytes.data(), bytes.size(), offset);
}
inline Task<> one_sync(Io& io, int fd) {
  co_await io.sync(fd);
}
inline Task<> until_readable(Io& io, int fd, int& woken) {
  co_await io.wait_readable(fd);
  ++woken;
}
inline Task<> until_writable(Io& io, int fd, int& woken) {
  co_await io.wait_writable(fd);
  ++woken;
}

/// Runs `task` and returns its error's code and text.
inline Task<> catching(Task<> task, std::error_code& code, std::string& text) {
  try {
    co_await task;
  } catch (const Error& error) {
    code = error.code();
    text = error.what();
  }
}

struct Failure {
  std::error_code code;
  std::string text;
};
inline Failure failure_of(EventLoop& loop, Task<> task) {
  Failure failure;
  loop.run(catching(std::move(task), failure.code, failure.text));
  return failure;
}

}  // namespace coracle::internals::test

TYPE_TO_STRING(coracle::internals::test::Uring);
TYPE_TO_STRING(coracle::internals::test::Epoll);
