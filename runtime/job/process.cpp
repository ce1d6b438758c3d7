// The sentence for how a child ended, and waiting for that.
#include "runtime/job/process.hpp"

#include <fmt/format.h>
#include <time.h>

#include <cerrno>
#include <cstring>

namespace coracle::internals {

std::string ExitStatus::text() const {
  if (signal == 0) return fmt::format("exit status {}", code);
  return fmt::format("killed by signal {} ({})", signal, ::strsignal(signal));
}

std::optional<ExitStatus> wait_for_end(pid_t pid, std::chrono::nanoseconds patience) noexcept {
  constexpr timespec kPause{0, 1'000'000};
  const auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    int status = 0;
    const pid_t found = ::waitpid(pid, &status, WNOHANG);
    if (found == pid) return ExitStatus::from_wait(status);
    if (found < 0 && errno != EINTR) return ExitStatus{};
    if (std::chrono::steady_clock::now() >= until) return std::nullopt;
    ::nanosleep(&kPause, nullptr);
  }
}

}  // namespace coracle::internals
