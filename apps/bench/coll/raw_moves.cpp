// The movements of each collective.
#include "apps/bench/coll/raw_moves.hpp"

#include <algorithm>

#include "collectives/collectives.hpp"

namespace coracle::internals::bench {

RawMoves::RawMoves(Rank& self, const Slab<double>& source, const Slab<double>& target, std::uint32_t spins)
    : self_(self), flags_(self.allocate<Flags>(1)), source_(source), target_(target), spins_(spins) {}

Task<bool> RawMoves::meet() {
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

// Every half round of its posts a rank makes sure that nobody is further behind than the other half.
void RawMoves::enter(bool posts) {
  constexpr std::uint64_t kHalf = kPosts / 2;
  ++number_;
  if (number_ % kHalf == 0) {
    flags_[0].done.store(number_);
    for (Flags* peer : peers_) spin_until([=, this] { return peer->done.load() + kHalf >= number_; }, spins_);
  }
  if (posts) flags_[0].posts[number_ % kPosts].store(number_);
}

void RawMoves::wait_for(std::uint32_t peer) {
  RawFlag& post = peers_[peer]->posts[number_ % kPosts];
  spin_until([&] { return post.load() >= number_; }, spins_);
}

void RawMoves::add(std::uint32_t peer, std::size_t from, std::size_t to, std::size_t count) {
  const double* source = sources_[peer] + from;
  double* target = target_.data() + to;
  for (std::size_t i = 0; i < count; ++i) target[i] += source[i];
}

void RawMoves::copy(std::uint32_t peer, std::size_t from, std::size_t to, std::size_t count) {
  std::memcpy(target_.data() + to, sources_[peer] + from, count * sizeof(double));
}

void RawMoves::barrier(std::size_t) {
  barrier_->wait(self_.size(), spins_);
}

void RawMoves::broadcast(std::size_t count) {
  enter(me() == 0);
  if (me() == 0) return;
  wait_for(0);
  copy(0, 0, 0, count);
}

bool RawMoves::combine_share(std::size_t count) {
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

void RawMoves::copy_shares(std::size_t count) {
  for (std::uint32_t peer = 0; peer < self_.size(); ++peer) {
    const std::size_t begin = count * peer / self_.size();
    if (peer != me()) copy(peer, begin, begin, count * (peer + 1) / self_.size() - begin);
  }
}

void RawMoves::reduce(std::size_t count) {
  enter(true);
  if (me() != 0 && count <= kSharedElements) return;
  if (combine_share(count) && me() == 0) copy_shares(count);
}

void RawMoves::all_reduce(std::size_t count) {
  enter(true);
  if (combine_share(count)) copy_shares(count);
}

void RawMoves::gather(std::size_t count) {
  enter(me() != 0);
  for (std::uint32_t peer = 1; me() == 0 && peer < self_.size(); ++peer) {
    wait_for(peer);
    copy(peer, 0, peer * count, count);
  }
}

void RawMoves::gather_all(std::size_t count) {
  enter(true);
  for (std::uint32_t step = 0; step < self_.size(); ++step) {
    const std::uint32_t peer = (me() + step) % self_.size();
    wait_for(peer);
    copy(peer, 0, peer * count, count);
  }
}

void RawMoves::scatter(std::size_t count) {
  enter(me() == 0);
  if (me() != 0) wait_for(0);
  copy(0, me() * count, 0, count);
}

void RawMoves::reduce_scatter(std::size_t count) {
  enter(true);
  for (std::uint32_t step = 0; step < self_.size(); ++step) {
    const std::uint32_t peer = (me() + step) % self_.size();
    wait_for(peer);
    add(peer, me() * count, 0, count);
  }
}

void RawMoves::all_to_all(std::size_t count) {
  enter(true);
  for (std::uint32_t step = 0; step < self_.size(); ++step) {
    const std::uint32_t peer = (me() + step) % self_.size();
    wait_for(peer);
    copy(peer, me() * count, peer * count, count);
  }
}

// Of many values each rank adds its own to what its predecessor has.
void RawMoves::scan(std::size_t count) {
  enter(true);
  const std::uint32_t first = count <= kSharedElements || me() == 0 ? 0 : me() - 1;
  for (std::uint32_t peer = first; peer < me(); ++peer) {
    wait_for(peer);
    add(peer, 0, 0, count);
  }
}

}  // namespace coracle::internals::bench
