// CopyEngine: a GPU's copy engines on one event loop, for coroutines: `co_await engine.copy(descriptor);` ends when the
// bytes are where they belong. A device, the engine that splits copies over its channels, and what lets the loop sleep.
// Kernels go the same way.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/core/scope.hpp"
#include "transports/cuda/cuda_device.hpp"
#include "transports/cuda/stream_device.hpp"
#include "transports/tca/dma_engine.hpp"

namespace coracle::internals::cuda {

class CopyEngine;

/// What `co_await engine.copy(...)`, chain(...) and start(...) await. Begins when it is awaited, not before. Cancelling
/// its coroutine does not end it: the engines use the buffers until the copy is over.
///
/// Throws Error: bad_input or ENOMEM when the device refuses the copy, with nothing begun; EIO when the device has
/// failed: then the target holds any bytes, and a device that hangs may still write there, and read the source, until
/// the engine ends or even after that (see CudaOptions::end_wait_ns).
class [[nodiscard]] Copy final : public Waiter, private tca::DmaTransfer {
 public:
  /// Only before it has been awaited.
  Copy(Copy&&) noexcept = default;

  WaitDetail detail() const noexcept override { return {WaitKind::device}; }
  bool await_ready() noexcept;
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self) noexcept {
    suspend(self, false);  // not interruptible: see above
  }
  void await_resume() const;

 private:
  friend class CopyEngine;
  using Work = std::variant<tca::Descriptor, tca::Chain, tca::TableId>;

  Copy(CopyEngine& engine, const char* what, const Work& work, unsigned channel = 0) noexcept
      : Waiter(what), engine_(engine), work_(work), channel_(channel) {}
  void begin();
  std::string subject() const;
  void ended(bool worked) noexcept override;

  CopyEngine& engine_;
  Work work_;
  unsigned channel_;  // of a chain, or a table
  std::exception_ptr refusal_;
  std::string failure_;
};

struct CopyOptions {
  CudaOptions device;
  /// copy() goes over at most so many of the device's channels.
  unsigned spread_max = tca::LearnedSplit::kChannelsMax;
  /// Copies whose tables are kept for the next time; at least 1.
  std::size_t patterns_max = 1024;
  /// What fails is tried so many times in all.
  unsigned tries_max = tca::DmaOptions().tries_max;
};

/// Loop's thread only. While it has work the loop polls it; what should take up to CudaOptions::spin_max_ns keeps a
/// loop that may spin from going to sleep.
class CopyEngine final : private Poller {
 public:
  /// `loop` and `api` must outlive it. Throws Error as CudaDevice does.
  CopyEngine(EventLoop& loop, CudaApi& api, const CopyOptions& options = {});
  /// On the device that `make` gives, of this process or not, for the host that it is given.
  using Maker = std::function<std::unique_ptr<StreamDevice>(CudaHost&)>;
  CopyEngine(EventLoop& loop, const Maker& make, const CopyOptions& options);
  /// No copy may be under way.
  ~CopyEngine() override;
  CopyEngine(const CopyEngine&) = delete;
  CopyEngine& operator=(const CopyEngine&) = delete;

  /// Copies by as many channels as is best (tca::LearnedSplit); parts land in any order.
  Copy copy(const tca::Descriptor& what) noexcept { return {*this, "copy", what}; }
  /// One channel copies the descriptors, in their order as far as docs/dma.md says, and after all that was given to
  /// that channel before. `chain` must live until the wait has begun.
  Copy chain(tca::Chain chain, unsigned channel = 0) noexcept { return {*this, "chain of copies", chain, channel}; }
  /// Likewise a table that device().load() has made, and that is unloaded only when it is over: for what is repeated.
  Copy start(tca::TableId table, unsigned channel = 0) noexcept { return {*this, "table of copies", table, channel}; }

  /// For load, unload, reach().add_host. Not to be started by itself.
  StreamDevice& streams() noexcept { return *streams_; }
  /// The same with what only this process's own device can do. Throws Error (unsupported) where it is another's.
  CudaDevice& device();
  /// For transfers that no coroutine awaits (tca::DmaTransfer): this class polls it.
  tca::DmaEngine& engine() noexcept { return engine_; }
  const tca::DmaEngine& engine() const noexcept { return engine_; }
  bool busy() const noexcept { return engine_.busy(); }

 private:
  bool poll() noexcept override;
  void about_to_sleep() noexcept override;
  bool worth_spinning() const noexcept;

  EventLoop& loop_;
  LoopHost host_;
  std::unique_ptr<StreamDevice> streams_;
  CudaDevice* device_ = nullptr;  // the same, if it is of this process
  tca::DmaEngine engine_;
  bool sleepy_ = false;
};

using tca::TableId;

/// Functions that run on a GPU, for coroutines: `co_await kernels.run(table);` ends when they have run. They have a
/// stream of their own, so that a GPU's copies go on beside them; otherwise they are what tables of copies are. A
/// module of code on a device. Loop's thread only.
class Kernels final {
 public:
  /// `code`: as CudaApi::load_module has it. `loop` and `api` must outlive it. Throws Error as CudaDevice does, and
  /// when the code is not for this device. Of `options` the number of channels does not count.
  Kernels(EventLoop& loop, CudaApi& api, const void* code, const CudaOptions& options);
  /// On the device that `make` gives, of this process or not, for the host and with the options that it is given.
  using Maker = std::function<std::unique_ptr<StreamDevice>(CudaHost&, const CudaOptions&)>;
  Kernels(EventLoop& loop, const Maker& make, const void* code, const CudaOptions& options);
  /// None may be running. Code that hangs is left to the end of the process.
  ~Kernels() = default;
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  /// A function that the code exports. Throws Error when there is none of this name.
  Kernel find(const char* name) { return engine_.streams().find_kernel(module_, name); }
  /// Launches, one after another, for run(). What their parameters refer to must live as long as the table, and may be
  /// changed between its runs. At least one, each with at most kParameterBytesMax. Throws Error.
  tca::TableId load(std::vector<Launch> launches) { return engine_.streams().load_kernels(std::move(launches)); }
  /// Kernels are not tried again: what is awaited throws Error (EIO) after the first failure.
  Copy run(tca::TableId table) noexcept { return engine_.start(table, 0); }

 private:
  CopyEngine engine_;
  Module module_;
};

}  // namespace coracle::internals::cuda
