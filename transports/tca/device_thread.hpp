// DeviceThread: a PEACH2 board in real time: a thread that lets it advance, so that it moves bytes while its rank
// computes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/job/job.hpp"
#include "transports/tca/peach2_device.hpp"
#include "transports/tca/tca_memory.hpp"

namespace coracle::internals::tca {

class DeviceThread final : private DeviceHost, public Peach2Device {
 public:
  /// The device of `rank`. The region must outlive it.
  DeviceThread(const JobRegion& region, std::uint32_t rank, const Peach2Model& model);
  ~DeviceThread() override;

  TableId load(Chain chain) override;
  void unload(TableId table) noexcept override;
  void start(unsigned channel, TableId table, std::uint64_t sequence) noexcept override;
  void abort(unsigned channel) noexcept override;
  void store(std::uint64_t* target, std::uint64_t word) noexcept override;
  void copied(std::size_t) noexcept override {}
  void links_changed() noexcept override {}  // its peers' memory is at hand, also when they are dead
  void given_up(std::uint32_t peer) noexcept override;
  void break_down(const DeviceFaults& faults) noexcept override;

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  std::uint64_t now_ns() const noexcept override;
  void alarm(std::uint64_t time_ns) noexcept override { alarm_ns_ = time_ns; }
  void landed(std::byte* target) noexcept override;
  void progressed() noexcept override;
  bool is_source(const std::byte* begin, std::size_t bytes) const noexcept override {
    return registered_.contains(rank_, begin, bytes);
  }
  std::uint32_t owner_of(const std::byte* begin, std::size_t bytes) const noexcept override {
    return registered_.owner_of(begin, bytes);
  }
  bool is_target_of(std::uint32_t owner, const std::byte* begin, std::size_t bytes) const noexcept override {
    return owner != kNobody && registered_.contains(owner, begin, bytes);
  }
  std::atomic<std::uint64_t>* access_mark() noexcept override { return &region_.block(rank_).accessed_by_device; }
  Passage passage_to(std::uint32_t owner) const noexcept override;
  void work() noexcept;

  const JobRegion& region_;
  const std::uint32_t rank_;
  const RegisteredMemory registered_;
  // The mutex guards all below, and the device but for what it tells of its channels.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t alarm_ns_ = kNever;
  bool ends_ = false;
  std::vector<std::uint32_t> given_up_;  // peers
  std::thread thread_;
};

}  // namespace coracle::internals::tca
