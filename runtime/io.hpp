// Io: files and descriptors of one loop, awaited. io_uring where the kernel allows it; else epoll for descriptors and a
// few threads for files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/event_loop.hpp"
#include "runtime/waiter.hpp"

namespace coracle {

/// One request to a file or descriptor, awaited: `std::size_t n = co_await io.read(fd, buffer, bytes, offset);`
/// It lives in the awaiting frame; the buffer belongs to it until it has finished, also after cancellation.
class IoRequest final : public Waiter {
 public:
  enum class Verb : std::uint8_t { read, write, sync, wait_readable, wait_writable };

  IoRequest(class Io& io, Verb verb, int fd, void* buffer, std::size_t bytes, std::uint64_t offset) noexcept;

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    return suspend(self, true) && start();
  }
  /// Bytes transferred (may be short, as from the system call); throws Error with the errno and what was asked.
  std::size_t await_resume() const;

  Verb verb() const noexcept { return verb_; }
  int fd() const noexcept { return fd_; }
  void* buffer() const noexcept { return buffer_; }
  std::size_t bytes() const noexcept { return bytes_; }
  std::uint64_t offset() const noexcept { return offset_; }

  /// For the back ends: `result` as a system call's: bytes, or minus errno.
  void finish(long result) noexcept;

 private:
  bool start() noexcept;
  void cancel(std::error_code reason) noexcept override;

  class Io& io_;
  void* buffer_;
  std::size_t bytes_;
  std::uint64_t offset_;
  int fd_;
  Verb verb_;
  std::size_t done_bytes_ = 0;
};

class Io : public Poller {
 public:
  IoRequest read(int fd, void* buffer, std::size_t bytes, std::uint64_t offset) noexcept {
    return {*this, IoRequest::Verb::read, fd, buffer, bytes, offset};
  }
  IoRequest write(int fd, const void* buffer, std::size_t bytes, std::uint64_t offset) noexcept {
    return {*this, IoRequest::Verb::write, fd, const_cast<void*>(buffer), bytes, offset};
  }
  /// fdatasync.
  IoRequest sync(int fd) noexcept { return {*this, IoRequest::Verb::sync, fd, nullptr, 0, 0}; }
  IoRequest wait_readable(int fd) noexcept { return {*this, IoRequest::Verb::wait_readable, fd, nullptr, 0, 0}; }
  IoRequest wait_writable(int fd) noexcept { return {*this, IoRequest::Verb::wait_writable, fd, nullptr, 0, 0}; }

  /// "io_uring" or "epoll and threads".
  virtual const char* name() const noexcept = 0;
  /// Requests that the kernel or a thread still holds.
  virtual std::size_t in_flight() const noexcept = 0;
  /// Takes the request; it finishes later through poll(). When the back end is full it is queued inside.
  virtual void submit(IoRequest& request) noexcept = 0;
  /// Asks the request to end early; it still finishes through poll().
  virtual void stop(IoRequest& request) noexcept = 0;
  /// Sleeps until a completion, a ring of the loop's doorbell (which must have been announced with kOnEventFd), or the
  /// timeout.
  virtual void sleep(std::optional<std::uint64_t> timeout_ns) noexcept = 0;
};

/// io_uring if the kernel allows it (and CORACLE_IO is not "epoll"), else the fallback.
std::unique_ptr<Io> make_io(EventLoop& loop);
/// Each by itself, for tests; make_uring_io returns null where io_uring is refused.
std::unique_ptr<Io> make_uring_io(EventLoop& loop);
std::unique_ptr<Io> make_epoll_io(EventLoop& loop);

}  // namespace coracle
