// Estimating and counting mappings.
#include "runtime/pvas/mapping_budget.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>

#include "runtime/core/error.hpp"

namespace coracle::internals::pvas {
namespace {

constexpr std::size_t kKernelDefault = 65530;
constexpr std::size_t kFew = 8;  // of so many tasks something can be learnt

/// Room for what running tasks still map: threads, libraries, files.
std::size_t reserve_of(std::size_t limit) noexcept {
  return std::min<std::size_t>(1024, limit / 32);
}

}  // namespace

std::size_t mapping_limit() {
  std::array<char, 32> text{};
  const int fd = ::open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return kKernelDefault;
  const ssize_t got = ::read(fd, text.data(), text.size() - 1);
  ::close(fd);
  const std::size_t limit = got > 0 ? std::strtoul(text.data(), nullptr, 10) : 0;
  return limit != 0 ? limit : kKernelDefault;
}

std::size_t count_mappings() {
  const int fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw_errno(errno, "cannot count this process's mappings in /proc/self/maps");
  std::array<char, 16384> text;
  std::size_t lines = 0;
  ssize_t got;
  while ((got = ::read(fd, text.data(), text.size())) > 0) {
    lines += static_cast<std::size_t>(std::count(text.data(), text.data() + got, '\n'));
  }
  ::close(fd);
  return lines;
}

MappingBudget::MappingBudget(std::size_t limit)
    : fixed_limit_(limit),
      limit_(limit != 0 ? limit : mapping_limit()),
      without_tasks_(count_mappings()),
      counted_(without_tasks_) {}

/// Whether one more does, if each that has not been counted whole needs so many.
bool MappingBudget::fits(std::size_t per_task) const noexcept {
  return counted_ + (starting_ + uncounted_ + 1) * per_task + reserve_of(limit_) <= limit_;
}

void MappingBudget::count(std::size_t tasks, std::size_t starting) {
  counted_ = count_mappings();
  silent_ = std::min(silent_, starting);
  starting_ = starting - silent_;
  uncounted_ = 0;
  limit_ = fixed_limit_ != 0 ? fixed_limit_ : mapping_limit();  // The user may have followed our advice meanwhile.
  if (tasks == 0) without_tasks_ = counted_;
  const std::size_t known = tasks - std::min(tasks, starting_);
  if (known < kFew || starting_ * 4 > known || counted_ <= without_tasks_) return;
  per_task_ = std::clamp<std::size_t>((counted_ - without_tasks_) / known, 1, kPerTaskMost);
  per_task_most_ = 4 * per_task_;
}

void MappingBudget::wait_for_starting(std::size_t tasks, const std::function<std::size_t()>& starting) {
  constexpr int kQuietPauses = 40;  // 200 ms in which nobody has mapped anything
  constexpr useconds_t kPauseUs = 5000;
  constexpr std::chrono::seconds kPatience(10);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  count(tasks, starting());
  for (int quiet = 0; starting_ != 0 && !fits(per_task_most_); ++quiet) {
    if (quiet == kQuietPauses || std::chrono::steady_clock::now() >= end) {
      silent_ += starting_;
      return count(tasks, starting());
    }
    const std::size_t mapped = counted_;
    const std::size_t were_starting = starting_;
    ::usleep(kPauseUs);
    count(tasks, starting());
    if (counted_ != mapped || starting_ != were_starting) quiet = 0;
  }
}

void MappingBudget::admit(const std::string& program, std::size_t tasks, const std::function<std::size_t()>& starting) {
  if (!fits(per_task_most_)) wait_for_starting(tasks, starting);
  if (!fits(per_task_)) {
    throw Error(
        std::make_error_code(std::errc::not_enough_memory),
        fmt::format("cannot run {} beside {} tasks: {} of the {} mappings that vm.max_map_count allows one address "
                    "space are in use, and a task needs about {}; sysctl vm.max_map_count={}",
                    program, tasks, counted_, limit_, per_task_, std::bit_ceil(limit_ * 2)));
  }
  ++uncounted_;
}

}  // namespace coracle::internals::pvas
