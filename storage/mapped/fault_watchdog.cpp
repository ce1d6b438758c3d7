// FaultWatchdog: a thread of its own.
#include "storage/mapped/fault_server.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <system_error>

#include "runtime/core/error.hpp"

namespace coracle::internals::storage {

FaultWatchdog::FaultWatchdog(Userfault& faults, std::uint32_t rank)
    : faults_(faults), rank_(rank), loop_thread_(static_cast<std::uint32_t>(::gettid())) {
  // Signals are for the loop's thread.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::error_code failed;
  try {
    thread_ = std::thread(&FaultWatchdog::watch, this);
  } catch (const std::system_error& error) {
    failed = error.code();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!failed) return;
  throw Error(failed, fmt::format("loads and stores on a paged segment need a thread that watches over them, and rank "
                                  "{} gets none: {}; see `ulimit -u` and the container's limit on processes",
                                  rank, failed.message()));
}

FaultWatchdog::~FaultWatchdog() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  end_.notify_all();
  thread_.join();
}

void FaultWatchdog::watch() noexcept {
  constexpr std::chrono::milliseconds kPeriod(250);
  std::uint64_t taken_before = 0;
  bool waited_before = false;
  std::unique_lock lock(mutex_);
  while (!end_.wait_for(lock, kPeriod, [this] { return ending_; })) {
    const std::uint64_t taken = taken_.load(std::memory_order_relaxed);
    pollfd pending{faults_.fd(), POLLIN, 0};
    const bool waits = ::poll(&pending, 1, 0) > 0;
    if (waits && waited_before && taken == taken_before) look_at_stuck();
    waited_before = waits;
    taken_before = taken;
  }
}

/// The loop may only be busy: then it finds the others' faults when it comes to look.
void FaultWatchdog::look_at_stuck() noexcept {
  std::array<Userfault::Fault, 64> stuck;  // NOLINT(cppcoreguidelines-pro-type-member-init): take() fills it
  const std::size_t count = faults_.take(stuck);
  const auto kernel_page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (std::size_t i = 0; i < count; ++i) {
    if (stuck[i].thread == loop_thread_) {
      std::fprintf(stderr,
                   "coracle: rank %u: its event loop has touched byte %zu of the window of a mapped segment, and would "
                   "wait for itself for ever: do such loads and stores in `co_await window.run(function)`. It gets "
                   "SIGBUS instead\n",
                   rank_, stuck[i].offset);
      if (::tgkill(::getpid(), static_cast<pid_t>(loop_thread_), SIGBUS) == 0) continue;
    }
    faults_.wake(stuck[i].offset / kernel_page * kernel_page, kernel_page);
  }
}

}  // namespace coracle::internals::storage
