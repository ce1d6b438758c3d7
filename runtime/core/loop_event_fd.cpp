// Making and draining the doorbell's descriptor.
#include "runtime/core/loop_event_fd.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/core/error.hpp"

namespace coracle::internals {

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
