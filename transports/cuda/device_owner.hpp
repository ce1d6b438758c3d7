// DeviceOwner: the process that makes all calls of CUDA for the ranks that share an address space, since the driver
// binds its files to the process that opened them. It outlives the ranks, and works what they ask for by their queues.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/core/event_loop.hpp"
#include "runtime/core/task.hpp"
#include "runtime/job/job.hpp"
#include "transports/cuda/command_queue.hpp"
#include "transports/cuda/loop_host.hpp"
#include "transports/cuda/own_devices.hpp"

namespace coracle::internals::cuda {

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
  struct Table {
    tca::TableId id;
    std::string refusal;                // why it could not be loaded
    std::vector<std::byte> parameters;  // of kernels; by the rank, before each start
  };
  /// What works for one queue. When its rank has died it ends as soon as its streams rest.
  struct Client {
    std::unique_ptr<LoopHost> host;
    std::unique_ptr<CudaDevice> device;
    std::vector<Table> tables;                                      // by the rank's numbers
    std::array<std::uint64_t, CudaDevice::kChannelsMax> working{};  // the sequence that is under way; 0: none
    std::array<std::uint32_t, CudaDevice::kChannelsMax> working_on{};

    bool has(std::uint32_t table) const noexcept { return table < tables.size() && tables[table].id.valid(); }
    bool works_on(std::uint32_t table) const noexcept;
  };

  /// What a rank has closed while others worked.
  struct Retired {
    std::unique_ptr<LoopHost> host;
    std::unique_ptr<CudaDevice> device;
    std::vector<Table> tables;
  };

  bool poll() noexcept override;
  void about_to_sleep() noexcept override;
  Task<> until_the_end();
  bool worth_spinning() const noexcept;

  bool serve(std::uint64_t place) noexcept;
  void carry_out(std::uint64_t place, const DeviceCommand& command) noexcept;
  bool publish(std::uint64_t place) noexcept;
  bool close_of_lost() noexcept;
  bool works() const noexcept;
  std::uint64_t driver_ns(std::uint64_t bytes) const noexcept;
  bool end_retired() noexcept;
  void tell(std::uint64_t place, unsigned channel, std::uint64_t sequence, const std::string& failure) noexcept;
  RankBlock& rank_of(std::uint64_t place) const noexcept;

  /// Throws Error where it has none.
  static CudaDevice& device_of(Client& client);
  void load(Client& client, const DeviceCommand& command) noexcept;
  void unload(Client& client, std::uint32_t number) noexcept;
  void start(std::uint64_t place, const DeviceCommand& command) noexcept;
  void answer(std::uint64_t place, const DeviceCommand& command) noexcept;
  Status carry_out_call(std::uint64_t place, const DeviceCommand& command, std::uint64_t& value);
  Status carry_out_driver_call(const DeviceCommand& command, std::uint64_t& value);
  Status allocate(const DeviceCommand& command, std::uint64_t& value);
  Status give_back(const DeviceCommand& command);
  std::uint64_t load_kernels(Client& client, const DeviceCommand& command);
  void open_device(std::uint64_t place, const CudaOptions& options);
  void close_device(Client& client) noexcept;
  void note_hanging() noexcept;
  Status allocate_pinned(std::size_t bytes, std::uint64_t& address);
  Status release_pinned(std::uint64_t address);

  const JobRegion& region_;
  CudaApi& api_;
  EventLoop loop_;
  coracle::internals::Event over_;
  bool sleepy_ = false;
  bool hangs_ = false;           // some stream, perhaps one of a device that has been closed since
  std::vector<Client> clients_;  // one for each queue
  std::vector<std::atomic<std::uint64_t>> calling_;
  CommandQueue* const queues_;  // memory that is taken when it is touched
  CommandQueues offered_;
  std::vector<std::uint64_t> open_;  // clients with a device
  // Until nothing works: the driver waits for all work, of any rank, when code or memory is given back.
  std::vector<Retired> retired_;
  std::vector<DeviceCommand> returned_;
  std::map<std::uint64_t, std::size_t> pinned_;
};

}  // namespace coracle::internals::cuda
