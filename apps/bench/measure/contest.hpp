// Contest: measures several ways of doing the same in alternation, batch by batch, so that a change of the machine's
// mood hits all of them alike.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "apps/bench/measure/report.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals::bench {

/// Calls of operator new by the calling thread so far. Always 0 under sanitizers, which bring their own operator new.
std::uint64_t allocation_count() noexcept;

/// Of CLOCK_MONOTONIC, which all processes of a machine share.
double now_ns();

/// Before a rank blocks: the last messages of a collective leave it in the loop's turns that follow.
Task<> let_go_of_output();

/// How much is measured.
struct Plan {
  int batches = 20;
  double batch_ns = 1e6;  ///< At least; batches are made longer until they take it.
  bool quick = false;     ///< Only shows that it works.
};

constexpr Plan quick_plan() noexcept {
  return {3, 2e4, true};
}

/// Keeps the compiler from moving memory accesses, or leaving out what nobody reads, across this place.
inline void fence_compiler() noexcept {
  asm volatile("" ::: "memory");
}
/// `value`, of which the compiler knows nothing any more.
template <class T>
T opaque(T value) noexcept {
  asm volatile("" : "+r"(value));
  return value;
}

/// Collective: every rank adds the same contenders in the same order, each with its own part of the work, and runs it.
/// Rank 0 keeps the time. Or on one event loop, without a rank.
class Contest {
 public:
  /// A batch of `count` operations on this rank.
  using Batch = std::function<Task<>(std::uint64_t count)>;
  using PlainBatch = std::function<void(std::uint64_t count)>;

  Contest(Rank& self, const Plan& plan) noexcept : self_(&self), plan_(plan) {}
  explicit Contest(const Plan& plan) noexcept : plan_(plan) {}

  /// Gives the contender's number. What the batch refers to must live until run() has returned.
  std::size_t add(Batch batch);
  std::size_t add_plain(PlainBatch batch);
  /// Every batch has exactly so many operations.
  void fix_count(std::size_t contender, std::uint64_t count) noexcept { contenders_[contender].fixed_count = count; }

  /// Warms up, finds the lengths of batches, measures. An error of a batch ends it.
  Task<> run();

  /// Nanoseconds per operation; rank 0 only.
  Figure figure(std::size_t contender) const { return figure_of(contenders_[contender].samples); }
  /// Median of the differences of the batches of two contenders, which were measured one after the other.
  Figure difference(std::size_t more, std::size_t less) const;
  /// Likewise of the ratios of their times, which a machine whose mood changes leaves as they are.
  Figure ratio(std::size_t of, std::size_t to) const;
  /// `ours` beside the limit, both with their figures times `factor`; rank 0 only. `bytes`: moved by one operation.
  Row row(std::string name, std::size_t ours, std::string limit_name, std::size_t limit, std::uint64_t bytes = 0,
          double factor = 1) const;
  /// Allocations per operation of all ranks, in the measured batches; rank 0 only.
  double allocations(std::size_t contender) const noexcept { return contenders_[contender].allocations; }

 private:
  struct Contender {
    Batch batch;
    PlainBatch plain;
    std::uint64_t fixed_count = 0;
    std::uint64_t count = 1;
    std::uint64_t allocated = 0;
    double allocations = 0;
    std::vector<double> samples;
  };

  Task<double> time_batch(Contender& contender, std::uint64_t count);
  Task<double> fastest_of_three(Contender& contender, std::uint64_t count);
  Task<> calibrate(Contender& contender);
  Task<> sum_up(Contender& contender);
  Figure of_pairs(std::size_t first, std::size_t second, double (*join)(double first, double second)) const;

  Rank* self_ = nullptr;
  Plan plan_;
  std::vector<Contender> contenders_;
};

}  // namespace coracle::internals::bench
