// Himeno on one rank of several: steps of Jacobi, in which the points at the cuts come first, so that they travel while
// the others are made. A step on 19 points needs the six faces and the twelve edges of a block: each goes straight to
// its place in the neighbour's array by a put between two layouts, and a signal after it says that it has come. Nobody
// packs anything, and there is no barrier.
//
// And Himeno as its definition says it, point by point on one rank: what all else is compared with.
#pragma once

#include <coracle/coracle.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "apps/himeno/block.hpp"
#include "apps/himeno/device.hpp"
#include "apps/himeno/kernel.hpp"

namespace coracle::himeno {

/// So many points of an array with these distances, in floats, between its rows and its planes.
Layout layout_of(const Triple& points, std::size_t row, std::size_t plane);

/// Pressure is kept twice: a step reads one array and writes the other. State t is in array t % 2.
///
/// Why puts into a neighbour's array never meet its reads: it sends its points of state t only when all its points that
/// need a halo are made, so it has read the halo of state t - 1; we send state t + 1, into the same array, after we
/// have got that.
class Halo {
 public:
  /// `size` and `ranks` as of Block. The two arrays lie at `pressure`, `block.floats()` apart; for others `remote` is
  /// that place. They may be a GPU's.
  Halo(Rank& self, const Triple& size, const Triple& ranks, float* pressure, Remote<float> remote);

  /// Tells the others where this rank's memory is; until then it may do with it what it likes. Collective.
  Task<> connect();

  /// Waits for all that neighbours send of `state`. Of state 0 they send nothing.
  Task<> arrived(std::uint64_t state);
  /// Starts sending this rank's points of `state` to its neighbours. Those of the state before must be sent.
  void send(Scope& scope, std::uint64_t state);
  /// Waits until they may be written again.
  Task<> sent();

  bool has_neighbours() const noexcept { return !links_.empty(); }
  /// Whether there is a neighbour at the lower or upper side of a dimension.
  bool is_cut(std::size_t dimension, bool upper) const noexcept { return cut_[dimension][upper ? 1 : 0]; }

 private:
  /// Where others put what they send.
  struct Mailbox {
    Remote<float> pressure;
    Remote<Signal> arrived;  // by direction, seen from here
  };
  struct Link {
    std::uint32_t peer;
    std::size_t direction;
    Block theirs;
    std::size_t from;  // the first point in our array
    std::size_t to;    // its place in theirs
    Layout here;
    Layout there;
  };

  void add_link(const Triple& size, const Triple& ranks, std::size_t direction);
  Task<> put_scattered(const Link& link, std::uint64_t state);
  Remote<float> target(const Link& link, std::uint64_t state) const;
  const float* source(const Link& link, std::uint64_t state) const noexcept;
  Remote<Signal> signal(const Link& link) const;

  Rank& self_;
  Block block_;
  float* pressure_;
  Remote<float> remote_;
  Slab<Signal> arrived_;
  bool cut_[3][2] = {};
  std::vector<Link> links_;
  std::vector<Mailbox> mailboxes_;  // by rank
  std::vector<Started<>> sending_;
};

class Solver {
 public:
  /// `size`: points in each dimension; `ranks`: how the ranks are arranged; `device` is made for the same, and outlives
  /// this.
  Solver(Rank& self, const Triple& size, const Triple& ranks, Device& device);

  /// Before connect(): seconds in which all ranks together pass through their arrays once with the least of sums, which
  /// is as fast as memory allows; the best of what fits `for_s` seconds. Collective. Not in `sim`.
  Task<double> time_memory(double for_s);

  /// Brings in the pressure of the beginning. Collective, once.
  Task<> connect();

  /// Makes so many steps more; gives each one's sum of squares over all ranks, the same everywhere. `progress` is
  /// called after each step. Collective.
  Task<std::vector<ExactSum>> run(std::size_t steps, std::function<void(std::size_t)> progress);

  /// The whole grid's pressure, i, j, k, at rank 0; empty elsewhere. Collective.
  Task<std::vector<float>> collect();

 private:
  static Task<> step_in(Scope& scope, Solver& solver, std::size_t steps, std::function<void(std::size_t)> progress,
                        std::vector<ExactSum>& sums);
  Task<> step(Scope& scope, ExactSum& sum);
  void divide();

  Rank& self_;
  Triple size_;
  Triple ranks_;
  Device& device_;
  Block block_;
  Halo halo_;
  // Parts of the device.
  std::size_t all_;
  std::optional<std::size_t> shell_;  // the points that need or make a halo
  std::vector<std::size_t> core_;     // all others, in pieces
  std::uint64_t state_ = 0;
};

struct SerialRun {
  std::vector<ExactSum> sums;   ///< Of each step.
  std::vector<float> pressure;  ///< Of the whole grid: i, j, k.
};

/// `steps` of Jacobi from the beginning, on a grid of `size` points.
SerialRun run_serially(const Triple& size, std::size_t steps);

/// What differs first between the serial run and another's sums and pressure, as a sentence; "" when all bits are
/// equal.
std::string difference(const SerialRun& serial, const std::vector<ExactSum>& sums, const std::vector<float>& pressure,
                       const Triple& size);

}  // namespace coracle::himeno
