// userfaultfd's events, read by a thread.
#include "transports/verbs/registration_cache.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

namespace coracle::internals::verbs {

std::unique_ptr<MemoryMonitor> MemoryMonitor::make(MemoryObserver& observer) {
  // The flag is what users without privileges need; kernels before 5.11 don't know it.
  int fd = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
  if (fd < 0) fd = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
  if (fd < 0) return nullptr;
  uffdio_api api{};
  api.api = UFFD_API;
  api.features =
      UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_PAGEFAULT_FLAG_WP;
  const int stop_fd = ::ioctl(fd, UFFDIO_API, &api) == 0 ? ::eventfd(0, EFD_CLOEXEC) : -1;
  if (stop_fd < 0) {
    ::close(fd);
    return nullptr;
  }
  return std::unique_ptr<MemoryMonitor>(new MemoryMonitor(observer, fd, stop_fd));
}

MemoryMonitor::MemoryMonitor(MemoryObserver& observer, int fd, int stop_fd)
    : observer_(observer), fd_(fd), stop_fd_(stop_fd) {
  // Signals are for the rank's own threads.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { follow(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

MemoryMonitor::~MemoryMonitor() {
  ::eventfd_write(stop_fd_, 1);
  thread_.join();
  ::close(fd_);
  ::close(stop_fd_);
}

bool MemoryMonitor::add(std::uintptr_t begin, std::uintptr_t end) noexcept {
  uffdio_register request{};
  request.range = {begin, end - begin};
  request.mode = UFFDIO_REGISTER_MODE_WP;
  return ::ioctl(fd_, UFFDIO_REGISTER, &request) == 0;
}

void MemoryMonitor::remove(std::uintptr_t begin, std::uintptr_t end) noexcept {
  uffdio_range range{begin, end - begin};
  ::ioctl(fd_, UFFDIO_UNREGISTER, &range);  // fails where it has been unmapped, which has ended the watch too
}

void MemoryMonitor::follow() noexcept {
  for (;;) {
    std::array<pollfd, 2> sources = {pollfd{fd_, POLLIN, 0}, pollfd{stop_fd_, POLLIN, 0}};
    ::poll(sources.data(), sources.size(), -1);
    if (sources[1].revents != 0) return;
    if (sources[0].revents != 0) read_events();
  }
}

void MemoryMonitor::read_events() noexcept {
  const std::lock_guard lock(mutex_);
  uffd_msg event;
  while (::read(fd_, &event, sizeof event) == static_cast<ssize_t>(sizeof event)) {
    if (event.event == UFFD_EVENT_UNMAP || event.event == UFFD_EVENT_REMOVE)
      observer_.gone(event.arg.remove.start, event.arg.remove.end);
    else if (event.event == UFFD_EVENT_REMAP)
      observer_.gone(event.arg.remap.from, event.arg.remap.from + event.arg.remap.len);
  }
}

}  // namespace coracle::internals::verbs
