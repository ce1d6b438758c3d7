// The system call of the fence; waiting for flags, and the polling of signals.
#include "runtime/rank/flag_wait.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/core/assert.hpp"
#include "runtime/core/cpu.hpp"
#include "runtime/rank/signal_wait.hpp"

namespace coracle::internals {

template class PolledWaits<SignalWait>;  // which other sources need not compile

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

bool FlagWaits::poll() noexcept {
  const bool any = PolledWaits::poll();
  if (announces_) about_to_sleep();
  return any;
}

void FlagWaits::about_to_sleep() noexcept {
  // seq_cst: pairs with Flag::raise; the loop polls once more after this.
  for (FlagWait* wait : waits()) wait->flag_.sleepers.fetch_or(wait->bit_, std::memory_order_seq_cst);
  if (fence_ && !waits().empty()) fence_->pass();
}

void FlagWaits::add(FlagWait& wait) {
  PolledWaits::add(wait);
  if (announces_) wait.flag_.sleepers.fetch_or(wait.bit_, std::memory_order_seq_cst);  // as above
}

bool look_for(const Flag& flag, std::uint64_t at_least) noexcept {
  constexpr int kLooks = 80;
  for (int look = 0; look < kLooks; ++look) {
    // Not too often: who looks takes the line away from who is about to write to it. Nor too seldom: of two pauses
    // between looks half of one is lost on the mean, which is as long as the line's way.
    cpu_pause();
    if (flag.reached(at_least)) return true;
  }
  return false;
}

void FlagWait::begin() {
  waits_.add(*this);
  observers_.add(*this);
}

void FlagWait::fail() {
  throw_if_failed();
  waits_.peers_.throw_lost(what(), lost_);
}

void FlagWait::lost(const Loss& loss) noexcept {
  if (!waiting()) return;
  lost_ = loss.peer;
  waits_.remove(*this);
  complete();
}

void FlagWait::cancel(std::error_code reason) noexcept {
  waits_.remove(*this);
  complete(reason);
}

}  // namespace coracle::internals
