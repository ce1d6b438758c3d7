// OwnedDevice: a GPU's streams that another process works for this rank: the one that owns the GPUs of the shared
// address space. Tables and starts go there by a ring, without waiting; a word per channel tells the end.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/containers.hpp"
#include "transports/cuda/owner_link.hpp"
#include "transports/cuda/stream_device.hpp"

namespace coracle::internals::cuda {

// OwnedMemory: GPUs' memory as the process that owns the GPUs gives it to a rank. What concerns streams and code the
// rank leaves to its OwnedDevice.

/// Rank's thread only. When the owner is gone all calls fail with kOwnerGone.
class OwnedMemory final : public MemoryApi {
 public:
  explicit OwnedMemory(OwnerLink& link) noexcept : link_(link) {}

  /// A peer's memory on a GPU, which the owner has given to it: for pointer_info().
  void know(std::span<std::byte> memory, int device) {
    given_[memory.data()] = {memory.size(), {MemoryKind::device, device}};
  }

  const char* error_name(Status status) const noexcept override;
  const char* error_text(Status status) const noexcept override;
  Status device_count(int& count) noexcept override;
  Status use_device(int device) noexcept override;
  Status allocate(void*& memory, std::size_t bytes) noexcept override;
  Status release(void* memory) noexcept override;
  Status allocate_pinned(void*& memory, std::size_t bytes) noexcept override;
  Status release_pinned(void* memory) noexcept override;
  /// For all ranks, until the owner ends: others use it by then.
  Status register_host(void* begin, std::size_t bytes) noexcept override;
  Status unregister_host(void*) noexcept override { return kSuccess; }
  /// Of what this rank has allocated, or knows of.
  Status pointer_info(const void* pointer, PointerInfo& info) noexcept override;

 private:
  struct Given {
    std::size_t bytes;
    PointerInfo info;
  };

  Status call(const DeviceCommand& command, std::uint64_t& value) noexcept;
  Status take(const DeviceCommand& command, void*& memory, const PointerInfo& info) noexcept;
  Status give_back(DeviceCommand::Kind kind, void* memory) noexcept;

  OwnerLink& link_;
  int device_ = 0;
  std::map<const std::byte*, Given> given_;
  std::map<Status, std::pair<std::string, std::string>> names_;  // of what has been answered
  std::string gone_;
};

/// Rank's thread only; one at a time per link, or that of its queue.
class OwnedDevice final : public StreamDevice {
 public:
  /// `api` (of that rank) and `host` must outlive it. Throws Error as CudaDevice does.
  OwnedDevice(std::shared_ptr<OwnerLink> link, MemoryApi& api, CudaHost& host, const CudaOptions& options);
  ~OwnedDevice() override;

  const char* name() const noexcept override { return "cuda by its owner"; }
  const tca::DeviceRules& rules() const noexcept override { return rules_; }
  bool reads(const std::byte* begin, std::size_t bytes) const noexcept override;
  bool writes(std::byte* begin, std::size_t bytes) const noexcept override { return reads(begin, bytes); }
  /// What only the driver refuses fails the table's starts.
  tca::TableId load(tca::Chain chain) override { return load(chain, options_.way); }
  tca::TableId load(tca::Chain chain, TableWay way) override;
  void unload(tca::TableId table) noexcept override;
  void start(unsigned channel, tca::TableId table, std::uint64_t sequence) noexcept override;
  std::uint64_t completed(unsigned channel) const noexcept override;
  bool stopped(unsigned channel) const noexcept override;
  std::uint64_t elapsed_ns(unsigned channel) const noexcept override { return channels_[channel].elapsed_ns; }
  /// The owner does as CudaDevice does, and tells by the channel's word.
  void abort(unsigned channel) noexcept override;
  std::string failure(unsigned channel) const override;

  void advance(std::uint64_t now_ns) noexcept override;
  std::uint64_t spin_ns(unsigned channel, std::uint64_t now_ns) const noexcept override;
  Reach& reach() noexcept override { return reach_; }
  const std::string& model() const noexcept override { return model_; }

  /// These wait for the owner, and throw what CudaDevice does there.
  Module load_module(const void* code) override;
  Kernel find_kernel(Module module, const char* name) override;
  tca::TableId load_kernels(std::vector<Launch> launches) override;

 private:
  struct Loaded {
    std::vector<tca::Descriptor> chain;
    std::vector<Launch> launches;     // instead
    std::byte* parameters = nullptr;  // of the launches, at the owner
    std::uint64_t command = 0;        // the owner reads the chain until it has taken so many
    std::uint64_t bytes = 0;
    std::uint64_t measured_ns = 0;
  };
  struct Channel {
    bool works = false;
    bool lost = false;  // the owner was gone before the last table's end
    std::uint32_t table = 0;
    std::uint64_t sequence = 0;
    std::uint64_t before = 0;
    std::uint64_t started_ns = 0;
    std::uint64_t expected_ns = 0;
    std::uint64_t elapsed_ns = 0;
    std::uint64_t doubt_ns = 0;  // when the owner is asked whether it lives
  };

  const Answer& ask(const DeviceCommand& command);
  void settle(unsigned index) const noexcept;
  void drop_taken() noexcept;
  void set_alarm() noexcept;

  const std::shared_ptr<OwnerLink> link_;
  CudaHost& host_;
  const CudaOptions options_;
  tca::DeviceRules rules_;
  std::string model_;
  mutable Reach reach_;  // looking may pin what was added
  mutable std::array<Channel, CudaDevice::kChannelsMax> channels_;
  mutable Numbered<Loaded> tables_;
  std::deque<Loaded> parting_;  // unloaded, but perhaps not yet read
};

}  // namespace coracle::internals::cuda
