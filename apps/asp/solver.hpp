// Floyd-Warshall on all ranks: each makes the pivots of its blocks and puts every one straight into the others' memory
// as soon as it is final, while they still work on the block before. There is no barrier: only signals say that a pivot
// has come, and that a buffer is free again.
#pragma once

#include <coracle/coracle.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "apps/asp/min_plus.hpp"
#include "apps/asp/owned_rows.hpp"

namespace coracle::asp {

/// Where the time of one rank went. A plain value, so that ranks can send it.
struct Effort {
  double computing_s = 0;
  double waiting_s = 0;  ///< for pivots, for free buffers, and for the CPU where ranks share one
  double computing_cpu_s = 0;
  double operations = 0;  ///< (add, min) pairs
};

class Solver {
 public:
  /// `rows` and `self` must outlive the solver. `progress` is called with (blocks done, blocks) now and then.
  Solver(Rank& self, OwnedRows& rows, std::function<void(std::size_t, std::size_t)> progress);

  /// Collective: all ranks call it, with the same layout. Afterwards rows hold shortest distances. Once per solver.
  Task<> run();

  const Effort& effort() const noexcept { return effort_; }

 private:
  // Blocks of pivots that a rank can hold: the one that is applied, and the next, which comes meanwhile.
  static constexpr std::size_t kBuffers = 2;

  // What the others need to reach this rank.
  struct Mailbox {
    Remote<float> pivots;    // kBuffers * block rows
    Remote<Signal> arrived;  // one per buffer: pivots that have come, ever
    Remote<Signal> freed;    // buffers that others have freed for this rank's blocks, ever
  };

  Task<> make_block(std::size_t block);
  Task<> wait_for_block(std::size_t block);
  Task<> apply_to_rest(std::size_t block, bool makes_next);
  Task<> free_buffer(std::size_t block);
  void send_pivot(std::size_t block, std::size_t step);
  void apply(std::size_t pivots, std::size_t block);

  template <class Work>
  void compute(Work work);

  std::size_t pivot_offset(std::size_t block, std::size_t step) const noexcept {
    return (block % kBuffers * layout_.block + step) * stride_;
  }
  PivotRows pivots(std::size_t block) const noexcept {
    return {pivots_.data() + pivot_offset(block, 0), layout_.first_row(block), layout_.row_count(block)};
  }

  Rank& self_;
  OwnedRows& rows_;
  BlockLayout layout_;
  std::size_t stride_;
  std::function<void(std::size_t, std::size_t)> progress_;
  MinPlusBlock min_plus_;
  Slab<float> pivots_;
  Slab<Signal> arrived_;
  Slab<Signal> freed_;
  std::vector<Mailbox> mailboxes_;  // by rank
  std::uint64_t arrived_wanted_[kBuffers] = {};
  std::uint64_t freed_wanted_ = 0;
  Effort effort_;
};

}  // namespace coracle::asp
