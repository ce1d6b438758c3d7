// The system call.
#include "runtime/core/fence_of_all.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/core/assert.hpp"

namespace coracle::internals {
namespace {

long membarrier(int command) noexcept {
  return ::syscall(SYS_membarrier, command, 0, 0);
}

}  // namespace

FenceOfAll::FenceOfAll(Placement placement) noexcept {
  // Ranks of `process` have memories of their own; the others share one, and the call then disturbs nobody else.
  const bool apart = placement == Placement::process;
  const int enrol = apart ? MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED : MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
  const int command = apart ? MEMBARRIER_CMD_GLOBAL_EXPEDITED : MEMBARRIER_CMD_PRIVATE_EXPEDITED;
  if (membarrier(enrol) == 0) command_ = command;
}

void FenceOfAll::pass() const noexcept {
  const long result = membarrier(command_);
  CORACLE_ASSERT(result == 0, "membarrier({}) gives {}", command_, result);
}

}  // namespace coracle::internals
