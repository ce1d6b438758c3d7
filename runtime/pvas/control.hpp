// The block at a fixed place in each partition through which root, child and hook talk. Plain data: it is read before
// the task has a libc, and a fork of the task gets a copy that goes on working.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/pvas/layout.hpp"

namespace coracle::pvas {

/// What the child does between clone and its first instruction. The arrays lie on the task's stack, above argc.
struct StartOrders {
  std::uint64_t entry = 0;
  std::uint64_t stack_pointer = 0;
  std::uint64_t signal_mask = 0;
  std::uint64_t data_limit[2] = {0, 0};  ///< RLIMIT_DATA, soft and hard, to set.
  const int* keep_fds = nullptr;
  std::uint64_t keep_count = 0;
  const void* cpu_mask = nullptr;
  std::uint64_t cpu_mask_bytes = 0;
  std::array<int, 3> standard_fds{-1, -1, -1};
  int root_pid = 0;
  int parent_death_signal = 0;
  bool new_process_group = false;
  bool core_dumps = false;
  bool reset_handlers = false;  ///< The kernel has no CLONE_CLEAR_SIGHAND.
  std::array<char, 16> name{};
};

struct Control {
  Layout layout;
  StartOrders start;
};

}  // namespace coracle::pvas
