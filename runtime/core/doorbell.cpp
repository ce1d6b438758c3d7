// The system calls behind a doorbell; making and draining its descriptor.
#include "runtime/core/doorbell.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/core/error.hpp"

namespace coracle::internals {

// FUTEX_WAIT/WAKE without the private flag: sleeper and waker may be different processes.
void Doorbell::sleep_on_futex(std::optional<std::uint64_t> timeout_ns) noexcept {
  timespec timeout{};
  if (timeout_ns) {
    timeout.tv_sec = static_cast<time_t>(*timeout_ns / 1'000'000'000ULL);
    timeout.tv_nsec = static_cast<long>(*timeout_ns % 1'000'000'000ULL);
  }
  // EAGAIN (rung already), EINTR and ETIMEDOUT all mean: look for work again.
  ::syscall(SYS_futex, &state, FUTEX_WAIT, kOnFutex, timeout_ns ? &timeout : nullptr, nullptr, 0);
}

void Doorbell::wake() noexcept {
  // acq_rel: of many ringers exactly one takes the sleeper's announcement and pays for the system call.
  const std::uint32_t how = state.exchange(kAwake, std::memory_order_acq_rel);
  if (how == kOnFutex) {
    ::syscall(SYS_futex, &state, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  } else if (how == kOnEventFd) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(event_fd, &one, sizeof one);  // EAGAIN: it is readable already
  }
}

LoopEventFd::LoopEventFd(Doorbell& doorbell) : doorbell_(doorbell), own_(doorbell.event_fd < 0) {
  if (own_) {
    fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd_ < 0) throw_errno(errno, "eventfd for the event loop (see `ulimit -n`)");
    doorbell_.event_fd = fd_;
  } else {
    // drain() may come after another drain() took the same rings: it must not block.
    fd_ = doorbell.event_fd;
    const int flags = ::fcntl(fd_, F_GETFL);
    if (flags < 0 || ::fcntl(fd_, F_SETFL, flags | O_NONBLOCK) < 0) throw_errno(errno, "event_fd of the doorbell");
  }
}

LoopEventFd::~LoopEventFd() {
  if (!own_) return;
  doorbell_.event_fd = -1;
  ::close(fd_);
}

void LoopEventFd::drain() noexcept {
  std::uint64_t rings = 0;
  [[maybe_unused]] const ssize_t count = ::read(fd_, &rings, sizeof rings);  // EAGAIN: drained already
}

}  // namespace coracle::internals
