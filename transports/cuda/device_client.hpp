// DeviceClient: what the owner of the GPUs works for one command queue of a rank: a device with its tables.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "runtime/job/job.hpp"
#include "transports/cuda/command_queue.hpp"
#include "transports/cuda/stream_device.hpp"

namespace coracle::internals::cuda {

/// The owner's thread only. A rank that has gone astray must not take the others' owner with it: commands that make no
/// sense are left undone.
class DeviceClient {
 public:
  /// Both must outlive it.
  DeviceClient(CommandQueue& queue, Doorbell& rank) noexcept : queue_(queue), rank_(rank) {}

  /// In place of what was closed. Throws Error as CudaDevice does.
  void open(EventLoop& loop, CudaApi& api, const CudaOptions& options);
  bool is_open() const noexcept { return device_ != nullptr; }
  /// Throws Error where it has none.
  CudaDevice& device() const;
  LoopHost& host() const noexcept { return *host_; }
  /// Nothing is left here; until the result ends nothing is given back to the driver.
  DeviceClient close() noexcept;

  void load(const DeviceCommand& command) noexcept;
  /// Gives where the parameters are to be. Throws Error.
  std::uint64_t load_kernels(const DeviceCommand& command);
  void unload(std::uint32_t table) noexcept;
  void start(const DeviceCommand& command) noexcept;
  void abort(std::uint32_t channel) noexcept;

  /// Tells the rank what is over; false: nothing is.
  bool publish() noexcept;
  bool works() const noexcept;
  bool worth_spinning(std::uint64_t now_ns) const noexcept;

 private:
  struct LoadedTable {
    tca::TableId id;
    std::string refusal;                // why it could not be loaded
    std::vector<std::byte> parameters;  // of kernels; by the rank, before each start
  };

  bool has(std::uint32_t table) const noexcept { return table < tables_.size() && tables_[table].id.valid(); }
  bool may_load(std::uint32_t table) const noexcept;
  LoadedTable& table_at(std::uint32_t table);
  void tell(unsigned channel, std::uint64_t sequence, const std::string& failure) noexcept;

  CommandQueue& queue_;
  Doorbell& rank_;
  std::unique_ptr<LoopHost> host_;
  std::vector<LoadedTable> tables_;  // by the rank's numbers
  std::unique_ptr<CudaDevice> device_;
  std::array<std::uint64_t, CudaDevice::kChannelsMax> working_{};  // the sequence that is under way; 0: none
  std::array<std::uint32_t, CudaDevice::kChannelsMax> working_on_{};
};

}  // namespace coracle::internals::cuda
