// The scheduler of a simulated job.
#include "transports/sim/world.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>

#include "runtime/error.hpp"
#include "transports/sim/deadlock.hpp"
#include "transports/sim/sim_rank.hpp"
#include "transports/sim/sim_transport.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define CORACLE_FINDS_LEAKS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CORACLE_FINDS_LEAKS
#endif
#endif
#ifdef CORACLE_FINDS_LEAKS
#include <sanitizer/lsan_interface.h>
#endif

namespace coracle::internals::sim {
namespace {

/// On purpose: see the destructor's declaration.
void leave_behind(std::unique_ptr<SimRank>& rank) noexcept {
  [[maybe_unused]] SimRank* left = rank.release();
#ifdef CORACLE_FINDS_LEAKS
  __lsan_ignore_object(left);  // and all that it leads to
#endif
}

}  // namespace

World::World(const JobRegion& region, const App& app, const Wiring& wiring, const NetworkModel& model, FaultPlan faults)
    : region_(region),
      app_(app),
      wiring_(wiring),
      wires_(model, region.shape()),
      faults_(*this, std::move(faults)),
      schedule_(region.shape().seed) {
  ranks_.reserve(region.shape().size);
  for (std::uint32_t id = 0; id < region.shape().size; ++id) ranks_.push_back(std::make_unique<SimRank>(*this, id));
}

World::~World() {
  for (auto& rank : ranks_) rank->transport().forget_messages();
  schedule_.clear();  // ranks are in it
  if (failed_ != nullptr || stuck_) {
    for (auto& rank : ranks_) leave_behind(rank);
    return;
  }
  // The first made first: the list of watches (see Diagnostics) finds that one at once.
  for (auto& rank : ranks_) {
    if (!rank->finished()) leave_behind(rank);  // dead, or stopped for ever
    rank.reset();
  }
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
  faults_.begin();
  Outcome outcome;
  while (!over()) {
    // Virtual time stands still while the kernel works for a rank: what it does takes none.
    const bool time_would_pass = schedule_.empty() || schedule_.next_ns() > schedule_.now_ns();
    if (time_would_pass && wait_for_io()) continue;
    if (schedule_.empty()) {
      if (tell_of_ended()) continue;
      explain_deadlock(outcome);
      break;
    }
    schedule_.step();
    if (memory_.runs_short()) {
      explain_memory(outcome);
      break;
    }
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

bool World::over() const noexcept {
  if (failed_ != nullptr && !region_.shape().network.survive) return true;
  if (finished_ == ranks_.size()) return true;
  return faults_.any_planned() && std::all_of(ranks_.begin(), ranks_.end(), [this](const auto& rank) {
           return rank->finished() || faults_.out_of_play(rank->id());
         });
}

bool World::finished(std::uint32_t rank) const noexcept {
  return ranks_[rank]->finished();
}

bool World::has_lost(std::uint32_t observer, std::uint32_t peer) noexcept {
  return ranks_[observer]->rank().lost(peer);
}

void World::lose(std::uint32_t observer, std::uint32_t peer, const std::string& reason, Loss::Kind kind) {
  if (finished(observer) || faults_.dead(observer) || has_lost(observer, peer)) return;
  ranks_[observer]->rank().peer_lost(peer, reason, kind);
  wake(observer);
  if (kind == Loss::Kind::fault) send_reset(observer, peer, "it has given this rank up for lost");
}

void World::send_reset(std::uint32_t from, std::uint32_t to, const char* reason) {
  if (finished(to) || faults_.dead(to)) return;
  schedule_.at(schedule_.now_ns() + jitter_ns(), *new ResetNotice(*this, from, to, reason));
}

void World::rank_died(std::uint32_t rank) {
  transport(rank).die();
}

void World::look_around() {
  for (auto& rank : ranks_)
    if (!rank->finished() && !faults_.dead(rank->id())) rank->transport().look_around();
}

void World::pump_messages() {
  for (auto& rank : ranks_) rank->transport().pump_all();
}

/// Nothing else can happen: those that still wait for something of a rank whose program has ended learn that it has.
bool World::tell_of_ended() {
  bool any = false;
  for (auto& rank : ranks_) {
    if (rank->finished() || faults_.out_of_play(rank->id())) continue;
    for (auto& peer : ranks_) {
      if (!peer->finished() || faults_.dead(peer->id()) || has_lost(rank->id(), peer->id())) continue;
      if (!rank->transport().depends_on(peer->id())) continue;
      lose(rank->id(), peer->id(), "its program has ended", Loss::Kind::ended);
      any = true;
    }
  }
  return any;
}

bool World::wait_for_io() {
  const auto goes_on = [this](const SimRank* rank) {
    return !faults_.dead(rank->id()) && !faults_.stopped(rank->id());
  };
  if (std::none_of(with_io_.begin(), with_io_.end(), goes_on)) return false;
  bool progress = false;
  for (SimRank* rank : with_io_)
    if (goes_on(rank)) progress |= rank->turn_now();
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
    if (!rank->finished() && !faults_.out_of_play(rank->id())) waiting.push_back(rank.get());
  std::vector<std::uint32_t> dead;
  for (auto& rank : ranks_)
    if (faults_.out_of_play(rank->id())) dead.push_back(rank->id());
  outcome.rank = waiting.front()->id();
  outcome.of_all = true;
  outcome.error =
      std::make_exception_ptr(Error(Errc::deadlock, explain_waits(waiting, ranks_.size(), dead, schedule_.now_ns())));
}

/// Before the kernel ends the process, without a word.
void World::explain_memory(Outcome& outcome) {
  stuck_ = true;
  outcome.of_all = true;
  const MemoryRoom& room = memory_.room();
  outcome.error = std::make_exception_ptr(Error(
      std::make_error_code(std::errc::not_enough_memory),
      fmt::format(
          "memory runs out after {} of virtual time: the {} ranks of this job, which are all in one "
          "process, have taken {}, and {} are left ({}); start fewer ranks (-n), or let each take less "
          "(a gather_all gives each something of every other)",
          fmt::format("{}.{:06} s", schedule_.now_ns() / 1'000'000'000, schedule_.now_ns() % 1'000'000'000 / 1000),
          ranks_.size(), bytes_text(room.used_bytes), bytes_text(room.free_bytes), room.limit)));
}

}  // namespace coracle::internals::sim
