#include "transports/cuda/owner_link.hpp"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "runtime/core/cpu.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/timer.hpp"

namespace coracle::internals::cuda {
namespace {

using State = DeviceOwnerRecord::State;
using LauncherRequest = DeviceOwnerRecord::LauncherRequest;

constexpr std::uint64_t kStartNs = 60'000'000'000;
constexpr auto kFirstPause = std::chrono::microseconds(100);
constexpr auto kLastPause = std::chrono::milliseconds(10);
/// An answer that takes longer is slept for.
constexpr unsigned kSpins = 2000;
/// Between looks whether the owner still lives.
constexpr long kSleepNs = 20'000'000;

CommandQueues& queues_of(const DeviceOwnerRecord& record) noexcept {
  return *reinterpret_cast<CommandQueues*>(
      record.queues.load(std::memory_order_relaxed));  // behind the acquire of `state`
}

bool serves(const DeviceOwnerRecord& record) {
  // acquire: pairs with the owner's release after `queues`, and the launcher's store after `reason`.
  const State state = record.state.load(std::memory_order_acquire);
  if (state != State::ended) return state == State::serving;
  throw Error(Errc::unsupported, fmt::format("cuda: ranks in one address space (--place pvas) need a process that owns "
                                             "their GPUs, and there is none: {}",
                                             record.reason.data()));
}

/// False: it can't be heard.
bool call_launcher(const DeviceOwnerRecord& record) noexcept {
  const std::uint64_t one = 1;
  return ::write(record.call_fd, &one, sizeof one) == sizeof one;
}

}  // namespace

Task<> OwnerLink::summon(const JobRegion& region) {
  DeviceOwnerRecord& record = region.device_owner();
  LauncherRequest none = LauncherRequest::none;
  if (record.wanted.compare_exchange_strong(none, LauncherRequest::start, std::memory_order_relaxed) &&
      !call_launcher(record))
    throw Error(Errc::unsupported, "cuda: the launcher can't be asked for a process that owns the GPUs of this node");
  const std::uint64_t until = real_clock().now_ns() + kStartNs;
  std::chrono::nanoseconds pause = kFirstPause;
  while (!serves(record)) {
    if (real_clock().now_ns() > until)
      throw Error(Errc::unsupported,
                  "cuda: the process that is to own the GPUs of this node has not come to coracle::run "
                  "within a minute: it runs this program's main() as the ranks do");
    co_await sleep_for(pause);
    pause = std::min<std::chrono::nanoseconds>(2 * pause, kLastPause);
  }
}

OwnerLink::OwnerLink(const JobRegion& region, std::uint32_t rank, unsigned number, const OwnerPatience& patience)
    : record_(region.device_owner()),
      queues_(queues_of(record_)),
      place_((rank - region.first_rank()) * CommandQueues::kOfRank + number),
      queue_(queues_.queue[place_]),
      // Of what the rank has asked before, by a link that is no more.
      posted_(queue_.commands.taken()),
      calls_(queue_.answer.call.load(std::memory_order_relaxed)),
      patience_(patience) {}

void OwnerLink::ring_owner() noexcept {
  // seq_cst: pairs with the owner's exchange, and with its doorbell's announcement (see Doorbell).
  queues_.calling[place_ / 64].fetch_or(std::uint64_t{1} << (place_ % 64), std::memory_order_seq_cst);
  record_.doorbell.ring();
}

std::uint64_t OwnerLink::post(const DeviceCommand& command) noexcept {
  waiting_.push_back(command);
  flush();
  return ++posted_;
}

void OwnerLink::flush() noexcept {
  if (waiting_.empty()) return;
  bool handed_over = false;
  bool looked_again = false;
  while (!waiting_.empty()) {
    if (queue_.commands.push(waiting_.front())) {
      waiting_.pop_front();
      handed_over = true;
      looked_again = false;
      continue;
    }
    if (looked_again) break;
    looked_again = true;
    queue_.starving.store(true, std::memory_order_seq_cst);  // see there
  }
  if (handed_over) ring_owner();
}

std::uint64_t OwnerLink::taken() const noexcept {
  return gone() ? posted_ : queue_.commands.taken();
}

bool OwnerLink::gone() const noexcept {
  // acquire: pairs with the launcher's store after the reason.
  return !given_up_.empty() || record_.state.load(std::memory_order_acquire) == State::ended;
}

bool OwnerLink::busy(std::uint64_t now_ns) const noexcept {
  // relaxed: a number, and nothing that lies beside it.
  return now_ns < queues_.busy_until_ns.load(std::memory_order_relaxed);
}

void OwnerLink::doubt(std::uint64_t now_ns) {
  constexpr const char* kSilent = "the process that owns the GPUs of this node does not answer: is it stopped?";
  if (gone()) return;
  if (kill_asked_ns_ != 0) {
    if (now_ns >= kill_asked_ns_ + patience_.kill_ns) given_up_ = kSilent;
    return;
  }
  if (sign_ == 0 || queue_.commands.taken() >= sign_) {
    sign_ = post({.kind = DeviceCommand::Kind::sign});
    sign_until_ns_ = now_ns + patience_.sign_ns;
    return;
  }
  if (busy(now_ns)) sign_until_ns_ = now_ns + patience_.sign_ns;
  if (now_ns < sign_until_ns_) return;
  kill_asked_ns_ = now_ns;
  record_.wanted.store(LauncherRequest::kill, std::memory_order_relaxed);  // the descriptor orders it
  if (!call_launcher(record_)) given_up_ = kSilent;
}

std::string OwnerLink::why_gone() const {
  return given_up_.empty() ? record_.reason.data() : given_up_;
}

/// False: after one sleep it is not there.
bool OwnerLink::await_answer(std::uint32_t number) const noexcept {
  const std::atomic<std::uint32_t>& word = queue_.answer.call;
  for (unsigned i = 0; i < kSpins; ++i) {
    if (word.load(std::memory_order_acquire) == number) return true;  // pairs with the owner's release
    cpu_pause();
  }
  const timespec pause{0, kSleepNs};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, number - 1, &pause, nullptr, 0);
  return word.load(std::memory_order_acquire) == number;  // as above
}

const Answer& OwnerLink::call(const DeviceCommand& asked) {
  const auto refuse = [this] { throw Error(Errc::device_failed, "cuda: " + why_gone()); };
  if (gone()) refuse();
  DeviceCommand command = asked;
  command.call = ++calls_;
  post(command);
  const std::uint64_t patient_until = real_clock().now_ns() + patience_.answer_ns;
  while (!await_answer(calls_)) {
    flush();
    const std::uint64_t now = real_clock().now_ns();
    if (now > patient_until || kill_asked_ns_ != 0) doubt(now);
    if (gone()) refuse();
  }
  return queue_.answer;
}

}  // namespace coracle::internals::cuda
