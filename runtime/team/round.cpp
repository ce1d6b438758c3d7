// What members say, copy and decide in a round.
#include "runtime/team/round.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <cstring>

#include "runtime/core/error.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/team_core.hpp"

namespace coracle::internals {
namespace {

/// Lets the pollers and other coroutines run once, also where the scope has been cancelled.
class Breath {
 public:
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self) noexcept {
    if (!self.promise().loop().spins()) ::sched_yield();
    self.promise().loop().ready(self);
  }
  void await_resume() const noexcept {}
};

/// Has the mates' health asked after: one who has died while it read would be waited for for ever.
class Concern final : private LossWatch {
 public:
  explicit Concern(Rank& rank, const Board& board) : board_(board) { rank.core().peers().watches().add(*this); }

 private:
  bool concerns(std::uint32_t peer) const noexcept override {
    for (std::uint32_t place = 0; place < board_.mates(); ++place)
      if (board_.rank_at(place) == peer) return true;
    return false;
  }
  void lost(const Loss&) noexcept override {}
  const Board& board_;
};

}  // namespace

RoundDecisions::RoundDecisions(Board& board, std::uint64_t number) noexcept
    : board_(board),
      number_(number),
      signature_(board.team_.log().signature() << Post::kSignatureShift),
      ballot_(board.part(0).ballots[number % BoardPart::kRounds]) {}

Round::Round(Board& board, std::uint64_t number) noexcept
    : RoundDecisions(board, number), own_post_(board.own().posts[number % BoardPart::kRounds]) {}

Round::~Round() {
  board_.retire(number_);
}

Task<> Round::open() {
  for (std::uint32_t place = 0; place < mates();) {
    const std::uint64_t wanted = number_ - BoardPart::kRounds;
    if (is_open()) co_return;
    board_.team_.check_whole("collective");
    co_await FlagWait(board_.rank_.core().flag_waits(), board_.part(place).retired, wanted, board_.own_bit(),
                      board_.team_.watches(), static_cast<int>(board_.rank_at(place)));
    if (++place == mates()) board_.floor(true);
  }
}

Task<std::byte*> Round::stage_when_free(std::size_t bytes) {
  CORACLE_ASSERT(bytes <= board_.room_bytes_max(), "{} bytes of room, of {}", bytes, board_.room_bytes_max());
  for (;;) {
    board_.team_.check_whole("collective");
    if (std::byte* room = stage(bytes)) co_return room;
    const std::uint64_t awaited = board_.arena_.awaited_by(number_, number_ == board_.retired_ + 1);
    if (awaited == 0) {
      co_await board_.retired_more_;  // the earlier rounds end also where the team has broken
      continue;
    }
    for (std::uint32_t place = 0; place < mates(); ++place) {
      board_.team_.check_whole("collective");
      co_await FlagWait(board_.rank_.core().flag_waits(), board_.part(place).retired, awaited, board_.own_bit(),
                        board_.team_.watches(), static_cast<int>(board_.rank_at(place)));
    }
  }
}

void Round::post(std::span<const std::byte> data, std::uint64_t stage) noexcept {
  CORACLE_ASSERT(data.size() <= Post::kInlineBytesMax, "{} bytes inline", data.size());
  is_marked_ = true;
  own_post_.mark.store(signature_ | static_cast<std::uint32_t>(data.size()),
                       std::memory_order_relaxed);  // publish() orders it
  if (!data.empty()) std::memcpy(own_post_.inline_data(), data.data(), data.size());
  publish(stage);
}

void Round::lend(const void* address, std::size_t bytes, std::uint64_t stage, std::uint32_t mark) noexcept {
  own_post_.bytes.store(bytes, std::memory_order_relaxed);  // the store of the address orders both
  is_marked_ = true;
  own_post_.mark.store(Post::kLent | signature_ | mark, std::memory_order_relaxed);
  // release: pairs with lent(), for who has read an earlier word of this round.
  own_post_.address.store(reinterpret_cast<std::uint64_t>(address), std::memory_order_release);
  publish(stage);
}

void Round::lend_for_writing(void* address, std::size_t bytes, std::uint64_t stage, std::uint32_t mark) noexcept {
  // Nobody looks at them before the post says that it is of this round, which orders them.
  own_post_.claimed.store(0, std::memory_order_relaxed);
  own_post_.written.store(0, std::memory_order_relaxed);
  lend(address, bytes, stage, mark);
}

void Round::publish(std::uint64_t stage) noexcept {
  if (!is_marked_) {  // a post of nothing but its stage
    is_marked_ = true;
    own_post_.mark.store(signature_, std::memory_order_relaxed);  // the flag orders it
  }
  board_.raise(own_post_.flag, value_of(stage));
}

void Round::move_lent(const void* address) noexcept {
  // Where this member has lent nothing yet, its post may be as an earlier round has left it. The mark of what is lent
  // stays: a mate may see the new mark with the old address.
  if (address == nullptr && !(is_marked_ && is_lent(place()))) {
    is_marked_ = true;
    own_post_.mark.store(Post::kLent | signature_, std::memory_order_relaxed);  // the next store orders it
  }
  // seq_cst: pairs with begin_reading(): a reader has marked itself before it loads the address.
  own_post_.address.store(reinterpret_cast<std::uint64_t>(address), std::memory_order_seq_cst);
}

FlagWait RoundDecisions::wait_for(Flag& flag, std::uint64_t stage, int peer) noexcept {
  return {board_.rank_.core().flag_waits(), flag, value_of(stage), board_.own_bit(), board_.team_.watches(), peer};
}

Round::Lent Round::lent(std::uint32_t place) noexcept {
  Post& post = post_of(place);
  CORACLE_ASSERT(is_lent(place), "place {} has posted {} bytes inline", place, post.mark.load());
  // acquire, by seq_cst: what was written before the address is seen.
  const auto* address = reinterpret_cast<const std::byte*>(post.address.load(std::memory_order_seq_cst));
  return {address, post.bytes.load(std::memory_order_relaxed),
          post.mark.load(std::memory_order_relaxed) & Post::kMarkMask};
}

std::span<const std::byte> Round::staged(std::uint32_t place) noexcept {
  if (!is_lent(place)) return inline_data(place);
  const Lent memory = lent(place);
  return {memory.address, memory.bytes};
}

Round::Reading::Reading(Round& round, std::uint32_t place) noexcept : own_post_(round.own_post_) {
  own_post_.reading.store(place + 1, std::memory_order_seq_cst);  // pairs with move_lent() and anybody_reads()
  address_ = round.lent(place).address;
  if (address_ == nullptr) own_post_.reading.store(0, std::memory_order_release);  // as the end
}

Task<bool> Round::copy(std::uint32_t place, std::size_t offset, std::span<std::byte> target, Copying how) {
  return copy_from(place, Source::lent, offset, target, how);
}

Task<bool> Round::copy_results(std::uint32_t place, std::size_t offset, std::span<std::byte> target) {
  return copy_from(place, Source::results, offset, target, Copying::by_caches);
}

Task<bool> Round::copy_from(std::uint32_t place, Source which, std::size_t offset, std::span<std::byte> target,
                            Copying how) {
  // Results too, so that a mate that fails can tell when nobody reads any more.
  const Reading reading(*this, place);
  if (reading.address() == nullptr) co_return false;
  const std::byte* source = (which == Source::results ? post_of(place).results : reading.address()) + offset;
  if (!copies_at_once())
    co_await copy_in_time(board_.rank_at(place), source, target);
  else if (how == Copying::past_caches)
    streaming_copy({source, target.size()}, target.data());
  else
    std::memcpy(target.data(), source, target.size());
  co_return true;
}

Task<> Round::copy_own(std::span<const std::byte> source, std::byte* target) {
  const std::span<std::byte> whole(target, source.size());
  if (!copies_at_once()) co_return co_await copy_in_time(board_.rank_.id(), source.data(), whole);
  std::memcpy(target, source.data(), source.size());
}

/// In `sim`, out of what a rank of this node can reach.
Task<> Round::copy_in_time(std::uint32_t rank, const std::byte* source, std::span<std::byte> target) {
  const RemoteAddress address{reinterpret_cast<std::uint64_t>(source), rank, RemoteAddress::kWholeMemory};
  co_await board_.rank_.get(Remote<std::byte>(address), target);
}

void RoundDecisions::throw_misfit(std::uint32_t place) {
  TeamCore& team = board_.team_;
  const auto difference = first_difference(team.log().calls(), CollectiveLog::read(board_.part(place).calls));
  const std::uint32_t mate = board_.rank_at(place);
  team.throw_misfit(difference ? difference->describe(board_.rank_.id(), mate)
                               : fmt::format("ranks {} and {} have not called the same collectives of their team",
                                             board_.rank_.id(), mate));
}

void RoundDecisions::check_all() {
  TeamCore& team = board_.team_;
  const std::vector<CallWords> calls = team.log().calls();
  for (std::uint32_t mate = 0; mate < mates(); ++mate)
    if (mate != place() && first_difference(calls, CollectiveLog::read(board_.part(mate).calls))) throw_misfit(mate);
}

/// Who comes first says what is called.
void RoundDecisions::compare_called(std::uint64_t there) {
  const std::uint64_t ours = value_of(signature_ >> Post::kSignatureShift);
  // acq_rel: what the first has called is seen by whoever sees its signature.
  while (there < value_of(0))
    if (ballot_.called.compare_exchange_weak(there, ours, std::memory_order_acq_rel, std::memory_order_acquire)) return;
  if (there == ours) return;
  check_all();
  board_.team_.throw_misfit(
      fmt::format("rank {} has not called the same collectives as others of its team", board_.rank_.id()));
}

std::uint32_t RoundDecisions::arrive() {
  // In the same cache line as what is written next. acquire: as in compare_called().
  const std::uint64_t called = ballot_.called.load(std::memory_order_acquire);
  if (called != value_of(signature_ >> Post::kSignatureShift)) compare_called(called);
  std::uint64_t now = ballot_.arrivals.load(std::memory_order_relaxed);  // the exchange decides
  std::uint64_t next = 0;
  // acq_rel: the last to arrive comes after all that the others did before; seq_cst would add nothing.
  do {
    next = (now >= value_of(0) ? now : value_of(0)) + 1;
  } while (!ballot_.arrivals.compare_exchange_weak(now, next, std::memory_order_acq_rel, std::memory_order_relaxed));
  const auto order = static_cast<std::uint32_t>(next - value_of(1));
  board_.part(0).order(number_, mates())[order].store(value_of(place() + 1), std::memory_order_release);  // arrived_as
  return order;
}

bool RoundDecisions::has_arrived(std::uint32_t order) noexcept {
  // acquire: pairs with arrive().
  return board_.part(0).order(number_, mates())[order].load(std::memory_order_acquire) >= value_of(1);
}

Task<> RoundDecisions::arrival(std::uint32_t order) {
  while (!has_arrived(order)) {
    board_.check_whole();
    co_await Breath();
  }
}

std::uint32_t RoundDecisions::arrived_as(std::uint32_t order) noexcept {
  CORACLE_ASSERT(has_arrived(order), "nobody has said that he was number {} to come", order);
  const auto& entry = board_.part(0).order(number_, mates())[order];
  return static_cast<std::uint32_t>(entry.load(std::memory_order_relaxed) - value_of(1));  // has_arrived() ordered it
}

std::uint32_t RoundDecisions::arrivals() noexcept {
  const std::uint64_t now = ballot_.arrivals.load(std::memory_order_acquire);  // pairs with arrive()
  return now >= value_of(0) ? static_cast<std::uint32_t>(now - value_of(0)) : 0;
}

std::uint32_t RoundDecisions::elect() noexcept {
  std::uint64_t now = ballot_.leader.load(std::memory_order_acquire);  // pairs with the exchange
  while (now < value_of(1)) {
    if (ballot_.leader.compare_exchange_weak(now, value_of(place() + 1), std::memory_order_acq_rel,
                                             std::memory_order_acquire))
      return place();
  }
  return static_cast<std::uint32_t>(now - value_of(1));
}

void RoundDecisions::decide(std::uint64_t stage) noexcept {
  board_.wake(ballot_.verdict.raise_to_at_least(value_of(stage)));
}

bool Round::anybody_reads() noexcept {
  for (std::uint32_t mate = 0; mate < mates(); ++mate) {
    // seq_cst: pairs with begin_reading(), see move_lent().
    if (post_of(mate).reading.load(std::memory_order_seq_cst) == place() + 1 &&
        !board_.rank_.lost(board_.rank_at(mate)))
      return true;
  }
  return false;
}

Task<> Round::written_by_mates(std::uint32_t parts) {
  // acquire: pairs with written().
  const auto all_written = [&] { return own_post_.written.load(std::memory_order_acquire) >= parts; };
  if (all_written()) co_return;
  const Concern concern(board_.rank_, board_);
  while (!all_written()) {
    board_.check_whole();
    co_await Breath();
  }
}

Task<> Round::nobody_reads() {
  if (!anybody_reads()) co_return;
  const Concern concern(board_.rank_, board_);
  while (anybody_reads()) co_await Breath();
}

Task<> Round::withdraw() {
  // What is inline lies where the address would, and mates that have not failed yet may still take it.
  if (is_lent(place())) move_lent(nullptr);
  co_await nobody_reads();
}

}  // namespace coracle::internals
