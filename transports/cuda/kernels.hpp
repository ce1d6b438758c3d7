// Kernels: functions that run on a GPU, for coroutines: `co_await kernels.run(table);` ends when they have run. They
// have a stream of their own, so that a GPU's copies go on beside them; otherwise they are what tables of copies are.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "transports/cuda/copy_engine.hpp"

namespace coracle::internals::cuda {

using tca::TableId;

/// A module of code on a device. Loop's thread only.
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
