// Rounds: measures several ways of doing the same in alternation on one event loop, so that a change of the machine's
// mood hits all of them alike. What Contest is for ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "apps/bench/measure/contest.hpp"
#include "apps/bench/measure/figure.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals::bench {

class Rounds {
 public:
  /// A batch of `count` operations.
  using Batch = std::function<Task<>(std::uint64_t count)>;
  using PlainBatch = std::function<void(std::uint64_t count)>;

  explicit Rounds(const Plan& plan) noexcept : plan_(plan) {}

  /// Gives the way's number. What the batch refers to must live until run() has returned.
  std::size_t add(Batch batch);
  std::size_t add_plain(PlainBatch batch);

  /// Warms up, finds the lengths of batches, measures. An error of a batch ends it.
  Task<> run();

  /// Nanoseconds per operation.
  Figure figure(std::size_t way) const { return figure_of(ways_[way].samples); }

 private:
  struct Way {
    Batch batch;
    PlainBatch plain;
    std::uint64_t count = 1;
    std::vector<double> samples;
  };

  static Task<double> time_batch(Way& way);
  Task<> calibrate(Way& way);

  Plan plan_;
  std::vector<Way> ways_;
};

}  // namespace coracle::internals::bench
