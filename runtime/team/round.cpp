// What members say, copy and decide in a round.
#include "runtime/team/round.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <cerrno>
#include <cstring>

#include "runtime/core/error.hpp"
#include "runtime/core/other_memory.hpp"
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

}  // namespace

Task<> Round::open() {
  for (std::uint32_t local_index = 0; local_index < local_size();) {
    node_area_.team_.check_whole("collective");
    co_await FlagWait(node_area_.rank_.core().flag_waits(), node_area_.part(local_index).retired, comfortable_floor(),
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

FlagWait RoundDecisions::wait_for(Flag& flag, std::uint64_t step, int peer) noexcept {
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

Round::Reading::Reading(Round& round, std::uint32_t local_index) noexcept : own_contribution_(round.own_contribution_) {
  own_contribution_.reading.store(local_index + 1,
                                  std::memory_order_seq_cst);  // pairs with move_exposed() and anybody_reads()
  address_ = round.exposed(local_index).address;
  round.note_read(local_index, address_);
  if (address_ == nullptr) own_contribution_.reading.store(0, std::memory_order_release);  // as the end
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
  const Reading reading(*this, local_index);
  if (reading.address() == nullptr) co_return false;
  const std::byte* source =
      (which == Source::results ? contribution_of(local_index).results : reading.address()) + offset;
  if (!copies_at_once())
    co_await copy_in_time(node_area_.rank_at(local_index), source, target);
  else if (node_area_.by_kernel() && !node_area_.reaches(source, target.size()))
    co_return copy_by_kernel(node_area_.rank_at(local_index), source, target);
  else if (how == Copying::past_caches)
    streaming_copy({source, target.size()}, target.data());
  else
    std::memcpy(target.data(), source, target.size());
  co_return true;
}

bool Round::copy_from_place(std::uint32_t local_index, const std::byte* source, std::span<std::byte> target) {
  const Reading reading(*this, local_index);
  return reading.address() != nullptr && copy_by_kernel(node_area_.rank_at(local_index), source, target);
}

/// False: the process is no more, of which this one will hear.
bool Round::copy_by_kernel(std::uint32_t rank, const std::byte* source, std::span<std::byte> target) {
  Rank& own = node_area_.rank_;
  // relaxed: what the rank has contributed came after it had stored its pid.
  const pid_t pid = own.core().region().block(rank).pid.load(std::memory_order_relaxed);
  const int error = read_whole_from_other(pid, reinterpret_cast<std::uint64_t>(source), target);
  if (error == 0 || error == ESRCH) return error == 0;
  const char* const hint = is_other_memory_refused(error)
                               ? "the kernel does not copy from that process; --intranode shm does without"
                               : "the other rank's buffer, or this one's, is not memory as a whole";
  throw Error::of_operation({error, std::generic_category()}, "collective", static_cast<int>(own.id()),
                            static_cast<int>(rank), hint);
}

Task<> Round::copy_own(std::span<const std::byte> source, std::byte* target) {
  const std::span<std::byte> whole(target, source.size());
  if (!copies_at_once()) co_return co_await copy_in_time(node_area_.rank_.id(), source.data(), whole);
  std::memcpy(target, source.data(), source.size());
}

/// In `sim`, out of what a rank of this node can reach.
Task<> Round::copy_in_time(std::uint32_t rank, const std::byte* source, std::span<std::byte> target) {
  const RemoteAddress address{reinterpret_cast<std::uint64_t>(source), rank, RemoteAddress::kWholeMemory};
  co_await node_area_.rank_.get(Remote<std::byte>(address), target);
}

void RoundDecisions::throw_misfit(std::uint32_t local_index) {
  TeamCore& team = node_area_.team_;
  const auto difference = first_difference(team.log().calls(), CollectiveLog::read(node_area_.part(local_index).calls));
  const std::uint32_t other = node_area_.rank_at(local_index);
  team.throw_misfit(difference ? difference->describe(node_area_.rank_.id(), other)
                               : fmt::format("ranks {} and {} have not called the same collectives of their team",
                                             node_area_.rank_.id(), other));
}

void RoundDecisions::check_all() {
  TeamCore& team = node_area_.team_;
  const std::vector<CallWords> calls = team.log().calls();
  for (std::uint32_t other = 0; other < local_size(); ++other)
    if (other != local_index() && first_difference(calls, CollectiveLog::read(node_area_.part(other).calls)))
      throw_misfit(other);
}

/// Who comes first says what is called.
void RoundDecisions::compare_called(std::uint64_t there) {
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

std::uint32_t RoundDecisions::arrive() {
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
  came(order).store(value_of(local_index() + 1), std::memory_order_release);  // pairs with has_arrived()
  return order;
}

bool RoundDecisions::has_arrived(std::uint32_t order) noexcept {
  // acquire: pairs with arrive().
  return came(order).load(std::memory_order_acquire) >= value_of(1);
}

Task<> RoundDecisions::arrival(std::uint32_t order) {
  while (!has_arrived(order)) {
    node_area_.check_whole();
    co_await UninterruptedYield();
  }
}

std::uint32_t RoundDecisions::arrived_as(std::uint32_t order) noexcept {
  CORACLE_ASSERT(has_arrived(order), "nobody has said that he was number {} to come", order);
  return static_cast<std::uint32_t>(came(order).load(std::memory_order_relaxed) - value_of(1));  // as has_arrived()
}

std::uint32_t RoundDecisions::arrivals() noexcept {
  const std::uint64_t now = control_.arrivals.load(std::memory_order_acquire);  // pairs with arrive()
  return now >= value_of(0) ? static_cast<std::uint32_t>(now - value_of(0)) : 0;
}

std::uint32_t RoundDecisions::elect() noexcept {
  std::uint64_t now = control_.leader.load(std::memory_order_acquire);  // pairs with the exchange
  while (now < value_of(1)) {
    if (control_.leader.compare_exchange_weak(now, value_of(local_index() + 1), std::memory_order_acq_rel,
                                              std::memory_order_acquire))
      return local_index();
  }
  return static_cast<std::uint32_t>(now - value_of(1));
}

void RoundDecisions::decide(std::uint64_t step) noexcept {
  node_area_.wake(control_.decision.raise_to_at_least(value_of(step)));
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
