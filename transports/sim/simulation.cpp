// The scheduler of a simulated job, from its region to its end in virtual time.
#include "transports/sim/simulation.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/core/error.hpp"
#include "transports/sim/sim_rank.hpp"

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

Simulation::Simulation(const JobRegion& region, const App& app, const Wiring& wiring, const NetworkModel& model,
                       FaultPlan faults)
    : Nature(region, model, std::move(faults)), transports_(region.shape().size) {
  const SimRank::Job job{*this, app, wiring, *this, transports_};
  ranks_.reserve(region.shape().size);
  for (std::uint32_t id = 0; id < region.shape().size; ++id) ranks_.push_back(std::make_unique<SimRank>(job, id));
}

Simulation::~Simulation() {
  for (auto& rank : ranks_) rank->transport().forget_messages();
  schedule().clear();  // ranks are in it
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

void Simulation::wake(std::uint32_t rank) noexcept {
  ranks_[rank]->turn_by(schedule().now_ns());
}

std::uint64_t Simulation::engage(std::uint32_t rank, std::uint64_t duration_ns) noexcept {
  return ranks_[rank]->engage(duration_ns);
}

SimulationResult Simulation::run() {
  for (auto& rank : ranks_) rank->turn_by(random().up_to(model().step_ns));
  faults().begin();
  SimulationResult outcome;
  while (!over()) {
    // Virtual time stands still while the kernel works for a rank: what it does takes none.
    const bool time_would_pass = schedule().empty() || schedule().next_ns() > schedule().now_ns();
    if (time_would_pass && wait_for_io()) continue;
    if (schedule().empty()) {
      if (tell_of_ended()) continue;
      explain_deadlock(outcome);
      break;
    }
    schedule().step();
    if (memory_.runs_short()) {
      explain_memory(outcome);
      break;
    }
  }
  if (failed_ != nullptr) {
    outcome.error = failed_->error();
    outcome.rank = failed_->id();
  }
  outcome.virtual_ns = schedule().now_ns();
  outcome.events = schedule().count();
  outcome.digest = schedule().digest();
  return outcome;
}

bool Simulation::over() const noexcept {
  if (failed_ != nullptr && !region().shape().network.survive) return true;
  if (finished_ == ranks_.size()) return true;
  return faults().any_planned() && std::all_of(ranks_.begin(), ranks_.end(), [this](const auto& rank) {
           return rank->finished() || faults().out_of_play(rank->id());
         });
}

bool Simulation::finished(std::uint32_t rank) const noexcept {
  return ranks_[rank]->finished();
}

bool Simulation::has_lost(std::uint32_t observer, std::uint32_t peer) noexcept {
  return ranks_[observer]->rank().lost(peer);
}

void Simulation::lose(std::uint32_t observer, std::uint32_t peer, const std::string& reason, Loss::Kind kind) {
  if (finished(observer) || faults().dead(observer) || has_lost(observer, peer)) return;
  ranks_[observer]->rank().core().peer_lost({peer, reason, kind});
  wake(observer);
  if (kind == Loss::Kind::fault) faults().send_reset(observer, peer, "it has given this rank up for lost");
}

void Simulation::has_ended(SimRank& rank) noexcept {
  ++finished_;
  if (!rank.error()) return;
  if (failed_ == nullptr) failed_ = &rank;
  if (region().shape().network.survive) faults().rank_failed(rank.id());
}

void Simulation::rank_died(std::uint32_t rank) {
  transports_[rank]->die();
}

void Simulation::look_around() {
  for (auto& rank : ranks_)
    if (!rank->finished() && !faults().dead(rank->id())) rank->transport().look_around();
}

void Simulation::pump_messages() {
  for (auto& rank : ranks_) rank->transport().pump_all();
}

/// Nothing else can happen: those that still wait for something of a rank whose program has ended learn that it has.
bool Simulation::tell_of_ended() {
  bool any = false;
  for (auto& rank : ranks_) {
    if (rank->finished() || faults().out_of_play(rank->id())) continue;
    for (auto& peer : ranks_) {
      if (!peer->finished() || faults().dead(peer->id()) || has_lost(rank->id(), peer->id())) continue;
      if (!rank->transport().depends_on(peer->id())) continue;
      lose(rank->id(), peer->id(), "its program has ended", Loss::Kind::ended);
      any = true;
    }
  }
  return any;
}

bool Simulation::wait_for_io() {
  const auto goes_on = [this](const SimRank* rank) {
    return !faults().dead(rank->id()) && !faults().stopped(rank->id());
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

void Simulation::explain_deadlock(SimulationResult& outcome) {
  stuck_ = true;
  std::vector<SimRank*> waiting;
  for (auto& rank : ranks_)
    if (!rank->finished() && !faults().out_of_play(rank->id())) waiting.push_back(rank.get());
  std::vector<std::uint32_t> dead;
  for (auto& rank : ranks_)
    if (faults().out_of_play(rank->id())) dead.push_back(rank->id());
  outcome.rank = waiting.front()->id();
  outcome.of_all = true;
  outcome.error =
      std::make_exception_ptr(Error(Errc::deadlock, explain_waits(waiting, ranks_.size(), dead, schedule().now_ns())));
}

/// Before the kernel ends the process, without a word.
void Simulation::explain_memory(SimulationResult& outcome) {
  stuck_ = true;
  outcome.of_all = true;
  const MemoryRoom& room = memory_.room();
  outcome.error = std::make_exception_ptr(Error(
      std::make_error_code(std::errc::not_enough_memory),
      fmt::format(
          "memory runs out after {} of virtual time: the {} ranks of this job, which are all in one "
          "process, have taken {}, and {} are left ({}); start fewer ranks (-n), or let each take less "
          "(a gather_all gives each something of every other)",
          fmt::format("{}.{:06} s", schedule().now_ns() / 1'000'000'000, schedule().now_ns() % 1'000'000'000 / 1000),
          ranks_.size(), bytes_text(room.used_bytes), bytes_text(room.free_bytes), room.limit)));
}

}  // namespace coracle::internals::sim

namespace coracle::internals {
namespace {

void print(const sim::SimulationResult& outcome) {
  try {
    std::rethrow_exception(outcome.error);
  } catch (const std::exception& error) {
    if (outcome.of_all)
      std::fprintf(stderr, "coracle: %s\n", error.what());
    else
      print_failure(outcome.rank);
  } catch (...) {
    print_failure(outcome.rank);
  }
}

void print_how_to_repeat(const JobShape& shape) {
  std::string options;
  if (shape.network_file[0] != '\0') options += fmt::format(" --network {}", shape.network_file.data());
  const std::uint64_t limit_ns = shape.network.silence_limit_ns;
  if (limit_ns != NetworkOptions().silence_limit_ns) options += fmt::format(" --silence {}ms", limit_ns / 1'000'000);
  if (shape.network.transport == RemoteTransport::tca) options += " --transport tca";
  if (shape.network.survive) options += " --survive";
  if (shape.faults[0] != '\0') options += fmt::format(" --faults {}", shape.faults.data());
  std::fputs(fmt::format("coracle: seed {} repeats this (coracle run --place sim -n {} --nodes {} --seed {}{} ...)\n",
                         shape.seed, shape.size, shape.nodes, shape.seed, options)
                 .c_str(),
             stderr);
}

/// What has gone wrong by the plan: whoever reads of a loss should know why.
void print_faults(const sim::FaultPlan& faults, std::uint64_t end_ns) {
  for (const sim::Fault& fault : faults)
    if (fault.at_ns <= end_ns) std::fprintf(stderr, "coracle: fault: %s\n", to_text(fault).c_str());
}

}  // namespace

int simulate(const JobRegion& region, const App& app, const Wiring& wiring) {
  const JobShape& shape = region.shape();
  const sim::NetworkModel model = sim::read_network(shape.network_file.data());
  const sim::FaultPlan faults = sim::read_faults(shape.faults.data(), shape);
  sim::Simulation simulation(region, app, wiring, model, faults);
  const sim::SimulationResult outcome = simulation.run();
  print_faults(faults, outcome.virtual_ns);
  if (!outcome.error) return 0;
  print(outcome);
  print_how_to_repeat(shape);
  // The other ranks' coroutines stand in the middle of things and wait for each other; they can't be destroyed in any
  // order that suits them, so the process ends around them.
  std::fflush(nullptr);
  std::_Exit(1);
}

}  // namespace coracle::internals
