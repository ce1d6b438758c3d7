// StreamDevice: a GPU's streams as a DMA device, seen from an event loop: of this process (CudaDevice), or of the
// process that owns the GPUs of a shared address space (OwnedDevice).
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/event_loop.hpp"
#include "transports/cuda/memory.hpp"
#include "transports/cuda/table.hpp"
#include "transports/tca/dma_device.hpp"

namespace coracle::internals::cuda {

/// What surrounds a device.
class CudaHost {
 public:
  /// Nanoseconds of CLOCK_MONOTONIC.
  virtual std::uint64_t now_ns() noexcept = 0;
  /// The device wants to advance at this time, and no more at one that it has said before.
  virtual void alarm(std::uint64_t time_ns) noexcept = 0;
  /// A table of a long copy is over, or has failed: whoever sleeps may look. Any thread; while the device lives.
  virtual void ring() noexcept = 0;

 protected:
  ~CudaHost() = default;
};

/// Interface without state.
class StreamDevice : public tca::DmaDevice {
 public:
  using tca::DmaDevice::load;
  virtual tca::TableId load(tca::Chain chain, TableWay way) = 0;
  /// Looks after words that are late; when the alarm says, or more often.
  virtual void advance(std::uint64_t now_ns) noexcept = 0;
  /// How long it pays to spin for a channel that works, in nanoseconds from now on; 0: sleep.
  virtual std::uint64_t spin_ns(unsigned channel, std::uint64_t now_ns) const noexcept = 0;
  /// Which memory it gets at: segments to be pinned at first use are added to it.
  virtual Reach& reach() noexcept = 0;
  /// What the GPU is called.
  virtual const std::string& model() const noexcept = 0;

  /// Code for kernels, for as long as the device lives. `code`: as CudaApi::load_module has it, and only until this
  /// returns. Throws Error when it is not for this GPU.
  virtual Module load_module(const void* code) = 0;
  /// A function of one of its modules. Throws Error when there is none of this name.
  virtual Kernel find_kernel(Module module, const char* name) = 0;
  /// Kernels that a start launches one after another, with what their parameters hold by then; these must live as long
  /// as the table, which works on one channel at a time. Throws Error (bad_input) as check_launches() does, and for a
  /// kernel that was not found here.
  virtual tca::TableId load_kernels(std::vector<Launch> launches) = 0;
};

/// Throws Error (bad_input) for a chain that is empty, or that copies nothing or memory out of reach: which descriptor.
void check_chain(Reach& reach, tca::Chain chain);
/// Throws Error (bad_input) when there are none, or the parameter of one has more than kParameterBytesMax: which one.
void check_launches(std::span<const Launch> launches);

/// What surrounds a GPU that belongs to an event loop: its alarm is a timer of the loop, its ring the loop's doorbell.
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
