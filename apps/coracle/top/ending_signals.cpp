// signalfd.
#include "apps/coracle/top/ending_signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace coracle::internals {

EndingSignals::EndingSignals() {
  sigset_t caught;
  ::sigemptyset(&caught);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGABRT, SIGALRM, SIGPIPE, SIGUSR1, SIGUSR2, SIGVTALRM,
                           SIGPROF, SIGIO, SIGPWR, SIGXCPU, SIGXFSZ, SIGTSTP, SIGCONT, SIGWINCH})
    ::sigaddset(&caught, signal);
  ::sigprocmask(SIG_BLOCK, &caught, &before_);
  descriptor_ = FileDescriptor(::signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK));
  if (descriptor_) return;
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  throw_errno(errno, "can't wait for signals");
}

EndingSignals::~EndingSignals() {
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> EndingSignals::next() noexcept {
  signalfd_siginfo info{};
  if (::read(descriptor_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

void EndingSignals::yield_to(int signal) noexcept {
  ::signal(signal, SIG_DFL);
  sigset_t only;
  sigset_t before;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  ::raise(signal);
  ::sigprocmask(SIG_UNBLOCK, &only, &before);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace coracle::internals
