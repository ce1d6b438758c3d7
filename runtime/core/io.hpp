// Io: files and descriptors of one loop, awaited. io_uring where the kernel allows it; else epoll for descriptors and a
// few threads for files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/core/doorbell.hpp"
#include "runtime/core/loop_gate.hpp"
#include "runtime/core/scheduler.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/core/std_parts.hpp"

namespace coracle::internals {

class UringPort;

/// The offset of descriptors that have none (pipes, sockets, terminals); on a file it means the file's own position.
/// Such a read or write waits until the descriptor is ready, whether or not it has O_NONBLOCK. With any other offset
/// the descriptor must be a file or block device.
inline constexpr std::uint64_t kNoOffset = ~std::uint64_t{0};

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
  /// Bytes transferred: as from the system call they may be fewer than asked (0: end of file); 0 for the other verbs.
  /// Throws Error with the errno and what was asked of which file; after cancellation with the reason of that.
  std::size_t await_resume() const;

  WaitDetail detail() const noexcept override {
    return {verb_ >= Verb::wait_readable ? WaitKind::readiness : WaitKind::io};
  }
  Verb verb() const noexcept { return verb_; }
  int fd() const noexcept { return fd_; }
  void* buffer() const noexcept { return buffer_; }
  std::size_t bytes() const noexcept { return bytes_; }
  std::uint64_t offset() const noexcept { return offset_; }

  /// For the back ends: `result` as a system call's: bytes, or minus errno. Queues the coroutine. Loop's thread only.
  void finish(std::int64_t result) noexcept;

  /// What a back end notes about a request that it holds.
  struct Note {
    IoRequest* next = nullptr;
    IoRequest* previous = nullptr;
    std::int64_t result = 0;
    std::uint8_t stage = 0;
    bool with_threads = false;  ///< Still in the queue of FileThreads; guarded by its lock.
  };
  Note& note() noexcept { return note_; }

 private:
  bool start() noexcept;
  void cancel(std::error_code reason) noexcept override;
  std::string describe() const;

  class Io& io_;
  void* buffer_;
  std::size_t bytes_;
  std::uint64_t offset_;
  int fd_;
  Verb verb_;
  std::size_t done_bytes_ = 0;
  std::error_code cancelled_;
  Note note_;
};

/// Made by the loop's thread and used by it alone. Nothing may be in flight when it ends.
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
  /// Requests that have not finished (with the kernel, with a thread, or queued inside), and descriptors to wake on.
  virtual std::size_t in_flight() const noexcept = 0;
  /// Takes the request, without limit: when the kernel's queue is full it waits inside. It may reach the kernel as late
  /// as the next poll() or sleep(), many in one system call; the loop calls one of them after every turn.
  virtual void submit(IoRequest& request) noexcept = 0;
  /// Hands what was submitted to the kernel now: for who keeps the loop busy for long after it.
  virtual void hand_over() noexcept {}
  /// Asks a submitted request to end early. What is under way drains: it finishes with ECANCELED or with its result,
  /// and until then its buffer is in use.
  virtual void stop(IoRequest& request) noexcept = 0;
  /// From now on sleep() also ends while `fd` is readable, until forget(fd): for pollers that look at a descriptor of
  /// their own in poll(). They must leave nothing to read behind, or the loop never sleeps.
  virtual void wake_on(int fd) = 0;
  virtual void forget(int fd) noexcept = 0;
  /// Sleeps until a completion, a ring of the loop's doorbell (which must have been announced with kOnEventFd), or the
  /// timeout.
  virtual void sleep(std::optional<std::uint64_t> timeout_ns) noexcept = 0;
  /// Transfers from and to this memory will be many: the kernel may keep it pinned (io_uring's registered buffers),
  /// which spares it looking up the pages each time. It must stay mapped as it is until forget_memory(). False where
  /// nothing comes of it, which changes no transfer's result.
  virtual bool keep_memory(std::byte* /*begin*/, std::size_t /*bytes*/) { return false; }
  virtual void forget_memory(const std::byte* /*begin*/) noexcept {}
  /// Transfers from and to this file will be many: the kernel may keep it open for them (io_uring's registered files).
  /// The descriptor must stay open until forget_file(), and is given once. False where nothing comes of it, which
  /// changes no transfer's result.
  virtual bool keep_file(int /*fd*/) { return false; }
  virtual void forget_file(int /*fd*/) noexcept {}
  /// Transfers so far from and to files that were kept.
  virtual std::uint64_t kept_file_transfers() const noexcept { return 0; }
  /// Transfers so far that went from or to memory which was pinned.
  virtual std::uint64_t pinned_transfers() const noexcept { return 0; }
  /// The ring itself; null where there is none.
  virtual UringPort* uring() noexcept { return nullptr; }
};

/// Whether io_uring can be used here, for `coracle info`.
struct IoSupport {
  std::string name;  ///< "io_uring"
  bool available;
  std::string reason;  ///< Why not; empty when available.
  std::string remedy;  ///< What to do about it; empty when available.
};
IoSupport probe_io();

/// io_uring if the kernel allows it, else the fallback. The environment's CORACLE_IO=epoll asks for the fallback;
/// CORACLE_IO=io_uring makes a refusal an Error.
std::unique_ptr<Io> make_io(Doorbell& doorbell);
/// Each by itself; make_uring_io returns null where io_uring is refused.
std::unique_ptr<Io> make_uring_io(Doorbell& doorbell);
/// `gate`: of a loop that several threads turn; null otherwise.
std::unique_ptr<Io> make_epoll_io(Doorbell& doorbell, LoopGate* gate = nullptr);
/// Opens and closes a ring: 0, or the errno of the refusal.
int try_io_uring() noexcept;

inline bool is_transfer(const IoRequest& request) noexcept {
  return request.verb() == IoRequest::Verb::read || request.verb() == IoRequest::Verb::write;
}

/// Where a back end keeps requests that wait inside it, without allocating: first in, first out, and any can leave. A
/// request is in at most one list; the list owns nothing.
class IoList {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  IoRequest& front() const noexcept { return *first_; }

  void push_back(IoRequest& request) noexcept {
    IoRequest::Note& note = request.note();
    note.next = nullptr;
    note.previous = last_;
    (last_ != nullptr ? last_->note().next : first_) = &request;
    last_ = &request;
  }
  void remove(IoRequest& request) noexcept {
    const IoRequest::Note& note = request.note();
    (note.previous != nullptr ? note.previous->note().next : first_) = note.next;
    (note.next != nullptr ? note.next->note().previous : last_) = note.previous;
  }
  IoRequest& pop_front() noexcept {
    IoRequest& request = *first_;
    remove(request);
    return request;
  }

 private:
  IoRequest* first_ = nullptr;
  IoRequest* last_ = nullptr;
};

}  // namespace coracle::internals
