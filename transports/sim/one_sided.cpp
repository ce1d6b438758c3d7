// One class per kind of transfer; each owns itself while it is on its way.
#include "transports/sim/sim_end.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/rank/rank_core.hpp"

namespace coracle::internals::sim {
namespace {

/// The request of a get or an atomic.
constexpr std::size_t kRequestBytes = 16;

/// What all transfers have.
class Transfer : public Transit {
 public:
  Transfer(SimEnd& from, Operation& what) noexcept
      : from_(from), verb_(what.verb), bytes_(what.bytes), remote_(what.remote), target_(what.remote.rank) {
    from.take_off(*this, what);
  }

  std::uint64_t label() const noexcept override {
    return Random::mix(std::uint64_t{target_} << 32 | from_.id()) + 64 * bytes_ + 16 * stage_ +
           static_cast<std::uint64_t>(verb_);
  }

  void happen() noexcept final {
    if (orphaned && !goes_on_alone()) return delete this;
    const Way now = way();
    if (now == Way::out && nature().faults().hold(*this, from_.id(), target_)) return;
    if (now == Way::back && nature().faults().hold(*this, target_, from_.id())) return;
    // What comes from a peer that the target has lost is not let in: its sender will be told, or find out.
    if (now == Way::out && nature().has_lost(target_, from_.id())) return refused();
    step();
  }

 protected:
  enum class Way : std::uint8_t { none, out, back };
  /// Where it is about to arrive.
  virtual Way way() const noexcept = 0;
  virtual void step() noexcept = 0;
  /// Whether it needs its sender no more.
  virtual bool goes_on_alone() const noexcept { return false; }

  Nature& nature() noexcept { return from_.nature(); }
  std::uint64_t now_ns() noexcept { return nature().schedule().now_ns(); }
  const Link& link() noexcept { return nature().wires().link(from_.id(), target_); }

  /// When the first of `bytes` that leave now reaches the target.
  std::uint64_t set_out(std::size_t bytes) noexcept {
    const std::uint64_t ready = nature().engage(from_.id(), link().overhead_send_ns);
    const Wires::Span out = nature().wires().send(from_.id(), target_, bytes, ready);
    return from_.reach_ns(target_, out.first_ns, !nature().model().reorder);
  }
  void next(unsigned stage, std::uint64_t time_ns) noexcept {
    stage_ = stage;
    nature().schedule().at(time_ns, *this);
  }
  std::uint64_t back_ns() noexcept {
    return now_ns() + nature().latency_ns(target_, from_.id()) + nature().jitter_ns();
  }
  std::byte* target_memory() noexcept { return from_.memory().reach(remote_, bytes_); }
  void end() noexcept {
    if (!orphaned) from_.complete(*this, error_);
    delete this;
  }
  void refused() noexcept {
    if (orphaned) return delete this;
    nature().faults().keep(*this);
  }

  SimEnd& from_;
  const Operation::Verb verb_;
  const std::size_t bytes_;
  const RemoteAddress remote_;
  const std::uint32_t target_;
  unsigned stage_ = 0;
  std::error_code error_;
};

class Put final : public Transfer {
 public:
  Put(SimEnd& from, Operation& what) noexcept : Transfer(from, what), signal_add_(what.signal_add) {
    if (signal_add_ > 0) signal_ = what.signal;
  }

  void start() noexcept {
    reach_ns_ = set_out(bytes_);
    outlives_ = nature().faults().any_planned() && nature().random().below(2) == 0;
    next(kRead, now_ns() + nature().random().up_to(reach_ns_ - now_ns()));
  }

 private:
  enum : unsigned { kRead, kReaches, kLands, kRaises, kTold };

  Way way() const noexcept override {
    if (stage_ == kTold) return Way::back;
    return stage_ == kReaches || stage_ == kLands ? Way::out : Way::none;
  }
  // It may be on the wire, and land although nobody will be told.
  bool goes_on_alone() const noexcept override { return stage_ != kRead && outlives_; }

  void step() noexcept override {
    switch (stage_) {
      case kRead: {
        const auto* source = static_cast<const std::byte*>(operation->local);
        data_.assign(source, source + bytes_);
        return next(kReaches, reach_ns_);
      }
      case kReaches:
        return next(kLands, nature().wires().receive(from_.id(), target_, bytes_, now_ns()));
      case kLands:
        return land();
      case kRaises:
        return raise();
      default:
        end();
    }
  }

  void land() noexcept {
    std::byte* target = target_memory();
    // The memory may have been withdrawn meanwhile.
    if (target == nullptr) error_ = Errc::out_of_segment;
    if (target != nullptr && bytes_ > 0) std::memcpy(target, data_.data(), bytes_);
    data_ = {};
    nature().wake(target_);
    if (signal_add_ == 0 || error_) return next(kTold, back_ns());
    next(kRaises, now_ns() + nature().jitter_ns());
  }

  void raise() noexcept {
    if (std::byte* signal = from_.memory().reach(signal_, sizeof(std::uint64_t))) {
      local::raise_signal(signal, signal_add_, nature().region().block(signal_.rank).doorbell);
      nature().wake(signal_.rank);
    } else {
      error_ = Errc::out_of_segment;
    }
    next(kTold, back_ns());
  }

  std::uint64_t reach_ns_ = 0;
  std::uint64_t signal_add_;
  RemoteAddress signal_{};
  bool outlives_ = false;
  std::vector<std::byte> data_;
};

class Get final : public Transfer {
 public:
  using Transfer::Transfer;

  void start() noexcept { next(kAsks, set_out(kRequestBytes)); }

 private:
  enum : unsigned { kAsks, kReaches, kLands };
  Way way() const noexcept override {
    if (stage_ == kReaches) return Way::back;
    return stage_ == kAsks ? Way::out : Way::none;
  }

  void step() noexcept override {
    switch (stage_) {
      case kAsks: {
        const std::byte* source = target_memory();
        if (source == nullptr) error_ = Errc::out_of_segment;
        if (source != nullptr) data_.assign(source, source + bytes_);
        const Wires::Span out = nature().wires().send(target_, from_.id(), data_.size(), now_ns());
        return next(kReaches, out.first_ns + nature().latency_ns(target_, from_.id()) + nature().jitter_ns());
      }
      case kReaches:
        return next(kLands, nature().wires().receive(target_, from_.id(), data_.size(), now_ns()));
      default:
        if (!data_.empty()) std::memcpy(operation->local, data_.data(), data_.size());
        end();
    }
  }

  std::vector<std::byte> data_;
};

class Atomic final : public Transfer {
 public:
  using Transfer::Transfer;

  void start() noexcept { next(kPerforms, set_out(kRequestBytes)); }

 private:
  enum : unsigned { kPerforms, kTold };
  Way way() const noexcept override { return stage_ == kPerforms ? Way::out : Way::back; }

  void step() noexcept override {
    if (stage_ != kPerforms) return end();
    if (std::byte* place = target_memory()) {
      local::perform_atomic(*operation, place);
      nature().wake(target_);
    } else {
      error_ = Errc::out_of_segment;
    }
    next(kTold, back_ns());
  }
};

}  // namespace

void start_one_sided(SimEnd& from, Operation& operation) noexcept {
  switch (operation.verb) {
    case Operation::Verb::put:
      return std::make_unique<Put>(from, operation).release()->start();  // owns itself from here on
    case Operation::Verb::get:
      return std::make_unique<Get>(from, operation).release()->start();  // owns itself from here on
    default:
      return std::make_unique<Atomic>(from, operation).release()->start();  // owns itself from here on
  }
}

}  // namespace coracle::internals::sim
