// Ranks over PEACH2 boards in one thread, whose loops turn and whose devices advance only when a test says so.
#pragma once

#include <coracle/coracle.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/launch/boot.hpp"
#include "transports/connect.hpp"
#include "transports/tca/peach2_device.hpp"
#include "transports/tca/tca_memory.hpp"
#include "transports/tca/tca_transport.hpp"

namespace coracle::internals::tca {

/// What surrounds one rank's device: a clock of its own, which SteppedJob keeps with the others'.
class SteppedHost final : public DeviceHost, public Clock {
 public:
  SteppedHost(const JobRegion& region, std::uint32_t rank) noexcept : registered_(region), rank_(rank) {}

  std::uint64_t now_ns() const noexcept override { return now_ns_; }
  void go_to(std::uint64_t time_ns) noexcept { now_ns_ = std::max(now_ns_, time_ns); }
  /// When the device wants to advance; ~0: never.
  std::uint64_t alarm_ns() const noexcept { return alarm_ns_; }
  void forget_alarm() noexcept { alarm_ns_ = ~std::uint64_t{0}; }
  void alarm(std::uint64_t time_ns) noexcept override { alarm_ns_ = time_ns; }
  void copied(std::size_t) noexcept override {}
  void landed(std::byte*) noexcept override {}
  void progressed() noexcept override {}
  bool is_source(const std::byte* begin, std::size_t bytes) const noexcept override {
    return registered_.contains(rank_, begin, bytes);
  }
  std::uint32_t owner_of(const std::byte* begin, std::size_t bytes) const noexcept override {
    return registered_.owner_of(begin, bytes);
  }
  bool is_target_of(std::uint32_t owner, const std::byte* begin, std::size_t bytes) const noexcept override {
    return owner != kNobody && registered_.contains(owner, begin, bytes);
  }

 private:
  const RegisteredMemory registered_;
  const std::uint32_t rank_;
  std::uint64_t now_ns_ = 1;
  std::uint64_t alarm_ns_ = ~std::uint64_t{0};
};

class SteppedJob {
 public:
  explicit SteppedJob(std::uint32_t ranks) : region_(JobRegion::create(shape(ranks), JobRegion::Backing::anonymous)) {
    for (std::uint32_t id = 0; id < ranks; ++id) members_.push_back(std::make_unique<Member>(region_, id));
  }

  Rank& rank(std::uint32_t id) noexcept { return members_[id]->self; }
  TcaTransport& transport(std::uint32_t id) noexcept { return *members_[id]->transport; }
  /// A place in a rank's segment, and its address here.
  static RemoteAddress place(std::uint32_t rank, std::uint64_t offset) noexcept { return {offset, rank, 0}; }
  std::byte* memory(std::uint32_t rank, std::uint64_t offset) const noexcept { return region_.segment(rank) + offset; }

  /// A busy rank: its loop does not turn, though its device goes on.
  void set_busy(std::uint32_t rank, bool busy) noexcept { members_[rank]->busy = busy; }
  /// Devices advance to what happens next, then loops turn. False when nothing will happen any more.
  bool step() {
    bool progress = false;
    for (auto& member : members_) {
      if (member->busy) continue;
      member->loop.exact_now_ns();
      progress |= member->loop.turn();
    }
    if (progress) return true;
    std::uint64_t next = ~std::uint64_t{0};
    for (auto& member : members_) next = std::min(next, member->next_ns());
    if (next == ~std::uint64_t{0}) return false;
    for (auto& member : members_) {
      member->host.go_to(next);
      if (member->host.alarm_ns() > next) continue;
      member->host.forget_alarm();
      member->device->advance(next);
    }
    return true;
  }
  /// Until nothing is left to be done.
  void settle() {
    while (step()) {
    }
  }
  /// For so long, by the devices' clocks.
  void settle_for(std::uint64_t duration_ns) {
    const std::uint64_t until_ns = members_[0]->host.now_ns() + duration_ns;
    while (members_[0]->host.now_ns() < until_ns && step()) {
    }
  }

 private:
  struct Member {
    Member(const JobRegion& region, std::uint32_t id) : host(region, id), loop(host), self(region, id, loop) {
      auto own_device = std::make_unique<Peach2Device>(Peach2Model(), host);
      device = own_device.get();
      auto own = std::make_unique<TcaTransport>(self, std::move(own_device));
      transport = own.get();
      self.core().set_transport(std::move(own), false, true);
    }
    std::uint64_t next_ns() {
      const bool has_timer = !busy && !loop.timers().empty();
      return std::min(host.alarm_ns(),
                      has_timer ? std::max(loop.timers().earliest_ns(), host.now_ns() + 1) : ~std::uint64_t{0});
    }
    SteppedHost host;
    EventLoop loop;
    WholeRank self;
    Peach2Device* device;
    TcaTransport* transport;
    bool busy = false;
  };

  static JobShape shape(std::uint32_t ranks) {
    JobShape shape;
    shape.size = ranks;
    shape.segment_bytes = 4 << 20;
    shape.inbox_bytes = PacketArea::bytes(ranks);
    return shape;
  }

  const JobRegion region_;
  std::vector<std::unique_ptr<Member>> members_;
};

/// Operations as the runtime makes them, with memory that lives as long as they do, in the order of their start.
class Operations {
 public:
  explicit Operations(TcaTransport& transport) noexcept : transport_(transport) {}

  Operation& put(std::span<const std::byte> source, RemoteAddress target) { return start(made_put(source, target)); }
  /// The signal, one of the target's rank, is raised by 1.
  Operation& put_signal(std::span<const std::byte> source, RemoteAddress target, RemoteAddress signal) {
    Operation& operation = made_put(source, target);
    operation.signal = signal;
    operation.signal_add = 1;
    return start(operation);
  }
  Operation& get(RemoteAddress source, std::span<std::byte> target) {
    Operation& operation = puts_.emplace_back(Operation::Verb::get, "get", source.rank);
    operation.local = target.data();
    operation.bytes = target.size();
    operation.remote = source;
    return start(operation);
  }
  Operation& fetch_add(RemoteAddress place, std::uint64_t operand) {
    Operation& operation = puts_.emplace_back(Operation::Verb::fetch_add, "fetch_add", place.rank);
    operation.bytes = operation.width;
    operation.remote = place;
    operation.operand = operand;
    operation.compare = 0;
    return start(operation);
  }
  RequestOperation& request(std::uint32_t peer, HandlerId handler, std::span<const std::byte> payload,
                            std::uint64_t argument) {
    RequestOperation& operation = requests_.emplace_back(peer);
    operation.header.handler = handler;
    operation.header.argument_count = 1;
    operation.header.arguments[0] = argument;
    operation.local = const_cast<std::byte*>(payload.data());
    operation.bytes = payload.size();
    transport_.submit(operation);
    return operation;
  }

 private:
  Operation& made_put(std::span<const std::byte> source, RemoteAddress target) {
    Operation& operation = puts_.emplace_back(Operation::Verb::put, "put", target.rank);
    operation.local = const_cast<std::byte*>(source.data());
    operation.bytes = source.size();
    operation.remote = target;
    return operation;
  }
  Operation& start(Operation& operation) {
    transport_.submit(operation);
    return operation;
  }

  TcaTransport& transport_;
  struct Kept final : Operation {
    using Operation::Operation;
  };
  struct KeptRequest final : RequestOperation {
    using RequestOperation::RequestOperation;
  };
  std::deque<Kept> puts_;
  std::deque<KeptRequest> requests_;
};

}  // namespace coracle::internals::tca
