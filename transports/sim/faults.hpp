// Faults: what is wrong with a simulated job now: which ranks are dead or stopped, between whom nothing gets through,
// and what is held up by that. Things happen by the job's FaultPlan, or because a rank's program fails.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/job.hpp"
#include "runtime/rank/peers.hpp"
#include "transports/sim/ground.hpp"

namespace coracle::internals::sim {

// FaultPlan: what goes wrong in a simulated job, and when: written by hand, or drawn from a seed.

struct Fault {
  enum class Kind : std::uint8_t {
    kill,   ///< A rank dies, and whoever is concerned is told at once; or a node, which just falls silent.
    stop,   ///< Neither runs nor answers, as after SIGSTOP.
    cut,    ///< Nothing gets through between two parties; what is under way comes when the cut ends.
    reset,  ///< The connections between two parties are lost, and both are told at once.
    delay,  ///< All that goes between two parties comes later by `delay_ns`.
  };
  /// A rank, or all ranks of a node.
  struct Party {
    bool is_node = false;
    std::uint32_t number = 0;
  };
  static constexpr std::uint64_t kForEver = ~std::uint64_t{0};

  Kind kind = Kind::kill;
  std::uint64_t at_ns = 0;
  Party first;
  Party second;                     ///< Of cut, reset and delay.
  std::uint64_t for_ns = kForEver;  ///< How long stop, cut and delay last.
  std::uint64_t delay_ns = 0;
};

/// In order of time.
using FaultPlan = std::vector<Fault>;

/// Reads the text of a plan, one fault in each line, `#` starts a comment:
///
///     2 ms kill rank 3
///     2 ms stop node 1 for 5 ms
///     1.5 ms cut rank 0 rank 2 for 300 us
///     0 s delay node 0 node 1 by 1 ms for 10 ms
///     7 ms reset node 0 node 1
///
/// Throws Error (bad_input): "`name`:line: what is wrong and how to mend it".
FaultPlan parse_faults(std::string_view text, std::string_view name, const JobShape& shape);
/// One to four faults with the most of chance, in the first `horizon_ns` of the job. The same for the same arguments.
FaultPlan random_faults(std::uint64_t seed, std::uint64_t horizon_ns, const JobShape& shape);
/// None for "", random ones for "random", else from a file. Throws Error when that can't be read.
FaultPlan read_faults(const std::string& source, const JobShape& shape);

/// Exact, in the largest unit that needs no fraction: "3 ms".
std::string time_text(std::uint64_t ns);
/// In the form that parse_faults reads.
std::string to_text(const Fault& fault);
std::string to_text(const FaultPlan& plan);

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
