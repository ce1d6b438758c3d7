// How a process becomes a rank, and ends to be one, outside coracle::run.
#include "runtime/launch/attached_rank.hpp"

#include <cstdio>
#include <exception>
#include <optional>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/job/failure_record.hpp"
#include "runtime/launch/boot.hpp"
#include "runtime/launch/pmix_rank.hpp"
#include "runtime/launch/rank_environment.hpp"
#include "runtime/launch/wait_witness.hpp"

namespace coracle::internals {
namespace {

Task<> until_set(Event& event) {
  co_await event;
}

}  // namespace

struct AttachedRank::State {
  explicit State(const Wiring& with) : wiring(with), launched_region(JobRegion::attach_from_environment()) {}
  void find_job();
  void begin(const RankReporter& reporter, LoopGate* gate);

  const Wiring& wiring;
  const Diagnostics diagnostics;
  std::optional<PmixRank> pmix;
  std::optional<JobRegion> launched_region;
  std::unique_ptr<const JobRegion> own_region;
  const JobRegion* region = nullptr;
  std::uint32_t id = 0;
  std::unique_ptr<BootedRank> self;
  std::optional<WaitWitness> witness;
  Event program_ended;
  RootEnd end;
  std::optional<App> app;  // what live() runs: waits for the program's end
};

/// As boot() does.
void AttachedRank::State::find_job() {
  if (launched_region) {
    const Placement placement = launched_region->shape().placement;
    if (placement == Placement::thread || placement == Placement::sim)
      throw Error(
          Errc::unsupported,
          "this program's ranks are processes: start it with --place pvas or --place process, not as threads of "
          "one process or simulated");
    region = &*launched_region;
    id = rank_from_environment();
  } else if (PmixClient::is_wanted()) {
    pmix.emplace(wiring.inbox_bytes(1));
    region = &pmix->region();
    id = pmix->rank();
  } else {
    own_region = std::make_unique<const JobRegion>(region_for_one(wiring));
    region = own_region.get();
  }
}

void AttachedRank::State::begin(const RankReporter& reporter, LoopGate* gate) {
  self = std::make_unique<BootedRank>(*region, id, launched_region.has_value());
  if (gate != nullptr) self->loop.share(*gate);
  self->watch.report_by(&reporter);
  if (launched_region) witness.emplace(self->rank, region->block(id), &reporter);
  const std::exception_ptr failure = self->connect(wiring);
  app.emplace([this, failure](Rank&) -> Task<> {
    if (failure) std::rethrow_exception(failure);
    return until_set(program_ended);
  });
  self->loop.start_root(live(self->rank, *app, wiring), end);
  if (!failure) return;
  self->loop.run_until([this] { return end.reached; });
  std::rethrow_exception(failure);
}

AttachedRank::AttachedRank(const Wiring& wiring, const RankReporter& reporter, LoopGate* gate)
    : state_(std::make_unique<State>(wiring)) {
  state_->find_job();
  state_->begin(reporter, gate);
}

AttachedRank::~AttachedRank() = default;

Rank& AttachedRank::rank() noexcept {
  return state_->self->rank;
}

std::uint32_t AttachedRank::program() const {
  const State& state = *state_;
  if (state.pmix) return state.pmix->program();
  return state.launched_region ? program_from_environment() : 0;
}

std::uint32_t AttachedRank::program_size() const {
  const State& state = *state_;
  return state.launched_region ? program_size_from_environment() : state.region->shape().size;
}

void AttachedRank::finish() {
  State& state = *state_;
  state.program_ended.set();
  state.self->loop.run_until([&state] { return state.end.reached; });
  if (state.end.error) {
    leave_failure_record(state.region->block(state.id), state.end.error);
    std::rethrow_exception(state.end.error);
  }
  state.self->watch.report_by(nullptr);  // it may ask the rank
  state.witness.reset();
  state.self.reset();
  state.region->block(state.id).phase.store(RankPhase::finished, std::memory_order_release);  // as in boot.cpp
  if (state.pmix) {
    std::fflush(nullptr);  // what follows may end this process
    state.pmix->finish(0);
  }
}

}  // namespace coracle::internals
