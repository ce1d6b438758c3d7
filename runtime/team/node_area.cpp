// Rounds, flow control and the arena.
#include "runtime/team/node_area.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstring>

#include "runtime/core/cpu_pause.hpp"
#include "runtime/core/error.hpp"
#include "runtime/job/job.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/team_core.hpp"

namespace coracle::internals {
namespace {

/// Lets the pollers and other coroutines run once, also where the scope has been cancelled.
class UninterruptedYield {
 public:
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self) noexcept {
    if (!self.promise().loop().spins()) ::sched_yield();
    self.promise().loop().ready(self);
  }
  void await_resume() const noexcept {}
};

/// Has the local members' health asked after: one who has died while it read would be waited for for ever.
class HealthInterest final : private LossObserver {
 public:
  explicit HealthInterest(Rank& rank, const NodeArea& node_area) : node_area_(node_area) {
    rank.core().peers().observers().add(*this);
  }

 private:
  bool concerns(std::uint32_t peer) const noexcept override {
    for (std::uint32_t local_index = 0; local_index < node_area_.local_size(); ++local_index)
      if (node_area_.rank_at(local_index) == peer) return true;
    return false;
  }
  void lost(const Loss&) noexcept override {}
  const NodeArea& node_area_;
};

std::vector<std::uint32_t> ranks_of_own_node(const TeamCore& team) {
  const TeamNodes& nodes = team.nodes();
  std::vector<std::uint32_t> ranks(nodes.size_of(nodes.own()));
  for (std::uint32_t local_index = 0; local_index < ranks.size(); ++local_index)
    ranks[local_index] = team.member(nodes.member(nodes.own(), local_index));
  return ranks;
}

constexpr std::uint64_t round_down(std::uint64_t value, std::uint64_t unit) noexcept {
  return value / unit * unit;
}

}  // namespace

NodeArea::NodeArea(Rank& rank, TeamCore& team, bool of_world)
    : rank_(rank),
      team_(team),
      local_size_(team.nodes().size_of(team.nodes().own())),
      local_index_(team.nodes().local_index_of(team.index())),
      of_world_(of_world),
      light_(rank.core().flag_waits().fences()),
      crowded_(!rank.loop().spins() && rank.placement() != Placement::sim),
      first_rank_(team.member(team.nodes().member(team.nodes().own(), 0))),
      world_parts_(rank.core().region().node_area(first_rank_)),
      world_part_bytes_(rank.core().region().header().node_area_bytes) {
  const JobRegion& region = rank.core().region();
  std::uint64_t arena_bytes = NodeAreaPart::kArenaBytes;
  if (!of_world) {
    constexpr std::uint64_t kArenaBytesMin = 8 * 1024;
    constexpr std::uint64_t kArenaBytesMax = 1 << 20;
    ranks_ = ranks_of_own_node(team);
    parts_.resize(local_size_);
    arena_bytes = round_down(std::clamp(region.shape().segment_bytes / 32, kArenaBytesMin, kArenaBytesMax), 64);
    memory_ = rank.core().allocate_raw(NodeAreaPart::bytes_for(local_size_, arena_bytes));
    std::memset(memory_.data(), 0, NodeAreaPart::bytes_for(local_size_, 0));
    parts_[local_index_] = reinterpret_cast<NodeAreaPart*>(memory_.data());
    // release: pairs with the acquire in meet(), which comes after a barrier anyhow.
    std::atomic_ref<std::uint64_t>(team.own_area().node_area.count)
        .store(memory_.remote().address().offset, std::memory_order_release);
  }
  arena_ = RoundArena(own().arena(local_size_), arena_bytes);
  team.log().use(own().calls);
}

NodeArea::~NodeArea() {
  if (of_world_) return;  // the region outlives it
  // acq_rel: whoever finds that all have departed comes after all that they did here.
  for (NodeAreaPart* part : parts_)
    if (part != nullptr) part->departed.fetch_add(1, std::memory_order_acq_rel);
  rank_.local<Teams>().keep_until_departed(std::move(memory_), own().departed, local_size_);
}

void NodeArea::meet() noexcept {
  const JobRegion& region = rank_.core().region();
  for (std::uint32_t local_index = 0; local_index < local_size_; ++local_index) {
    std::byte* segment = region.segment(ranks_[local_index]);
    auto& area = *reinterpret_cast<TeamArea*>(segment + std::uint64_t{team_.slot()} * sizeof(TeamArea));
    // acquire: as in the constructor.
    const auto offset = std::atomic_ref<std::uint64_t>(area.node_area.count).load(std::memory_order_acquire);
    parts_[local_index] = reinterpret_cast<NodeAreaPart*>(segment + offset);
  }
}

bool NodeArea::can_expose(const void* address, std::size_t bytes) const noexcept {
  const JobRegion& region = rank_.core().region();
  return region.shape().placement != Placement::process || region.contains(address, bytes);
}

std::uint64_t NodeArea::floor(bool look) noexcept {
  if (!look) return floor_;
  std::uint64_t least = retired_;
  for (std::uint32_t local_index = 0; local_index < local_size_; ++local_index)
    least = std::min(least, part(local_index).retired.value.load(std::memory_order_acquire));  // pairs with retire()
  return floor_ = least;
}

void NodeArea::check_whole() const {
  team_.check_whole("collective");
}

void NodeArea::retire(std::uint64_t number) noexcept {
  constexpr std::uint32_t kRounds = NodeAreaPart::kRounds;
  if (number <= retired_ || number > retired_ + kRounds) return;  // the latter only where the team broke meanwhile
  const auto bit_of = [](std::uint64_t round) { return std::uint64_t{1} << round % 64; };
  if (number != retired_ + 1) {
    retired_after_[number % kRounds / 64] |= bit_of(number);
    return;
  }
  retired_ = number;
  for (std::uint64_t next = number + 1; (retired_after_[next % kRounds / 64] & bit_of(next)) != 0; ++next) {
    retired_after_[next % kRounds / 64] &= ~bit_of(next);
    retired_ = next;
  }
  raise(own().retired, retired_);
  retired_more_.set();
  retired_more_.reset();
}

void NodeArea::wake(std::uint64_t sleepers) noexcept {
  for (; sleepers != 0; sleepers &= sleepers - 1)
    for (auto local_index = static_cast<std::uint32_t>(std::countr_zero(sleepers)); local_index < local_size_;
         local_index += 64)
      if (local_index != local_index_) rank_.core().wake(rank_at(local_index));
}

std::byte* NodeArea::allocate(std::uint64_t number, std::size_t bytes) {
  constexpr std::size_t kManyAllocated = 64;
  const bool is_earliest = number == retired_ + 1;
  for (const bool look : {false, true}) {
    const std::uint64_t over = floor(look || arena_.taken() >= kManyAllocated);
    std::byte* room = is_earliest ? arena_.take_for_earliest(number, bytes, over) : arena_.take(number, bytes, over);
    if (room != nullptr) return room;
  }
  return nullptr;
}

Round::Round(NodeArea& node_area, std::uint64_t number) noexcept
    : node_area_(node_area),
      number_(number),
      signature_(node_area.team_.log().signature() << Contribution::kSignatureShift),
      own_contribution_(node_area.own().contributions[number % NodeAreaPart::kRounds]),
      control_(node_area.part(0).controls[number % NodeAreaPart::kRounds]) {}

Round::~Round() {
  node_area_.retire(number_);
}

Task<> Round::open() {
  for (std::uint32_t local_index = 0; local_index < local_size();) {
    const std::uint64_t wanted = number_ - NodeAreaPart::kRounds;
    if (is_open()) co_return;
    node_area_.team_.check_whole("collective");
    co_await FlagWait(node_area_.rank_.core().flag_waits(), node_area_.part(local_index).retired, wanted,
                      node_area_.own_bit(), node_area_.team_.observers(),
                      static_cast<int>(node_area_.rank_at(local_index)));
    if (++local_index == local_size()) node_area_.floor(true);
  }
}

Task<std::byte*> Round::allocate_when_free(std::size_t bytes) {
  CORACLE_ASSERT(bytes <= node_area_.room_bytes_max(), "{} bytes of room, of {}", bytes, node_area_.room_bytes_max());
  for (;;) {
    node_area_.team_.check_whole("collective");
    if (std::byte* room = allocate(bytes)) co_return room;
    const std::uint64_t awaited = node_area_.arena_.awaited_by(number_, number_ == node_area_.retired_ + 1);
    if (awaited == 0) {
      co_await node_area_.retired_more_;  // the earlier rounds end also where the team has broken
      continue;
    }
    for (std::uint32_t local_index = 0; local_index < local_size(); ++local_index) {
      node_area_.team_.check_whole("collective");
      co_await FlagWait(node_area_.rank_.core().flag_waits(), node_area_.part(local_index).retired, awaited,
                        node_area_.own_bit(), node_area_.team_.observers(),
                        static_cast<int>(node_area_.rank_at(local_index)));
    }
  }
}

void Round::contribute(std::span<const std::byte> data, std::uint64_t step) noexcept {
  CORACLE_ASSERT(data.size() <= Contribution::kInlineBytesMax, "{} bytes inline", data.size());
  is_marked_ = true;
  own_contribution_.mark.store(signature_ | static_cast<std::uint32_t>(data.size()),
                               std::memory_order_relaxed);  // publish() orders it
  if (!data.empty()) std::memcpy(own_contribution_.inline_data(), data.data(), data.size());
  publish(step);
}

void Round::expose(const void* address, std::size_t bytes, std::uint64_t step, std::uint32_t mark) noexcept {
  own_contribution_.bytes.store(bytes, std::memory_order_relaxed);  // the store of the address orders both
  is_marked_ = true;
  own_contribution_.mark.store(Contribution::kExposed | signature_ | mark, std::memory_order_relaxed);
  // release: pairs with exposed(), for who has read an earlier word of this round.
  own_contribution_.address.store(reinterpret_cast<std::uint64_t>(address), std::memory_order_release);
  publish(step);
}

void Round::expose_for_writing(void* address, std::size_t bytes, std::uint64_t step, std::uint32_t mark) noexcept {
  // Nobody looks at them before the contribution says that it is of this round, which orders them.
  own_contribution_.claimed.store(0, std::memory_order_relaxed);
  own_contribution_.written.store(0, std::memory_order_relaxed);
  expose(address, bytes, step, mark);
}

void Round::publish(std::uint64_t step) noexcept {
  if (!is_marked_) {  // a contribution of nothing but its step
    is_marked_ = true;
    own_contribution_.mark.store(signature_, std::memory_order_relaxed);  // the flag orders it
  }
  node_area_.raise(own_contribution_.flag, value_of(step));
}

void Round::move_exposed(const void* address) noexcept {
  // Where this member has exposed nothing yet, its contribution may be as an earlier round has left it. The mark of
  // what is exposed stays: a local member may see the new mark with the old address.
  if (address == nullptr && !(is_marked_ && is_exposed(local_index()))) {
    is_marked_ = true;
    own_contribution_.mark.store(Contribution::kExposed | signature_,
                                 std::memory_order_relaxed);  // the next store orders it
  }
  // seq_cst: pairs with begin_reading(): a reader has marked itself before it loads the address.
  own_contribution_.address.store(reinterpret_cast<std::uint64_t>(address), std::memory_order_seq_cst);
}

FlagWait Round::wait_for(Flag& flag, std::uint64_t step, int peer) noexcept {
  return {node_area_.rank_.core().flag_waits(), flag, value_of(step), node_area_.own_bit(),
          node_area_.team_.observers(),         peer};
}

Round::ExposedBuffer Round::exposed(std::uint32_t local_index) noexcept {
  Contribution& contribution = contribution_of(local_index);
  CORACLE_ASSERT(is_exposed(local_index), "local index {} has contributed {} bytes inline", local_index,
                 contribution.mark.load());
  // acquire, by seq_cst: what was written before the address is seen.
  const auto* address = reinterpret_cast<const std::byte*>(contribution.address.load(std::memory_order_seq_cst));
  return {address, contribution.bytes.load(std::memory_order_relaxed),
          contribution.mark.load(std::memory_order_relaxed) & Contribution::kMarkMask};
}

std::span<const std::byte> Round::contributed(std::uint32_t local_index) noexcept {
  if (!is_exposed(local_index)) return inline_data(local_index);
  const ExposedBuffer memory = exposed(local_index);
  return {memory.address, memory.bytes};
}

bool Round::copies_at_once() const noexcept {
  return node_area_.rank_.placement() != Placement::sim;
}

const std::byte* Round::begin_reading(std::uint32_t local_index) noexcept {
  own_contribution_.reading.store(local_index + 1,
                                  std::memory_order_seq_cst);  // pairs with move_exposed() and anybody_reads()
  const ExposedBuffer memory = exposed(local_index);
  if (memory.address == nullptr) end_reading();
  return memory.address;
}

Task<bool> Round::copy(std::uint32_t local_index, std::size_t offset, std::span<std::byte> target, Copying how) {
  return copy_from(local_index, Source::exposed, offset, target, how);
}

Task<bool> Round::copy_results(std::uint32_t local_index, std::size_t offset, std::span<std::byte> target) {
  return copy_from(local_index, Source::results, offset, target, Copying::by_caches);
}

Task<bool> Round::copy_from(std::uint32_t local_index, Source which, std::size_t offset, std::span<std::byte> target,
                            Copying how) {
  // Results too, so that a local member that fails can tell when nobody reads any more.
  const std::byte* source = begin_reading(local_index);
  if (source == nullptr) co_return false;
  if (which == Source::results) source = contribution_of(local_index).results;
  if (copies_at_once() && how == Copying::past_caches)
    streaming_copy({source + offset, target.size()}, target.data());
  else if (copies_at_once())
    std::memcpy(target.data(), source + offset, target.size());
  else
    co_await copy_in_time(local_index, source + offset, target);
  end_reading();
  co_return true;
}

/// In `sim`.
Task<> Round::copy_in_time(std::uint32_t local_index, const std::byte* source, std::span<std::byte> target) {
  const auto address = reinterpret_cast<std::uint64_t>(source);
  std::exception_ptr failure;
  try {
    const Remote<std::byte> there({address, node_area_.rank_at(local_index), RemoteAddress::kWholeMemory});
    co_await node_area_.rank_.get(there, target);
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) co_return;
  end_reading();
  std::rethrow_exception(failure);
}

Task<> Round::copy_own(std::span<const std::byte> source, std::byte* target) {
  Rank& rank = node_area_.rank_;
  if (rank.placement() != Placement::sim) {
    std::memcpy(target, source.data(), source.size());
    co_return;
  }
  const auto address = reinterpret_cast<std::uint64_t>(source.data());
  co_await rank.get(Remote<std::byte>({address, rank.id(), RemoteAddress::kWholeMemory}), {target, source.size()});
}

void Round::throw_misfit(std::uint32_t local_index) {
  TeamCore& team = node_area_.team_;
  const auto difference = first_difference(team.log().calls(), CollectiveLog::read(node_area_.part(local_index).calls));
  const std::uint32_t other = node_area_.rank_at(local_index);
  team.throw_misfit(difference ? difference->describe(node_area_.rank_.id(), other)
                               : fmt::format("ranks {} and {} have not called the same collectives of their team",
                                             node_area_.rank_.id(), other));
}

void Round::check_all() {
  TeamCore& team = node_area_.team_;
  const std::vector<CallWords> calls = team.log().calls();
  for (std::uint32_t other = 0; other < local_size(); ++other)
    if (other != local_index() && first_difference(calls, CollectiveLog::read(node_area_.part(other).calls)))
      throw_misfit(other);
}

/// Who comes first says what is called.
void Round::compare_called(std::uint64_t there) {
  const std::uint64_t ours = value_of(signature_ >> Contribution::kSignatureShift);
  // acq_rel: what the first has called is seen by whoever sees its signature.
  while (there < value_of(0))
    if (control_.called.compare_exchange_weak(there, ours, std::memory_order_acq_rel, std::memory_order_acquire))
      return;
  if (there == ours) return;
  check_all();
  node_area_.team_.throw_misfit(
      fmt::format("rank {} has not called the same collectives as others of its team", node_area_.rank_.id()));
}

std::uint32_t Round::arrive() {
  // In the same cache line as what is written next. acquire: as in compare_called().
  const std::uint64_t called = control_.called.load(std::memory_order_acquire);
  if (called != value_of(signature_ >> Contribution::kSignatureShift)) compare_called(called);
  std::uint64_t now = control_.arrivals.load(std::memory_order_relaxed);  // the exchange decides
  std::uint64_t next = 0;
  // acq_rel: the last to arrive comes after all that the others did before; seq_cst would add nothing.
  do {
    next = (now >= value_of(0) ? now : value_of(0)) + 1;
  } while (!control_.arrivals.compare_exchange_weak(now, next, std::memory_order_acq_rel, std::memory_order_relaxed));
  const auto order = static_cast<std::uint32_t>(next - value_of(1));
  node_area_.part(0).order(number_, local_size())[order].store(value_of(local_index() + 1),
                                                               std::memory_order_release);  // arrived_as
  return order;
}

bool Round::has_arrived(std::uint32_t order) noexcept {
  // acquire: pairs with arrive().
  return node_area_.part(0).order(number_, local_size())[order].load(std::memory_order_acquire) >= value_of(1);
}

Task<> Round::arrival(std::uint32_t order) {
  while (!has_arrived(order)) {
    node_area_.check_whole();
    co_await UninterruptedYield();
  }
}

std::uint32_t Round::arrived_as(std::uint32_t order) noexcept {
  CORACLE_ASSERT(has_arrived(order), "nobody has said that he was number {} to come", order);
  const auto& entry = node_area_.part(0).order(number_, local_size())[order];
  return static_cast<std::uint32_t>(entry.load(std::memory_order_relaxed) - value_of(1));  // has_arrived() ordered it
}

std::uint32_t Round::arrivals() noexcept {
  const std::uint64_t now = control_.arrivals.load(std::memory_order_acquire);  // pairs with arrive()
  return now >= value_of(0) ? static_cast<std::uint32_t>(now - value_of(0)) : 0;
}

std::uint32_t Round::elect() noexcept {
  std::uint64_t now = control_.leader.load(std::memory_order_acquire);  // pairs with the exchange
  while (now < value_of(1)) {
    if (control_.leader.compare_exchange_weak(now, value_of(local_index() + 1), std::memory_order_acq_rel,
                                              std::memory_order_acquire))
      return local_index();
  }
  return static_cast<std::uint32_t>(now - value_of(1));
}

void Round::decide(std::uint64_t step) noexcept {
  node_area_.wake(control_.decision.raise_to_at_least(value_of(step)));
}

void Round::rest_shortly() noexcept {
  cpu_pause();
  cpu_pause();
}

bool Round::anybody_reads() noexcept {
  for (std::uint32_t other = 0; other < local_size(); ++other) {
    // seq_cst: pairs with begin_reading(), see move_exposed().
    if (contribution_of(other).reading.load(std::memory_order_seq_cst) == local_index() + 1 &&
        !node_area_.rank_.lost(node_area_.rank_at(other)))
      return true;
  }
  return false;
}

Task<> Round::written_by_others(std::uint32_t parts) {
  // acquire: pairs with written().
  const auto all_written = [&] { return own_contribution_.written.load(std::memory_order_acquire) >= parts; };
  if (all_written()) co_return;
  const HealthInterest concern(node_area_.rank_, node_area_);
  while (!all_written()) {
    node_area_.check_whole();
    co_await UninterruptedYield();
  }
}

Task<> Round::nobody_reads() {
  if (!anybody_reads()) co_return;
  const HealthInterest concern(node_area_.rank_, node_area_);
  while (anybody_reads()) co_await UninterruptedYield();
}

Task<> Round::withdraw() {
  // What is inline lies where the address would, and local members that have not failed yet may still take it.
  if (is_exposed(local_index())) move_exposed(nullptr);
  co_await nobody_reads();
}

}  // namespace coracle::internals
