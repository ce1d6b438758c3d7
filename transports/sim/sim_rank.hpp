// SimRank: one rank of a simulated job: its loop, its place in the schedule, and its processor's time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/core/event_loop.hpp"
#include "runtime/insight/rank_tools.hpp"
#include "runtime/job/diagnostics.hpp"
#include "runtime/launch/boot.hpp"
#include "transports/sim/nature.hpp"
#include "transports/sim/sim_transport.hpp"

namespace coracle::internals::sim {

class SimRank final : public ScheduledEvent, private ReadyOrder {
 public:
  /// Who runs the job.
  class Runner {
   public:
    /// The kernel works for `rank`: it is to be turned also while virtual time stands still.
    virtual void has_io(SimRank& rank) noexcept = 0;
    /// Its program has ended, well or not.
    virtual void has_ended(SimRank& rank) noexcept = 0;

   protected:
    ~Runner() = default;
  };
  /// What all ranks of a job have alike; all of it must outlive them.
  struct Job {
    Nature& nature;
    const App& app;
    const Wiring& wiring;
    Runner& runner;
    SimTransports& transports;
  };

  SimRank(const Job& job, std::uint32_t id);

  /// Turns the loop at `time_ns`, or as soon after as the processor is free, unless it will be turned before anyway.
  void turn_by(std::uint64_t time_ns) noexcept;
  std::uint64_t engage(std::uint64_t duration_ns) noexcept;
  /// One turn, for a rank that the kernel works for: real time passes, virtual time does not. True after progress.
  bool turn_now() noexcept;

  std::uint32_t id() const noexcept { return rank_.id(); }
  EventLoop& loop() noexcept { return loop_; }
  const EventLoop& loop() const noexcept { return loop_; }
  Rank& rank() noexcept { return rank_; }
  SimTransport& transport() noexcept { return *transport_; }
  bool finished() const noexcept { return end_.reached; }
  const std::exception_ptr& error() const noexcept { return end_.error; }

  void happen() noexcept override;
  void abandon() noexcept override {}
  std::uint64_t label() const noexcept override { return rank_.id(); }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  std::size_t pick(std::size_t count) noexcept override;
  bool turn() noexcept;
  void finish() noexcept;

  const Job job_;
  EventLoop loop_;
  Diagnostics::Registration watch_;
  RankTools tools_;
  WholeRank rank_;
  SimTransport* transport_;
  RootEnd end_;
  std::uint64_t turn_at_ns_ = kNever;  // of the one valid entry in the schedule
  std::uint64_t busy_until_ns_ = 0;
  bool started_ = false;
  bool with_io_ = false;
};

/// Says why a simulated job can't go on: the waits of `ranks` (of `size`; `dead` of them are out of play) grouped by
/// what and where, with numbers and some of the ranks; and all there is to say about the first few ranks.
std::string explain_waits(std::span<SimRank* const> ranks, std::size_t size, std::span<const std::uint32_t> dead,
                          std::uint64_t now_ns);

}  // namespace coracle::internals::sim
