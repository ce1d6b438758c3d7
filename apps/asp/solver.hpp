// Floyd-Warshall on all ranks: each makes the pivots of its blocks and gives every one to the others as soon as it is
// final, while they still work on the block before. There is no barrier. Pivots travel in one of two ways: their owner
// puts them straight into the others' memory, and only signals say that one has come, and that a buffer is free again;
// or each is broadcast, all of a block at once, started a block ahead.
//
// Blocks of rows are dealt out in turn (block-cyclic): a block's pivots are made by its owner one after the other while
// the rest waits for them, so that this serial part must go round; and where many vertices reach nothing, which lie
// side by side in many files, the work is still even.
#pragma once

#include <coracle/coracle.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "apps/asp/graph.hpp"
#include "apps/asp/min_plus.hpp"

namespace coracle::asp {

/// Which rank holds which rows of the distance matrix.
struct BlockLayout {
  std::size_t vertices;
  std::size_t block;  ///< rows per block: a multiple of kPivotsStep, at most kPivotsMax
  std::uint32_t ranks;

  std::size_t blocks() const noexcept { return (vertices + block - 1) / block; }
  std::uint32_t owner(std::size_t index) const noexcept { return static_cast<std::uint32_t>(index % ranks); }
  std::uint32_t owner_of_row(std::size_t row) const noexcept { return owner(row / block); }
  std::size_t first_row(std::size_t index) const noexcept { return index * block; }
  std::size_t row_count(std::size_t index) const noexcept { return std::min(block, vertices - first_row(index)); }
};

/// A block's size for the machine and the graph: large enough to run at the vector units' speed, small enough that
/// every rank has several blocks where the graph allows it.
std::size_t good_block_size(std::size_t vertices, std::uint32_t ranks) noexcept;

/// The blocks of one rank, one after the other in its private memory.
class OwnedRows {
 public:
  /// Filled with the graph's arcs. Throws std::bad_alloc.
  OwnedRows(const BlockLayout& layout, std::uint32_t rank, const Graph& graph);

  const BlockLayout& layout() const noexcept { return layout_; }
  bool owns(std::size_t block) const noexcept { return layout_.owner(block) == rank_; }

  /// This rank's first block; the next are layout().ranks further each.
  std::size_t first_block() const noexcept { return rank_; }

  /// The rows of a block that this rank owns.
  DistanceRows block(std::size_t index) const noexcept;

  /// A row that this rank owns, vertices() long.
  std::span<const float> row(std::size_t vertex) const noexcept;

 private:
  struct Release {
    void operator()(float* data) const noexcept { ::operator delete[](data, kAlignment); }
  };
  static constexpr std::align_val_t kAlignment{4096};

  BlockLayout layout_;
  std::uint32_t rank_;
  std::size_t stride_;
  std::unique_ptr<float[], Release> data_;
};

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
  /// `broadcast`: how pivots are broadcast; none: they are put.
  Solver(Rank& self, OwnedRows& rows, std::optional<BroadcastChoice> broadcast,
         std::function<void(std::size_t, std::size_t)> progress);

  /// Collective: all ranks call it, with the same layout. Afterwards rows hold shortest distances. Once per solver.
  Task<> run();

  const Effort& effort() const noexcept { return effort_; }
  /// By block, since run() began here: when this rank entered its broadcast; where pivots are put, when it began to
  /// make them or to wait for them.
  const std::vector<double>& arrivals_s() const noexcept { return arrivals_s_; }

 private:
  // Blocks of pivots that a rank can hold: the one that is applied, and the next, which comes meanwhile.
  static constexpr std::size_t kBuffers = 2;

  // What the others need to reach this rank.
  struct Mailbox {
    Remote<float> pivots;    // kBuffers * block rows
    Remote<Signal> arrived;  // one per buffer: pivots that have come, ever
    Remote<Signal> freed;    // buffers that others have freed for this rank's blocks, ever
  };

  Task<> solve(Scope& scope);
  static Task<> solve_in(Scope& scope, Solver& solver) { return solver.solve(scope); }
  Task<> begin_block(Scope& scope, std::size_t block);
  Task<> make_block(Scope& scope, std::size_t block);
  Task<> wait_for_block(std::size_t block);
  Task<> apply_to_rest(std::size_t block, bool makes_next);
  Task<> free_buffer(std::size_t block);
  void put_pivot(std::size_t block, std::size_t step);
  void start_broadcast(Scope& scope, std::size_t block, std::size_t step, const BroadcastChoice& choice);
  void note_arrival(std::size_t block);
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
  std::optional<BroadcastChoice> broadcast_;
  std::function<void(std::size_t, std::size_t)> progress_;
  MinPlusBlock min_plus_;
  Slab<float> pivots_;
  Slab<Signal> arrived_;
  Slab<Signal> freed_;
  std::vector<Mailbox> mailboxes_;               // by rank
  std::vector<Started<>> broadcasts_[kBuffers];  // of the block in this buffer, row by row
  std::uint64_t arrived_wanted_[kBuffers] = {};
  std::uint64_t freed_wanted_ = 0;
  std::uint64_t start_ns_ = 0;
  std::vector<double> arrivals_s_;
  Effort effort_;
};

}  // namespace coracle::asp
