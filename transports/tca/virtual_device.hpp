// A device in virtual time without any rank, for the model's figures and for tests: nothing happens but what they let
// happen.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>

#include "runtime/core/timer.hpp"
#include "transports/tca/dma_engine.hpp"
#include "transports/tca/peach2_device.hpp"

namespace coracle::internals::tca {

class VirtualHost final : public DeviceHost, public Clock {
 public:
  /// These bytes are registered.
  VirtualHost(const std::byte* begin, std::size_t bytes) noexcept : first_(begin), bytes_(bytes) {}

  std::uint64_t now_ns() const noexcept override { return now_ns_; }
  void go_to(std::uint64_t time_ns) noexcept { now_ns_ = std::max(now_ns_, time_ns); }
  /// When the device wants to advance next; ~0: never.
  std::uint64_t alarm_ns() const noexcept { return alarm_ns_; }
  void alarm(std::uint64_t time_ns) noexcept override { alarm_ns_ = time_ns; }
  void forget_alarm() noexcept { alarm_ns_ = ~std::uint64_t{0}; }
  void landed(std::byte*) noexcept override {}
  void progressed() noexcept override {}
  void copied(std::size_t) noexcept override {}
  bool is_source(const std::byte* begin, std::size_t bytes) const noexcept override { return is_ours(begin, bytes); }
  std::uint32_t owner_of(const std::byte* begin, std::size_t bytes) const noexcept override {
    return is_ours(begin, bytes) ? 0 : kNobody;
  }
  bool is_target_of(std::uint32_t, const std::byte* begin, std::size_t bytes) const noexcept override {
    return is_ours(begin, bytes);
  }

 private:
  bool is_ours(const std::byte* begin, std::size_t bytes) const noexcept {
    return begin >= first_ && begin <= first_ + bytes_ && bytes <= static_cast<std::size_t>(first_ + bytes_ - begin);
  }
  const std::byte* first_;
  std::size_t bytes_;
  std::uint64_t now_ns_ = 1;
  std::uint64_t alarm_ns_ = ~std::uint64_t{0};
};

/// With an engine on it, and memory of its own, zeroed.
class VirtualDma {
 public:
  explicit VirtualDma(std::size_t bytes, const Peach2Model& model = {}, const DmaOptions& options = {})
      : memory_(new(std::align_val_t{64}) std::byte[bytes]()),
        host_(memory_.get(), bytes),
        device_(model, host_),
        engine_(device_, host_, options) {}

  std::byte* memory() const noexcept { return memory_.get(); }
  std::uint64_t now_ns() const noexcept { return host_.now_ns(); }
  Peach2Device& device() noexcept { return device_; }
  DmaEngine& engine() noexcept { return engine_; }

  /// Lets time go on to the next thing that happens. False when nothing will.
  bool step() {
    if (engine_.poll()) return true;
    const std::uint64_t next = std::min(engine_.deadline_ns(), host_.alarm_ns());
    if (next == ~std::uint64_t{0}) return false;
    host_.go_to(next);
    host_.forget_alarm();
    device_.advance(host_.now_ns());
    return true;
  }
  /// Time passes, and neither the device nor the engine is looked at.
  void sleep(std::uint64_t duration_ns) noexcept { host_.go_to(host_.now_ns() + duration_ns); }
  /// Until all controllers have stopped.
  void rest() {
    while (step()) {
    }
  }

 private:
  struct Free {
    void operator()(std::byte* bytes) const noexcept { ::operator delete[](bytes, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte[], Free> memory_;
  VirtualHost host_;
  Peach2Device device_;
  DmaEngine engine_;
};

/// Notes how a transfer has ended.
struct Waited final : DmaTransfer {
  void ended(bool has_worked) noexcept override {
    over = true;
    worked = has_worked;
  }
  bool over = false;
  bool worked = false;
};

}  // namespace coracle::internals::tca
