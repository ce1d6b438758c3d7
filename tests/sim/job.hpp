// A simulated job inside a test: no launcher, no process of its own.
#pragma once

#include <coracle/coracle.hpp>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "transports/connect.hpp"
#include "transports/sim/simulation.hpp"

namespace coracle::internals::sim {

struct SimJob {
  std::uint32_t size = 2;
  std::uint32_t nodes = 1;
  std::uint64_t seed = 1;
  std::uint64_t segment_bytes = 1 << 20;
  NetworkModel model;
  FaultPlan faults;
  std::uint64_t silence_limit_ns = 1'000'000;
  bool survive = false;
  RemoteTransport transport = RemoteTransport::automatic;  ///< `tca`: over devices.
  MessageOptions messages;
  std::string choices;  ///< How collectives go (job_words).

  JobShape shape() const {
    JobShape shape;
    shape.placement = Placement::sim;
    shape.size = size;
    shape.nodes = nodes;
    shape.seed = seed;
    shape.segment_bytes = segment_bytes;
    shape.network.silence_limit_ns = silence_limit_ns;
    shape.network.survive = survive;
    shape.network.transport = transport;
    shape.messages = messages;
    if (transport == RemoteTransport::tca) shape.inbox_bytes = transport_inbox_bytes(size, transport);
    choices.copy(shape.choices.data(), shape.choices.size() - 1);
    return shape;
  }

  SimulationResult run(const App& app) const {
    return run(app, [](Simulation&, const SimulationResult&) {});
  }
  /// `check(world, outcome)` is called at the end, while the ranks' memory still exists.
  template <class Check>
  SimulationResult run(const App& app, Check check) const {
    static constexpr Wiring wiring{nullptr, nullptr, finalize_job, nullptr};
    const JobRegion region = JobRegion::create(shape(), JobRegion::Backing::anonymous);
    Simulation world(region, app, wiring, model, faults);
    const SimulationResult outcome = world.run();
    check(world, outcome);
    return outcome;
  }
};

/// What an outcome's error says; "" when there is none.
inline std::string text_of(const SimulationResult& outcome) {
  if (!outcome.error) return "";
  try {
    std::rethrow_exception(outcome.error);
  } catch (const std::exception& error) {
    return "rank " + std::to_string(outcome.rank) + ": " + error.what();
  }
}

inline void expect(bool condition, const char* what, int line) {
  if (!condition) throw std::runtime_error("line " + std::to_string(line) + ": does not hold: " + what);
}

}  // namespace coracle::internals::sim

/// Inside a rank's program: ends the job when the condition does not hold.
#define EXPECT(condition) ::coracle::internals::sim::expect((condition), #condition, __LINE__)
