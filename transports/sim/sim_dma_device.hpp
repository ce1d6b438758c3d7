// SimDmaDevice: a PEACH2 board of a simulated rank, in virtual time.
#pragma once

#include <cstdint>

#include "runtime/rank/transport.hpp"
#include "transports/sim/nature.hpp"
#include "transports/tca/peach2_device.hpp"
#include "transports/tca/tca_memory.hpp"
#include "transports/tca/tca_transport.hpp"

namespace coracle::internals::sim {

class SimDmaDevice final : private tca::DeviceHost, public tca::Peach2Device {
 public:
  SimDmaDevice(Nature& nature, std::uint32_t rank, const tca::Peach2Model& model);
  ~SimDmaDevice() override;
  void links_changed() noexcept override;
  /// The job ends: from here on nothing of it gets anywhere, and it looks at no other rank, which may be gone.
  void come_to_rest() noexcept;

 private:
  class Alarm;

  void set_alarm(std::uint64_t time_ns);
  std::uint64_t now_ns() const noexcept override { return nature_.schedule().now_ns(); }
  void alarm(std::uint64_t time_ns) noexcept override;
  void landed(std::byte* target) noexcept override;
  void progressed() noexcept override {
    if (!rests_) nature_.wake(rank_);
  }
  void copied(std::size_t bytes) noexcept override;
  bool is_source(const std::byte* begin, std::size_t bytes) const noexcept override {
    return registered_.contains(rank_, begin, bytes);
  }
  std::uint32_t owner_of(const std::byte* begin, std::size_t bytes) const noexcept override {
    return registered_.owner_of(begin, bytes);
  }
  bool is_target_of(std::uint32_t owner, const std::byte* begin, std::size_t bytes) const noexcept override {
    return owner != kNobody && registered_.contains(owner, begin, bytes);
  }
  tca::Passage passage_to(std::uint32_t owner) const noexcept override;

  Nature& nature_;
  const std::uint32_t rank_;
  const tca::RegisteredMemory registered_;
  bool rests_ = false;
  Alarm* alarm_ = nullptr;  // the one that counts; it owns itself
};

/// What a TCA transport needs of a simulated job. `transport`: the rank's own, which wakes others.
class SimPlatform final : public tca::TcaTransport::Platform {
 public:
  SimPlatform(Nature& nature, Transport& transport, std::uint32_t rank) noexcept
      : nature_(nature), transport_(transport), rank_(rank) {}
  void wake(std::uint32_t rank) noexcept override;
  std::uint64_t occupy(Scheduler& loop, std::uint64_t duration_ns) noexcept override;

 private:
  Nature& nature_;
  Transport& transport_;
  const std::uint32_t rank_;
};

}  // namespace coracle::internals::sim
