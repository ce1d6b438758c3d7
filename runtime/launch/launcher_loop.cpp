// Handlers that count, and a pipe that wakes.
#include "runtime/launch/launcher_loop.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "runtime/launch/guardian.hpp"

namespace coracle::internals {
namespace {

// A handler gets no argument of ours, so that these must be static.
std::array<std::atomic<unsigned>, NSIG> counts;
std::atomic<int> write_end{-1};

void on_signal(int signal) {
  const int error = errno;
  // release: the reader of the pipe (or of the count, acquire in noted_signal()) sees the count.
  counts[static_cast<std::size_t>(signal)].fetch_add(1, std::memory_order_release);
  [[maybe_unused]] const ssize_t written = ::write(write_end.load(std::memory_order_relaxed), "", 1);  // full: readable
  errno = error;
}

Task<> keep_status(Task<int> body, int& status) {
  status = co_await body;
}

}  // namespace

bool asks_to_end(int signal) noexcept {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

LauncherLoop::LauncherLoop() {
  loop_.use_epoll();
  loop_.set_idle_policy({.spins = 0, .yields = 0});
  auto ends = make_pipe("signals", O_NONBLOCK);
  wake_fd_ = std::move(ends[0]);
  write_end.store(ends[1].release(), std::memory_order_relaxed);  // before any handler is set, in the same thread
  for (auto& count : counts) count.store(0, std::memory_order_relaxed);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN || kSignals[i] == SIGCHLD) ::sigaction(kSignals[i], &action, nullptr);
  }
}

LauncherLoop::~LauncherLoop() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  ::close(write_end.exchange(-1, std::memory_order_relaxed));
}

/// 0: none. The same may be counted several times.
int LauncherLoop::noted_signal() const noexcept {
  char bytes[64];
  while (::read(wake_fd_.get(), bytes, sizeof bytes) > 0) {
  }
  for (const int signal : kSignals) {
    auto& count = counts[static_cast<std::size_t>(signal)];
    if (count.load(std::memory_order_acquire) == 0) continue;  // pairs with the handler's release
    if (signal == SIGINT) {
      count.fetch_sub(1, std::memory_order_relaxed);  // the second has its own meaning
    } else {
      count.store(0, std::memory_order_relaxed);
    }
    return signal;
  }
  return 0;
}

Task<int> LauncherLoop::signal() {
  const PromiseBase& self = co_await this_coroutine();
  for (;;) {
    // Who is being ended takes no signal with it: it is for who comes next.
    if (const int signal = self.scope().cancelled() ? 0 : noted_signal()) co_return signal;
    co_await readable(wake_fd_.get());
  }
}

Task<> LauncherLoop::readable(int fd) {
  co_await io().wait_readable(fd);
}

Task<> LauncherLoop::asked_to_end(Guardian& guardian) {
  for (;;) {
    const int signal = co_await this->signal();
    if (asks_to_end(signal)) co_return;
    if (signal == SIGCHLD) guardian.look();
  }
}

int LauncherLoop::run(const std::function<Task<int>(Scope& services)>& body) {
  int status = 0;
  loop_.run(with_services([&](Scope& services) { return keep_status(body(services), status); }));
  return status;
}

}  // namespace coracle::internals
