// Faults: what is wrong with a simulated job now: which ranks are dead or stopped, between whom nothing gets through,
// and what is held up by that. Things happen by the job's FaultPlan, or because a rank's program fails.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/rank/peers.hpp"
#include "transports/sim/fault_plan.hpp"
#include "transports/sim/ground.hpp"

namespace coracle::internals::sim {

class Faults {
 public:
  /// The ranks of the job, as faults come over them.
  class Victims {
   public:
    virtual bool finished(std::uint32_t rank) const noexcept = 0;
    virtual void wake(std::uint32_t rank) noexcept = 0;
    virtual void rank_died(std::uint32_t rank) = 0;
    /// `observer` finds out that it has lost `peer`.
    virtual void lose(std::uint32_t observer, std::uint32_t peer, const std::string& reason, Loss::Kind kind) = 0;
    /// Every rank looks whether something has changed for it.
    virtual void look_around() = 0;
    /// Messages that a fault has held up go on.
    virtual void pump_messages() = 0;

   protected:
    ~Victims() = default;
  };

  /// What a rank could notice of another, if anything depended on it.
  enum class Symptom : std::uint8_t {
    none,
    refused,  ///< Whoever reaches for it is told at once that nobody is there.
    silent,   ///< Nothing comes from it.
  };

  /// What it refers to must outlive it.
  Faults(Ground& ground, Victims& victims, FaultPlan plan);
  ~Faults();
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

  /// Puts the plan into the schedule.
  void begin();
  bool any_planned() const noexcept { return !plan_.empty(); }

  bool dead(std::uint32_t rank) const noexcept { return states_[rank].dead; }
  bool stopped(std::uint32_t rank) const noexcept { return states_[rank].stops > 0; }
  /// Dead, or stopped for ever.
  bool out_of_play(std::uint32_t rank) const noexcept { return dead(rank) || states_[rank].stopped_for_ever; }
  /// Nothing that leaves `from` reaches `to` at present. What a rank has sent before it died does.
  bool blocked(std::uint32_t from, std::uint32_t to) const noexcept {
    return any_ && (dead(to) || stopped(to) || cut(from, to));
  }
  /// Nothing gets through between two ranks, whether they live or not.
  bool cut(std::uint32_t left, std::uint32_t right) const noexcept;
  /// By how much all between two ranks is late.
  std::uint64_t delay_ns(std::uint32_t left, std::uint32_t right) const noexcept;
  Symptom symptom(std::uint32_t observer, std::uint32_t peer) const noexcept;
  /// All ranks that anybody may have trouble with, in order.
  std::span<const std::uint32_t> suspects() const noexcept { return suspects_; }
  /// Why a rank is in trouble, for a message.
  std::string describe(std::uint32_t observer, std::uint32_t peer) const;

  /// A rank's program has failed while the others go on.
  void rank_failed(std::uint32_t rank);
  /// `from` closes its connection with `to`, which finds out as soon as the network lets it.
  void send_reset(std::uint32_t from, std::uint32_t to, const char* reason);

  /// Takes what is blocked on its way, until it can go on: then it happens again. False when it is not blocked.
  bool hold(Transit& transit, std::uint32_t from, std::uint32_t to);
  /// Keeps what its target refuses, until its operation ends.
  void keep(Transit& transit);
  /// Deletes what is held or kept; false when it is neither.
  bool drop_held(Transit& transit) noexcept;

 private:
  class ResetNotice;
  struct State {
    bool dead = false;
    bool silently = false;  // as when the power of its node fails
    bool stopped_for_ever = false;
    std::uint32_t stops = 0;  // may overlap
    const char* how = "";     // it died
    std::uint64_t since_ns = 0;
  };
  struct Held {
    Transit* transit;
    std::uint32_t from;
    std::uint32_t to;
    bool for_ever;
  };
  /// The beginning or the end of a fault, in the schedule.
  struct Turn final : ScheduledEvent {
    Turn(Faults& faults, std::size_t number, bool end) noexcept : faults_of(faults), fault(number), is_end(end) {}
    void happen() noexcept override { faults_of.change(fault, is_end); }
    void abandon() noexcept override {}
    std::uint64_t label() const noexcept override { return 0xfa017 + 2 * fault + (is_end ? 1 : 0); }
    Faults& faults_of;
    std::size_t fault;
    bool is_end;
  };
  struct Ranks {
    std::uint32_t first;
    std::uint32_t end;
    bool has(std::uint32_t rank) const noexcept { return rank >= first && rank < end; }
  };

  void change(std::size_t fault, bool is_end);
  void start(const Fault& fault, std::size_t number);
  void finish(const Fault& fault, std::size_t number);
  void kill(std::uint32_t rank, bool silently, const char* how);
  void stop(std::uint32_t rank, bool for_ever);
  void resume(std::uint32_t rank);
  void reset(const Fault& fault);
  void find_suspects();
  void release();
  bool between(const Fault& fault, std::uint32_t left, std::uint32_t right) const noexcept;
  Ranks ranks_of(const Fault::Party& party) const noexcept;

  Ground& ground_;
  Victims& victims_;
  FaultPlan plan_;
  std::vector<Turn> turns_;
  std::vector<State> states_;
  std::vector<std::size_t> cuts_;    // which faults of the plan last at present
  std::vector<std::size_t> delays_;  // the same
  std::vector<std::uint32_t> suspects_;
  std::vector<Held> held_;
  bool any_ = false;  // something is dead, stopped or cut
};

}  // namespace coracle::internals::sim
