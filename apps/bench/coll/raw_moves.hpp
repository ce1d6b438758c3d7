// RawMoves: what the machine itself needs for a collective inside a node: flags that ranks hand to each other, and each
// byte copied or added once, straight out of the other's memory. The limits of `coracle bench coll`.
#pragma once

#include <cstdint>
#include <vector>

#include "apps/bench/measure/raw.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals::bench {

/// Used by every rank in the same way, one operation after the other. It knows nothing of when a buffer may be used
/// again: so it does less than a collective must.
class RawMoves {
 public:
  /// `source`, `target`: this rank's, of the same size everywhere. `spins`: looks at a flag before the core is left to
  /// others.
  RawMoves(Rank& self, const Slab<double>& source, const Slab<double>& target, std::uint32_t spins);
  /// Collective. False when some rank's memory can't be reached from here or from anyone.
  Task<bool> meet();

  /// One operation; `count`: elements, of each rank's block where there are blocks. The root is rank 0.
  void barrier(std::size_t);
  void broadcast(std::size_t count);
  void reduce(std::size_t count);
  void all_reduce(std::size_t count);
  void gather(std::size_t count);
  void gather_all(std::size_t count);
  void scatter(std::size_t count);
  void reduce_scatter(std::size_t count);
  void all_to_all(std::size_t count);
  void scan(std::size_t count);

  /// Returns when all ranks have come here: the end of a batch, whose time is that of its slowest rank.
  void finish() { barrier_->wait(self_.size(), spins_); }

 private:
  static constexpr std::uint64_t kPosts = 64;
  /// Up to here every rank reads all values itself; with more, each combines a share.
  static constexpr std::size_t kSharedElements = 512;

  struct Flags {
    RawFlag posts[kPosts];
    RawFlag done;
    RawBarrier barrier;
  };

  std::uint32_t me() const noexcept { return self_.id(); }
  /// Begins an operation; this rank's memory is ready for the others when it posts.
  void enter(bool posts);
  void wait_for(std::uint32_t peer);
  /// Adds or copies `count` elements at `from` of a peer's source to `to` of this rank's target.
  void add(std::uint32_t peer, std::size_t from, std::size_t to, std::size_t count);
  void copy(std::uint32_t peer, std::size_t from, std::size_t to, std::size_t count);
  /// Adds this rank's share of all ranks' values. False when that is all of them, since they are few.
  bool combine_share(std::size_t count);
  void copy_shares(std::size_t count);

  Rank& self_;
  Slab<Flags> flags_;
  const Slab<double>& source_;
  const Slab<double>& target_;
  std::uint32_t spins_;
  std::uint64_t number_ = 0;
  RawBarrier* barrier_ = nullptr;
  std::vector<Flags*> peers_;
  std::vector<const double*> sources_;
};

}  // namespace coracle::internals::bench
