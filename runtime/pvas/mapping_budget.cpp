// Estimating and counting mappings.
#include "runtime/pvas/mapping_budget.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <functional>

#include "runtime/core/error.hpp"

namespace coracle::internals::pvas {
namespace {

constexpr std::size_t kKernelDefault = 65530;
constexpr std::size_t kFirstCount = 8;  // of so many tasks something can be learnt

/// Room for what running tasks still map: threads, libraries, files.
std::size_t reserve_of(std::size_t limit) noexcept {
  return std::min<std::size_t>(1024, limit / 32);
}

std::size_t kernel_limit() {
  std::array<char, 32> text{};
  const int fd = ::open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return kKernelDefault;
  const ssize_t got = ::read(fd, text.data(), text.size() - 1);
  ::close(fd);
  const std::size_t limit = got > 0 ? std::strtoul(text.data(), nullptr, 10) : 0;
  return limit != 0 ? limit : kKernelDefault;
}

}  // namespace

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
    : fixed_limit_(limit), limit_(limit != 0 ? limit : kernel_limit()), counted_(count_mappings()) {}

bool MappingBudget::fits() const noexcept {
  return counted_ + (starting_ + uncounted_ + 1) * per_task_ + reserve_of(limit_) <= limit_;
}

void MappingBudget::count(std::size_t tasks, std::size_t starting) {
  const std::size_t before = counted_;
  counted_ = count_mappings();
  // Not where most of the new ones have ended: what those leave behind would be taken for the others'.
  const std::size_t more_tasks = tasks - std::min(tasks, counted_tasks_);
  if (uncounted_ >= kFirstCount && more_tasks * 2 >= uncounted_ && counted_ > before)
    per_task_ = std::max(kPerTask, (counted_ - before) / (more_tasks + starting_));
  counted_tasks_ = tasks;
  starting_ = starting;
  uncounted_ = 0;
  limit_ = fixed_limit_ != 0 ? fixed_limit_ : kernel_limit();  // The user may have followed our advice meanwhile.
}

void MappingBudget::admit(const std::string& program, std::size_t tasks, const std::function<std::size_t()>& starting) {
  if (uncounted_ >= std::max(kFirstCount, counted_tasks_) || !fits()) count(tasks, starting());
  if (!fits()) {
    throw Error(
        std::make_error_code(std::errc::not_enough_memory),
        fmt::format("cannot run {}: {} of the {} mappings that vm.max_map_count allows one address space are in "
                    "use, {} tasks are still starting, and a task needs about {}; sysctl vm.max_map_count={}",
                    program, counted_, limit_, starting_ + uncounted_, per_task_, std::bit_ceil(limit_ * 2)));
  }
  ++uncounted_;
}

}  // namespace coracle::internals::pvas
