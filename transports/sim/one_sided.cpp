// One class per kind of transfer; each owns itself while it is on its way.
#include "transports/sim/one_sided.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/error.hpp"
#include "runtime/rank_core.hpp"
#include "transports/sim/sim_transport.hpp"

namespace coracle::sim {
namespace {

/// The request of a get or an atomic.
constexpr std::size_t kRequestBytes = 16;

/// What all transfers have.
class Transfer : public Happening {
 public:
  Transfer(SimTransport& from, Operation& operation) noexcept
      : from_(from), operation_(operation), bytes_(operation.bytes), target_(operation.remote.rank) {}
  virtual ~Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  void abandon() noexcept override { delete this; }
  std::uint64_t label() const noexcept override {
    return Random::mix(std::uint64_t{target_} << 32 | from_.id()) + 64 * bytes_ + 16 * stage_ +
           static_cast<std::uint64_t>(operation_.verb);
  }

 protected:
  World& world() noexcept { return from_.world(); }
  std::uint64_t now_ns() noexcept { return world().schedule().now_ns(); }
  const Link& link() noexcept { return world().wires().link(from_.id(), target_); }

  /// When the first of `bytes` that leave now reaches the target.
  std::uint64_t set_out(std::size_t bytes) noexcept {
    const std::uint64_t ready = world().engage(from_.id(), link().overhead_send_ns);
    const Wires::Span out = world().wires().send(from_.id(), target_, bytes, ready);
    return from_.reach_ns(target_, out.first_ns, !world().model().reorder);
  }
  void next(unsigned stage, std::uint64_t time_ns) noexcept {
    stage_ = stage;
    world().schedule().at(time_ns, *this);
  }
  std::uint64_t back_ns() noexcept { return now_ns() + link().latency_ns + world().jitter_ns(); }
  std::byte* target_memory() noexcept { return from_.memory().reach(operation_.remote, bytes_); }
  void end() noexcept {
    from_.complete(operation_, error_);
    delete this;
  }

  SimTransport& from_;
  Operation& operation_;
  const std::size_t bytes_;
  const std::uint32_t target_;
  unsigned stage_ = 0;
  std::error_code error_;
};

class Put final : public Transfer {
 public:
  using Transfer::Transfer;

  void start() noexcept {
    reach_ns_ = set_out(bytes_);
    next(kRead, now_ns() + world().random().up_to(reach_ns_ - now_ns()));
  }

  void happen() noexcept override {
    switch (stage_) {
      case kRead: {
        const auto* source = static_cast<const std::byte*>(operation_.local);
        data_.assign(source, source + bytes_);
        return next(kReaches, reach_ns_);
      }
      case kReaches:
        return next(kLands, world().wires().receive(from_.id(), target_, bytes_, now_ns()));
      case kLands:
        return land();
      case kRaises:
        return raise();
      default:
        end();
    }
  }

 private:
  enum : unsigned { kRead, kReaches, kLands, kRaises, kTold };

  void land() noexcept {
    std::byte* target = target_memory();
    // The memory may have been withdrawn meanwhile.
    if (target == nullptr) error_ = Errc::out_of_segment;
    if (target != nullptr && bytes_ > 0) std::memcpy(target, data_.data(), bytes_);
    data_ = {};
    world().wake(target_);
    if (operation_.signal_add == 0 || error_) return next(kTold, back_ns());
    next(kRaises, now_ns() + world().jitter_ns());
  }

  void raise() noexcept {
    const RemoteAddress& place = operation_.signal;
    if (std::byte* signal = from_.memory().reach(place, sizeof(std::uint64_t))) {
      local::raise_signal(signal, operation_.signal_add, world().region().block(place.rank).doorbell);
      world().wake(place.rank);
    } else {
      error_ = Errc::out_of_segment;
    }
    next(kTold, back_ns());
  }

  std::uint64_t reach_ns_ = 0;
  std::vector<std::byte> data_;
};

class Get final : public Transfer {
 public:
  using Transfer::Transfer;

  void start() noexcept { next(kAsks, set_out(kRequestBytes)); }

  void happen() noexcept override {
    switch (stage_) {
      case kAsks: {
        const std::byte* source = target_memory();
        if (source == nullptr) error_ = Errc::out_of_segment;
        if (source != nullptr) data_.assign(source, source + bytes_);
        const Wires::Span out = world().wires().send(target_, from_.id(), data_.size(), now_ns());
        return next(kReaches, out.first_ns + link().latency_ns + world().jitter_ns());
      }
      case kReaches:
        return next(kLands, world().wires().receive(target_, from_.id(), data_.size(), now_ns()));
      default:
        if (!data_.empty()) std::memcpy(operation_.local, data_.data(), data_.size());
        end();
    }
  }

 private:
  enum : unsigned { kAsks, kReaches, kLands };
  std::vector<std::byte> data_;
};

class Atomic final : public Transfer {
 public:
  using Transfer::Transfer;

  void start() noexcept { next(kPerforms, set_out(kRequestBytes)); }

  void happen() noexcept override {
    if (stage_ != kPerforms) return end();
    if (std::byte* place = target_memory()) {
      local::perform_atomic(operation_, place);
      world().wake(target_);
    } else {
      error_ = Errc::out_of_segment;
    }
    next(kTold, back_ns());
  }

 private:
  enum : unsigned { kPerforms, kTold };
};

}  // namespace

void start_one_sided(SimTransport& from, Operation& operation) noexcept {
  switch (operation.verb) {
    case Operation::Verb::put:
      return std::make_unique<Put>(from, operation).release()->start();  // owns itself from here on
    case Operation::Verb::get:
      return std::make_unique<Get>(from, operation).release()->start();  // owns itself from here on
    default:
      return std::make_unique<Atomic>(from, operation).release()->start();  // owns itself from here on
  }
}

}  // namespace coracle::sim
