#include "transports/cuda/stream_device.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/error.hpp"

namespace coracle::internals::cuda {

// What chains of descriptors and launches of kernels must be for a GPU.

namespace {

[[noreturn]] void refuse(const Reach& reach, tca::Chain chain, std::size_t index, const char* what) {
  const tca::Descriptor& each = chain[index];
  const std::string& refusal = reach.refusal();
  throw Error(
      Errc::bad_input,
      fmt::format("cuda: descriptor {} of {} (from {} to {}, {} blocks of {} bytes, strides {} and {}) {}{}{}", index,
                  chain.size(), fmt::ptr(each.source), fmt::ptr(each.target), each.count, each.block_bytes,
                  each.source_stride, each.target_stride, what, refusal.empty() ? "" : "; ", refusal));
}

}  // namespace

void check_chain(Reach& reach, tca::Chain chain) {
  if (chain.empty()) throw Error(Errc::bad_input, "a table of DMA descriptors is empty");
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const tca::Descriptor& each = chain[i];
    if (each.bytes() == 0) refuse(reach, chain, i, "copies nothing");
    const auto reached = [&](const std::byte* first, const std::byte* last) {
      const std::byte* begin = std::min(first, last);
      const std::byte* end = std::max(first, last) + each.block_bytes;
      return reach.location_of(begin, static_cast<std::size_t>(end - begin)).reached();
    };
    if (!reached(each.source, each.source_block(each.count - 1)))
      refuse(reach, chain, i, "reads memory that is neither a GPU's nor pinned");
    if (!reached(each.target, each.target_block(each.count - 1)))
      refuse(reach, chain, i, "writes memory that is neither a GPU's nor pinned");
  }
}

void check_launches(std::span<const Launch> launches) {
  if (launches.empty()) throw Error(Errc::bad_input, "a table of kernels is empty");
  for (std::size_t i = 0; i < launches.size(); ++i)
    if (launches[i].parameter.size() > kParameterBytesMax)
      throw Error(Errc::bad_input,
                  fmt::format("cuda: launch {} of {} has a parameter of {} bytes, and at most {} are possible: put the "
                              "rest into memory of the GPU, and its address into the parameter",
                              i, launches.size(), launches[i].parameter.size(), kParameterBytesMax));
}

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
