// The scheduler of a simulated job.
#include "transports/sim/world.hpp"

#include <time.h>

#include "runtime/error.hpp"
#include "transports/sim/deadlock.hpp"
#include "transports/sim/sim_rank.hpp"
#include "transports/sim/sim_transport.hpp"

namespace coracle::sim {

World::World(const JobRegion& region, const App& app, const Wiring& wiring, const NetworkModel& model)
    : region_(region), app_(app), wiring_(wiring), wires_(model, region.shape()), schedule_(region.shape().seed) {
  ranks_.reserve(region.shape().size);
  for (std::uint32_t id = 0; id < region.shape().size; ++id) ranks_.push_back(std::make_unique<SimRank>(*this, id));
}

World::~World() {
  if (failed_ != nullptr || stuck_) {
    for (auto& rank : ranks_) static_cast<void>(rank.release());  // on purpose: see the declaration
    return;
  }
  // The first made first: the list of watches (see Diagnostics) finds that one at once.
  for (auto& rank : ranks_) rank.reset();
}

SimTransport& World::transport(std::uint32_t rank) noexcept {
  return ranks_[rank]->transport();
}

void World::wake(std::uint32_t rank) noexcept {
  ranks_[rank]->turn_by(schedule_.now_ns());
}

std::uint64_t World::engage(std::uint32_t rank, std::uint64_t duration_ns) noexcept {
  return ranks_[rank]->engage(duration_ns);
}

Outcome World::run() {
  for (auto& rank : ranks_) rank->turn_by(random().up_to(model().step_ns));
  Outcome outcome;
  while (finished_ < ranks_.size() && failed_ == nullptr) {
    // Virtual time stands still while the kernel works for a rank: what it does takes none.
    const bool time_would_pass = schedule_.empty() || schedule_.next_ns() > schedule_.now_ns();
    if (time_would_pass && wait_for_io()) continue;
    if (schedule_.empty()) {
      explain_deadlock(outcome);
      break;
    }
    schedule_.step();
  }
  if (failed_ != nullptr) {
    outcome.error = failed_->error();
    outcome.rank = failed_->id();
  }
  outcome.virtual_ns = schedule_.now_ns();
  outcome.events = schedule_.count();
  outcome.trace = schedule_.trace();
  return outcome;
}

bool World::wait_for_io() {
  if (with_io_.empty()) return false;
  bool progress = false;
  for (SimRank* rank : with_io_) progress |= rank->turn_now();
  std::erase_if(with_io_, [](SimRank* rank) { return rank->finished() || !rank->loop().io_in_flight(); });
  if (!progress) {
    const timespec pause{0, 20'000};
    ::nanosleep(&pause, nullptr);
  }
  return true;
}

void World::explain_deadlock(Outcome& outcome) {
  stuck_ = true;
  std::vector<SimRank*> waiting;
  for (auto& rank : ranks_)
    if (!rank->finished()) waiting.push_back(rank.get());
  outcome.rank = waiting.front()->id();
  outcome.error =
      std::make_exception_ptr(Error(Errc::deadlock, explain_waits(waiting, ranks_.size(), schedule_.now_ns())));
}

}  // namespace coracle::sim
