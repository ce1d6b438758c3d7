#include "transports/tca/device_thread.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "runtime/core/timer.hpp"
#include "transports/tca/packet.hpp"

namespace coracle::internals::tca {
namespace {

/// Sleeping takes the kernel about as long to end.
constexpr std::uint64_t kSleepNs = 60'000;

}  // namespace

DeviceThread::DeviceThread(const JobRegion& region, std::uint32_t rank, const Peach2Model& model)
    : Peach2Device(model, static_cast<DeviceHost&>(*this)), region_(region), rank_(rank), registered_(region) {
  given_up_.reserve(region.shape().size);  // so that given_up() has room
  thread_ = std::thread([this] { work(); });
}

DeviceThread::~DeviceThread() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

std::uint64_t DeviceThread::now_ns() const noexcept {
  return real_clock().now_ns();
}

void DeviceThread::landed(std::byte* target) noexcept {
  const std::uint32_t owner = registered_.owner_of_inbox(target);
  if (owner == RegisteredMemory::kNobody) return;
  // Of a packet its count tells, which comes last.
  if (!PacketArea(region_.inbox(owner), region_.shape().size).has_cell(target)) return;
  // As Doorbell::ring() wants it: what has landed is published before its load.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  region_.block(owner).doorbell.ring();
}

/// The device's own thread, or one that holds the mutex.
Passage DeviceThread::passage_to(std::uint32_t owner) const noexcept {
  return {false, std::find(given_up_.begin(), given_up_.end(), owner) != given_up_.end(), 0};
}

void DeviceThread::given_up(std::uint32_t peer) noexcept {
  const std::lock_guard lock(mutex_);  // and so between two descriptors
  given_up_.push_back(peer);
}

void DeviceThread::progressed() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);  // as in landed()
  region_.block(rank_).doorbell.ring();
}

void DeviceThread::work() noexcept {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    alarm_ns_ = kNever;
    advance(now_ns());
    const std::uint64_t now = now_ns();
    if (alarm_ns_ == kNever) {
      changed_.wait(lock);
    } else if (alarm_ns_ > now + kSleepNs) {
      changed_.wait_for(lock, std::chrono::nanoseconds(alarm_ns_ - now - kSleepNs / 2));
    } else if (alarm_ns_ > now) {
      lock.unlock();
      ::sched_yield();
      lock.lock();
    }
  }
}

TableId DeviceThread::load(Chain chain) {
  const std::lock_guard lock(mutex_);
  return Peach2Device::load(chain);
}

void DeviceThread::unload(TableId table) noexcept {
  const std::lock_guard lock(mutex_);
  Peach2Device::unload(table);
}

void DeviceThread::start(unsigned channel, TableId table, std::uint64_t sequence) noexcept {
  {
    const std::lock_guard lock(mutex_);
    Peach2Device::start(channel, table, sequence);
  }
  changed_.notify_one();
}

void DeviceThread::abort(unsigned channel) noexcept {
  const std::lock_guard lock(mutex_);
  Peach2Device::abort(channel);
}

void DeviceThread::store(std::uint64_t* target, std::uint64_t word) noexcept {
  {
    const std::lock_guard lock(mutex_);
    Peach2Device::store(target, word);
  }
  changed_.notify_one();
}

void DeviceThread::break_down(const DeviceFaults& faults) noexcept {
  const std::lock_guard lock(mutex_);
  Peach2Device::break_down(faults);
}

}  // namespace coracle::internals::tca
