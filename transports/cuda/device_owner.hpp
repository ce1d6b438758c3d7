// DeviceOwner: the process that makes all calls of CUDA for the ranks that share an address space, since the driver
// binds its files to the process that opened them. It outlives the ranks, and works what they ask for by their queues.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/core/event_loop.hpp"
#include "runtime/core/task.hpp"
#include "runtime/job/job.hpp"
#include "transports/cuda/command_queue.hpp"
#include "transports/cuda/stream_device.hpp"

namespace coracle::internals::cuda {

// DeviceClient: what the owner of the GPUs works for one command queue of a rank: a device with its tables.

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

/// What memory the owner of the GPUs has given to ranks, on GPUs and pinned.
class GivenMemory {
 public:
  explicit GivenMemory(CudaApi& api) noexcept : api_(api) {}

  /// Each with the address.
  Status allocate(const DeviceCommand& command, std::uint64_t& address);
  Status allocate_pinned(std::size_t bytes, std::uint64_t& address);
  /// Memory of either kind.
  Status give_back(const DeviceCommand& command);
  /// Likewise, later: the driver would wait for all work, of any rank.
  void put_off(const DeviceCommand& command) { returned_.push_back(command); }

  bool has_returned() const noexcept { return !returned_.empty(); }
  /// Gives back what was put off. `leave`: leaves it to the end of the process instead.
  void end_returned(bool leave) noexcept;

 private:
  CudaApi& api_;
  std::vector<DeviceCommand> returned_;
  std::map<std::uint64_t, std::size_t> pinned_;
};

/// What the process does that the launcher has started for it (Wiring::own_devices), on CUDA. Returns the exit status;
/// what goes wrong is printed.
int own_devices(const JobRegion& region);
/// The same on what stands in for CUDA, for programs that ask in main() whether they have been started for it
/// (DeviceOwnerRecord::kVariable).
int own_devices_on(CudaApi& api);

class DeviceOwner final : private Poller {
 public:
  /// `region` and `api` must outlive it. From now on ranks find it.
  DeviceOwner(const JobRegion& region, CudaApi& api);
  ~DeviceOwner() override;
  DeviceOwner(const DeviceOwner&) = delete;
  DeviceOwner& operator=(const DeviceOwner&) = delete;

  /// Until the launcher says that all ranks have ended. What went wrong before that would end the process on the spot:
  /// ranks look at this object's memory.
  void run() noexcept;

 private:
  bool poll() noexcept override;
  void about_to_sleep() noexcept override;
  Task<> until_the_end();
  bool worth_spinning() const noexcept;

  bool serve(std::uint64_t place) noexcept;
  void carry_out(std::uint64_t place, const DeviceCommand& command) noexcept;
  void answer(std::uint64_t place, const DeviceCommand& command) noexcept;
  Status carry_out_call(std::uint64_t place, const DeviceCommand& command, std::uint64_t& value);
  Status carry_out_driver_call(const DeviceCommand& command, std::uint64_t& value);

  void open_device(std::uint64_t place, const CudaOptions& options);
  void close_device(std::uint64_t place) noexcept;
  bool close_of_lost() noexcept;
  bool end_retired() noexcept;
  void note_hanging() noexcept;

  bool works() const noexcept;
  std::uint64_t driver_ns(std::uint64_t bytes) const noexcept;
  RankBlock& rank_of(std::uint64_t place) const noexcept;

  const JobRegion& region_;
  CudaApi& api_;
  EventLoop loop_;
  coracle::internals::Event over_;
  bool sleepy_ = false;
  bool hangs_ = false;  // some stream, perhaps one of a device that has been closed since
  const std::uint64_t queue_count_;
  std::vector<std::atomic<std::uint64_t>> calling_;
  CommandQueue* const queues_;  // memory that is taken when it is touched
  CommandQueues offered_;
  std::vector<DeviceClient> clients_;  // one for each queue. When its rank has died it ends as soon as its streams rest
  std::vector<std::uint64_t> open_;    // clients with a device
  GivenMemory memory_;
  // Until nothing works: the driver waits for all work, of any rank, when code or memory is given back.
  std::vector<DeviceClient> retired_;
};

}  // namespace coracle::internals::cuda
