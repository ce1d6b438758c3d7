// Draws the line anew over itself.
#include "apps/common/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace coracle {

using Clock = std::chrono::steady_clock;

ProgressLine::ProgressLine(bool is_wanted)
    : is_shown_(is_wanted && isatty(STDERR_FILENO) == 1), start_(Clock::now()), next_(start_) {}

void ProgressLine::show(std::size_t done, std::size_t all) {
  constexpr std::size_t kWidth = 40;
  constexpr auto kPause = std::chrono::milliseconds(100);
  if (!is_shown_ || done == 0 || Clock::now() < next_) return;
  next_ = Clock::now() + kPause;
  is_dirty_ = true;
  const std::size_t filled = all == 0 ? kWidth : done * kWidth / all;
  const double elapsed_s = std::chrono::duration<double>(Clock::now() - start_).count();
  const double left_s = elapsed_s / static_cast<double>(done) * static_cast<double>(all - done);
  const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
  fmt::print(stderr, "\r  [{}] {:>3} %  {:.1f} s, {:.1f} s to go \x1b[K", bar, all == 0 ? 100 : done * 100 / all,
             elapsed_s, left_s);
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (is_dirty_) fmt::print(stderr, "\r\x1b[K");
  is_dirty_ = false;
}

}  // namespace coracle
