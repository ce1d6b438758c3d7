// A board in virtual time, for tests: nothing runs but what they let run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>

#include "runtime/clock.hpp"
#include "transports/tca/dma_engine.hpp"
#include "transports/tca/peach2_board.hpp"

namespace coracle::test {

class VirtualHost final : public tca::BoardHost, public Clock {
 public:
  std::uint64_t now_ns() const noexcept override { return now_ns_; }
  void alarm(std::uint64_t time_ns) noexcept override { alarm_ns_ = time_ns; }
  void landed(std::byte*) noexcept override { ++landings; }
  void progressed() noexcept override {}
  void copied(std::size_t) noexcept override {}
  bool is_source(const std::byte* begin, std::size_t bytes) const noexcept override { return is_ours(begin, bytes); }
  bool is_target(const std::byte* begin, std::size_t bytes) const noexcept override { return is_ours(begin, bytes); }

  /// All memory between these is registered.
  const std::byte* first = nullptr;
  const std::byte* last = nullptr;
  std::uint64_t landings = 0;
  std::uint64_t now_ns_ = 1;
  std::uint64_t alarm_ns_ = 0;

 private:
  bool is_ours(const std::byte* begin, std::size_t bytes) const noexcept {
    return begin >= first && begin <= last && bytes <= static_cast<std::size_t>(last - begin);
  }
};

/// With an engine on it, and memory of its own.
struct VirtualDma {
  explicit VirtualDma(std::size_t bytes, const tca::Peach2Model& model = {}, const tca::DmaOptions& options = {})
      : memory(new(std::align_val_t{64}) std::byte[bytes]()),
        board((host.first = memory.get(), host.last = memory.get() + bytes, model), host),
        engine(board, host, options) {}

  /// Lets time go on to the next thing that happens. False when nothing will.
  bool step() {
    if (engine.poll()) return true;
    std::uint64_t next = engine.deadline_ns();
    if (host.alarm_ns_ > host.now_ns_) next = std::min(next, host.alarm_ns_);
    if (next == ~std::uint64_t{0}) return false;
    host.now_ns_ = std::max(host.now_ns_, next);
    host.alarm_ns_ = 0;
    board.advance(host.now_ns_);
    return true;
  }

  struct Free {
    void operator()(std::byte* bytes) const noexcept { ::operator delete[](bytes, std::align_val_t{64}); }
  };
  VirtualHost host;
  std::unique_ptr<std::byte[], Free> memory;
  tca::Peach2Board board;
  tca::DmaEngine engine;
};

struct Waited final : tca::DmaTransfer {
  void ended(bool has_worked) noexcept override {
    over = true;
    worked = has_worked;
  }
  bool over = false;
  bool worked = false;
};

}  // namespace coracle::test
