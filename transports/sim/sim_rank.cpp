// Turning one rank's loop.
#include "transports/sim/sim_rank.hpp"

#include <unistd.h>

#include <algorithm>

#include "transports/sim/sim_dma_device.hpp"

namespace coracle::internals::sim {

SimRank::SimRank(const Job& job, std::uint32_t id)
    : job_(job),
      loop_(job_.nature.schedule(), &job_.nature.region().block(id).doorbell),
      watch_(static_cast<int>(id), &job_.nature.region().block(id), loop_),
      tools_(job_.nature.region(), id, loop_),
      rank_(job_.nature.region(), id, loop_) {
  auto transport = std::make_unique<SimTransport>(job_.nature, job_.transports, rank_);
  transport_ = transport.get();
  // Not by load and store: every operation takes its time, although all memory is at hand.
  if (job_.nature.region().shape().network.transport == RemoteTransport::tca) {
    rank_.core().routes().add(std::move(transport));
    auto devices = std::make_unique<tca::TcaTransport>(
        rank_, std::make_unique<SimDmaDevice>(job_.nature, id, job_.nature.model().board), tca::DmaOptions(),
        std::make_unique<SimPlatform>(job_.nature, *transport_, id));
    transport_->leave_to(*devices);
    rank_.core().set_transport(std::move(devices), false, true);
  } else {
    rank_.core().set_transport(std::move(transport), false, true);
  }
  loop_.set_ready_order(this);
  RankBlock& block = job_.nature.region().block(id);
  block.pid.store(::getpid(), std::memory_order_relaxed);
  block.phase.store(RankPhase::attached, std::memory_order_release);  // pairs with the launcher's acquire, as in boot
}

std::size_t SimRank::pick(std::size_t count) noexcept {
  return job_.nature.random().below(count);
}

void SimRank::turn_by(std::uint64_t time_ns) noexcept {
  if (end_.reached) return;
  const std::uint64_t time = std::max(time_ns, busy_until_ns_);
  if (turn_at_ns_ <= time) return;
  turn_at_ns_ = time;
  job_.nature.schedule().at(time, *this);
}

std::uint64_t SimRank::engage(std::uint64_t duration_ns) noexcept {
  busy_until_ns_ = std::max(busy_until_ns_, job_.nature.schedule().now_ns()) + duration_ns;
  return busy_until_ns_;
}

void SimRank::happen() noexcept {
  // An earlier turn may have taken the place of this one.
  if (turn_at_ns_ != job_.nature.schedule().now_ns() || end_.reached) return;
  turn_at_ns_ = kNever;
  // What has woken this rank may have come before it began what keeps it busy.
  if (busy_until_ns_ > job_.nature.schedule().now_ns()) return turn_by(busy_until_ns_);
  const Faults& faults = job_.nature.faults();
  if (faults.dead(id()) || faults.stopped(id())) return;  // what was missed, resuming makes up for
  const bool progress = turn();
  if (end_.reached) return;
  const std::uint64_t now = job_.nature.schedule().now_ns();
  if (progress) {
    const std::uint64_t step = job_.nature.model().step_ns;
    turn_by(now + step + (job_.nature.model().jitter_ns > 0 ? job_.nature.random().up_to(step) : 0));
  } else if (!loop_.timers().empty()) {
    turn_by(std::max(loop_.timers().earliest_ns(), now + 1));
  }
}

bool SimRank::turn_now() noexcept {
  const bool progress = turn();
  if (progress) turn_by(job_.nature.schedule().now_ns());
  with_io_ = !end_.reached && loop_.io_in_flight();
  return progress;
}

bool SimRank::turn() noexcept {
  watch_.mark_running();
  loop_.exact_now_ns();
  bool progress = true;
  if (started_) {
    progress = loop_.turn();
  } else {
    started_ = true;
    loop_.start_root(live(rank_, job_.app, job_.wiring), end_);
  }
  transport_->look_around();
  if (end_.reached) {
    finish();
  } else if (!with_io_ && loop_.io_in_flight()) {
    with_io_ = true;
    job_.runner.has_io(*this);
  }
  return progress;
}

void SimRank::finish() noexcept {
  job_.runner.has_ended(*this);
  if (end_.error) return;
  RankBlock& block = job_.nature.region().block(id());
  block.phase.store(RankPhase::finished, std::memory_order_release);  // as in the constructor
}

}  // namespace coracle::internals::sim
