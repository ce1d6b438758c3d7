// The exchange of what neighbours need of each other's points. A step of Jacobi on 19 points needs the six faces and
// the twelve edges of a block: each goes straight to its place in the neighbour's array by a put between two layouts,
// and a signal after it says that it has come. Nobody packs anything, and there is no barrier.
#pragma once

#include <coracle/coracle.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "apps/himeno/block.hpp"

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

}  // namespace coracle::himeno
