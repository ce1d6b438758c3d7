// RawMoves: what the machine itself needs for a collective inside a node: flags that ranks hand to each other, and each
// byte copied or added once, straight out of the other's memory. The limits of `coracle bench coll`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "apps/bench/measure/raw.hpp"
#include "collectives/collectives.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals::bench {

/// Used by every rank in the same way, one operation after the other. It knows nothing of when a buffer may be used
/// again: so it does less than a collective must.
class RawMoves {
 public:
  /// `source`, `target`: this rank's, of the same size everywhere. `spins`: looks at a flag before the core is left to
  /// others.
  RawMoves(Rank& self, const Slab<double>& source, const Slab<double>& target, std::uint32_t spins)
      : self_(self), flags_(self.allocate<Flags>(1)), source_(source), target_(target), spins_(spins) {}
  /// Collective. False when some rank's memory can't be reached from here or from anyone.
  Task<bool> meet() {
    const auto flags = co_await self_.world().gather_all(flags_.remote());
    const auto sources = co_await self_.world().gather_all(source_.remote());
    bool reached = true;
    for (std::uint32_t peer = 0; peer < self_.size(); ++peer) {
      peers_.push_back(self_.reach(flags[peer]));
      sources_.push_back(self_.reach(sources[peer], source_.size()));
      reached = reached && peers_.back() != nullptr && sources_.back() != nullptr;
    }
    if (peers_[0] != nullptr) barrier_ = &peers_[0]->barrier;
    co_return co_await self_.world().all_reduce(reached ? 1 : 0, [](int a, int b) { return a & b; }) == 1;
  }

  /// One operation; `count`: elements, of each rank's block where there are blocks. The root is rank 0.
  void barrier(std::size_t) { barrier_->wait(self_.size(), spins_); }
  void broadcast(std::size_t count) {
    enter(me() == 0);
    if (me() == 0) return;
    wait_for(0);
    copy(0, 0, 0, count);
  }
  void reduce(std::size_t count) {
    enter(true);
    if (me() != 0 && count <= kSharedElements) return;
    if (combine_share(count) && me() == 0) copy_shares(count);
  }
  void all_reduce(std::size_t count) {
    enter(true);
    if (combine_share(count)) copy_shares(count);
  }
  void gather(std::size_t count) {
    enter(me() != 0);
    for (std::uint32_t peer = 1; me() == 0 && peer < self_.size(); ++peer) {
      wait_for(peer);
      copy(peer, 0, peer * count, count);
    }
  }
  void gather_all(std::size_t count) {
    enter(true);
    for (std::uint32_t step = 0; step < self_.size(); ++step) {
      const std::uint32_t peer = (me() + step) % self_.size();
      wait_for(peer);
      copy(peer, 0, peer * count, count);
    }
  }
  void scatter(std::size_t count) {
    enter(me() == 0);
    if (me() != 0) wait_for(0);
    copy(0, me() * count, 0, count);
  }
  void reduce_scatter(std::size_t count) {
    enter(true);
    for (std::uint32_t step = 0; step < self_.size(); ++step) {
      const std::uint32_t peer = (me() + step) % self_.size();
      wait_for(peer);
      add(peer, me() * count, 0, count);
    }
  }
  void all_to_all(std::size_t count) {
    enter(true);
    for (std::uint32_t step = 0; step < self_.size(); ++step) {
      const std::uint32_t peer = (me() + step) % self_.size();
      wait_for(peer);
      copy(peer, me() * count, peer * count, count);
    }
  }
  // Of many values each rank adds its own to what its predecessor has.
  void scan(std::size_t count) {
    enter(true);
    const std::uint32_t first = count <= kSharedElements || me() == 0 ? 0 : me() - 1;
    for (std::uint32_t peer = first; peer < me(); ++peer) {
      wait_for(peer);
      add(peer, 0, 0, count);
    }
  }

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
  // Every half round of its posts a rank makes sure that nobody is further behind than the other half.
  void enter(bool posts) {
    constexpr std::uint64_t kHalf = kPosts / 2;
    ++number_;
    if (number_ % kHalf == 0) {
      flags_[0].done.store(number_);
      for (Flags* peer : peers_) spin_until([=, this] { return peer->done.load() + kHalf >= number_; }, spins_);
    }
    if (posts) flags_[0].posts[number_ % kPosts].store(number_);
  }
  void wait_for(std::uint32_t peer) {
    RawFlag& post = peers_[peer]->posts[number_ % kPosts];
    spin_until([&] { return post.load() >= number_; }, spins_);
  }
  /// Adds or copies `count` elements at `from` of a peer's source to `to` of this rank's target.
  void add(std::uint32_t peer, std::size_t from, std::size_t to, std::size_t count) {
    const double* source = sources_[peer] + from;
    double* target = target_.data() + to;
    for (std::size_t i = 0; i < count; ++i) target[i] += source[i];
  }
  void copy(std::uint32_t peer, std::size_t from, std::size_t to, std::size_t count) {
    std::memcpy(target_.data() + to, sources_[peer] + from, count * sizeof(double));
  }
  /// Adds this rank's share of all ranks' values. False when that is all of them, since they are few.
  bool combine_share(std::size_t count) {
    const bool all = count <= kSharedElements;
    const std::size_t begin = all ? 0 : count * me() / self_.size();
    const std::size_t end = all ? count : count * (me() + 1) / self_.size();
    for (std::uint32_t peer = 0; peer < self_.size(); ++peer) {
      if (peer == me()) continue;
      wait_for(peer);
      add(peer, begin, begin, end - begin);
    }
    return !all;
  }
  void copy_shares(std::size_t count) {
    for (std::uint32_t peer = 0; peer < self_.size(); ++peer) {
      const std::size_t begin = count * peer / self_.size();
      if (peer != me()) copy(peer, begin, begin, count * (peer + 1) / self_.size() - begin);
    }
  }

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
