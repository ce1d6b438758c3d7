#include "runtime/launch/device_owner_process.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/launch/rank_process.hpp"
#include "runtime/launch/say.hpp"

namespace coracle::internals {
namespace {

using namespace std::chrono_literals;
using State = DeviceOwnerRecord::State;

constexpr auto kOwnersPatience = 5s;  // with an owner that has been asked to end

}  // namespace

DeviceOwnerProcess::DeviceOwnerProcess(const JobRegion& region, std::function<pid_t()> start,
                                       std::function<void(pid_t)> forget)
    : region_(region), start_(std::move(start)), forget_(std::move(forget)), call_fd_(::eventfd(0, EFD_NONBLOCK)) {
  if (!call_fd_) throw_errno(errno, "can't make the descriptor by which ranks ask for an owner of their devices");
  region_.device_owner().call_fd = call_fd_.get();  // inherited: not close-on-exec
}

DeviceOwnerProcess::~DeviceOwnerProcess() {
  finish(true);
}

Task<> DeviceOwnerProcess::serve(Io& io) {
  for (;;) {
    co_await io.wait_readable(call_fd_.get());
    answer();
  }
}

void DeviceOwnerProcess::answer() {
  std::uint64_t calls = 0;
  if (::read(call_fd_.get(), &calls, sizeof calls) != sizeof calls) return;
  // relaxed: the descriptor orders it. Of ranks that want it killed only one must be heard.
  if (running_ &&
      region_.device_owner().wanted.load(std::memory_order_relaxed) == DeviceOwnerRecord::LauncherRequest::kill) {
    unanswering_ = true;
    ::kill(pid_, SIGKILL);  // also of use where it is stopped
  }
  if (std::exchange(asked_, true)) return;
  try {
    pid_ = start_();
    running_ = true;
  } catch (const Error& error) {
    tell_all(error.what());
  }
}

/// There is none, or none any more.
void DeviceOwnerProcess::tell_all(const std::string& reason) {
  DeviceOwnerRecord& record = region_.device_owner();
  const std::size_t bytes = std::min(reason.size(), record.reason.size() - 1);
  std::memcpy(record.reason.data(), reason.data(), bytes);
  record.reason[bytes] = '\0';
  // seq_cst, and before the doorbells: see Doorbell. Ranks that see it find the reason.
  record.state.store(State::ended, std::memory_order_seq_cst);
  wake_all_regardless(region_);
}

/// Its memory stays: ranks look at what it has told them there.
bool DeviceOwnerProcess::ended(pid_t pid, const ExitStatus& status) {
  if (pid != pid_ || !running_) return false;
  running_ = false;
  tell_all(fmt::format("the process that owns the GPUs of this node (pid {}) has ended: {}", pid,
                       unanswering_ && status.signal == SIGKILL
                           ? "it did not answer its ranks (was it stopped?), and was killed"
                           : status.text()));
  say("{}; what ranks ask of their GPUs fails from now on", region_.device_owner().reason.data());
  return true;
}

/// Asks it to end, or kills it.
ExitStatus DeviceOwnerProcess::end(bool at_once) {
  DeviceOwnerRecord& record = region_.device_owner();
  record.state.store(State::ending, std::memory_order_seq_cst);  // before the doorbell: see there
  wake_regardless(record.doorbell);
  if (!at_once) {
    if (const auto status = wait_for_end(pid_, kOwnersPatience)) return *status;
    say("the process that owns the GPUs of this node (pid {}) did not end within {} s, and is killed", pid_,
        kOwnersPatience.count());
  }
  ::kill(pid_, SIGKILL);
  wait_for_end(pid_, kOwnersPatience);
  return {};
}

std::string DeviceOwnerProcess::finish(bool job_failed) {
  asked_ = true;  // too late for one
  if (pid_ == 0) return {};
  ExitStatus status;
  if (std::exchange(running_, false)) status = end(job_failed);
  const pid_t pid = std::exchange(pid_, 0);
  forget_(pid);
  if (status.ok()) return {};
  return fmt::format("the process that owned the GPUs of this node (pid {}) ended with {}", pid, status.text());
}

}  // namespace coracle::internals
