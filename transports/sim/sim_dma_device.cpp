#include "transports/sim/sim_dma_device.hpp"

#include <algorithm>

namespace coracle::internals::sim {

/// The device advances when its time has come, unless another alarm has taken its place.
class SimDmaDevice::Alarm final : public ScheduledEvent {
 public:
  Alarm(SimDmaDevice& device, std::uint64_t time_ns) noexcept
      : device_(&device), time_ns_(time_ns), rank_(device.rank_) {}
  std::uint64_t time_ns() const noexcept { return time_ns_; }
  void forget() noexcept { device_ = nullptr; }

  void happen() noexcept override {
    if (device_ != nullptr) {
      device_->alarm_ = nullptr;
      device_->links_changed();
    }
    delete this;
  }
  void abandon() noexcept override {
    if (device_ != nullptr) device_->alarm_ = nullptr;
    delete this;
  }
  std::uint64_t label() const noexcept override { return Random::mix(rank_) + 23; }

 private:
  SimDmaDevice* device_;
  std::uint64_t time_ns_;
  std::uint32_t rank_;
};

SimDmaDevice::SimDmaDevice(Nature& nature, std::uint32_t rank, const tca::Peach2Model& model)
    : Peach2Device(model, static_cast<tca::DeviceHost&>(*this)),
      nature_(nature),
      rank_(rank),
      registered_(nature.region()) {}

SimDmaDevice::~SimDmaDevice() {
  if (alarm_ != nullptr) alarm_->forget();
}

void SimDmaDevice::come_to_rest() noexcept {
  rests_ = true;
  if (alarm_ != nullptr) alarm_->forget();
  alarm_ = nullptr;
}

void SimDmaDevice::alarm(std::uint64_t time_ns) noexcept {
  if (rests_) return;
  const std::uint64_t time = std::max(time_ns, nature_.schedule().now_ns());
  if (alarm_ != nullptr && alarm_->time_ns() == time) return;
  if (alarm_ != nullptr) alarm_->forget();
  set_alarm(time);
}

void SimDmaDevice::set_alarm(std::uint64_t time_ns) {
  alarm_ = new Alarm(*this, time_ns);  // owns itself
  nature_.schedule().at(time_ns, *alarm_);
}

/// All that is due happens, unless the device's rank has died, and its device with it.
void SimDmaDevice::links_changed() noexcept {
  if (!nature_.faults().dead(rank_)) advance(nature_.schedule().now_ns());
}

/// A stopped or dead process keeps nobody from its memory. A peer that has lost this rank lets nothing of it in, and
/// until this rank knows of that it waits.
tca::Passage SimDmaDevice::passage_to(std::uint32_t owner) const noexcept {
  if (rests_) return {true, false, 0};
  if (!nature_.may_lose_ranks()) return {};
  if (owner == rank_ || owner >= nature_.region().shape().size) return {};
  const bool given_up = nature_.has_lost(rank_, owner);
  const bool shut = !given_up && nature_.has_lost(owner, rank_);
  return {shut || nature_.faults().cut(rank_, owner), given_up, nature_.faults().delay_ns(rank_, owner)};
}

void SimDmaDevice::landed(std::byte* target) noexcept {
  const std::uint32_t owner = registered_.owner_of_inbox(target);
  if (owner == tca::RegisteredMemory::kNobody) return;
  // As a DeviceThread: of a packet its count tells, which comes last.
  if (tca::PacketArea(nature_.region().inbox(owner), nature_.region().shape().size).has_cell(target))
    nature_.wake(owner);
}

void SimDmaDevice::copied(std::size_t bytes) noexcept {
  nature_.engage(rank_, nature_.model().inside.time_for(bytes));
}

void SimPlatform::wake(std::uint32_t rank) noexcept {
  transport_.wake(rank);
}

std::uint64_t SimPlatform::occupy(Scheduler&, std::uint64_t duration_ns) noexcept {
  return nature_.engage(rank_, duration_ns);
}

}  // namespace coracle::internals::sim
