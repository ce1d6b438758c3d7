#include "transports/cuda/loop_host.hpp"

namespace coracle::internals::cuda {

void LoopHost::stop() noexcept {
  if (armed()) loop_.timers().disarm(*this);
  device_ = nullptr;
}

void LoopHost::about_to_sleep() const noexcept {
  // seq_cst: pairs with ring(): of the loop's announcement and this load, and the addition and the doorbell's load
  // there, one side sees the other (see Doorbell); and the words that were written before the ring.
  static_cast<void>(rings_.load(std::memory_order_seq_cst));
}

/// One that is set stays: looking too early does no harm, and each start of a short table sets one.
void LoopHost::alarm(std::uint64_t time_ns) noexcept {
  if (armed() && alarm_ns_ <= time_ns) return;
  if (armed()) loop_.timers().disarm(*this);
  alarm_ns_ = time_ns;
  loop_.timers().arm(*this, time_ns);
}

void LoopHost::ring() noexcept {
  rings_.fetch_add(1, std::memory_order_seq_cst);  // pairs with about_to_sleep()
  loop_.doorbell().ring();
}

void LoopHost::fire() noexcept {
  if (device_ != nullptr) device_->advance(loop_.clock().now_ns());
}

}  // namespace coracle::internals::cuda
