// LoopHost: what surrounds a GPU that belongs to an event loop: its alarm is a timer of the loop, its ring the loop's
// doorbell.
#pragma once

#include <atomic>

#include "runtime/core/event_loop.hpp"
#include "transports/cuda/stream_device.hpp"

namespace coracle::internals::cuda {

class LoopHost final : public CudaHost, private Timer {
 public:
  /// The loop must outlive it, and run by the machine's clock.
  explicit LoopHost(EventLoop& loop) noexcept : loop_(loop) {}
  ~LoopHost() { stop(); }
  LoopHost(const LoopHost&) = delete;
  LoopHost& operator=(const LoopHost&) = delete;

  /// From now on alarms make this device advance. It must live until stop().
  void serve(StreamDevice& device) noexcept { device_ = &device; }
  /// Alarms do nothing any more.
  void stop() noexcept;

  /// Between the loop's announcement that it will sleep and its last look at the device's channels (Poller): what it
  /// does not see then rings the doorbell.
  void about_to_sleep() const noexcept;

  std::uint64_t now_ns() noexcept override { return loop_.clock().now_ns(); }
  void alarm(std::uint64_t time_ns) noexcept override;
  void ring() noexcept override;

 private:
  void fire() noexcept override;

  EventLoop& loop_;
  StreamDevice* device_ = nullptr;
  std::uint64_t alarm_ns_ = 0;  // while the timer is armed
  std::atomic<std::uint32_t> rings_{0};
};

}  // namespace coracle::internals::cuda
