// Rounds, flow control and the arena.
#include "runtime/team/board.hpp"

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

std::vector<std::uint32_t> ranks_of_own_node(const TeamCore& team) {
  const TeamNodes& nodes = team.nodes();
  std::vector<std::uint32_t> ranks(nodes.size_of(nodes.own()));
  for (std::uint32_t place = 0; place < ranks.size(); ++place)
    ranks[place] = team.member(nodes.member(nodes.own(), place));
  return ranks;
}

constexpr std::uint64_t round_down(std::uint64_t value, std::uint64_t unit) noexcept {
  return value / unit * unit;
}

}  // namespace

Board::Board(Rank& rank, TeamCore& team, bool of_world)
    : rank_(rank),
      team_(team),
      mates_(team.nodes().size_of(team.nodes().own())),
      place_(team.nodes().place_of(team.index())),
      of_world_(of_world),
      light_(rank.core().flag_waits().fences()),
      crowded_(!rank.loop().spins() && rank.placement() != Placement::sim),
      first_rank_(team.member(team.nodes().member(team.nodes().own(), 0))),
      world_parts_(rank.core().region().board(first_rank_)),
      world_part_bytes_(rank.core().region().header().board_bytes) {
  const JobRegion& region = rank.core().region();
  std::uint64_t arena_bytes = BoardPart::kArenaBytes;
  if (!of_world) {
    constexpr std::uint64_t kArenaBytesMin = 8 * 1024;
    constexpr std::uint64_t kArenaBytesMax = 1 << 20;
    ranks_ = ranks_of_own_node(team);
    parts_.resize(mates_);
    arena_bytes = round_down(std::clamp(region.shape().segment_bytes / 32, kArenaBytesMin, kArenaBytesMax), 64);
    memory_ = rank.core().allocate_raw(BoardPart::bytes_for(mates_, arena_bytes));
    std::memset(memory_.data(), 0, BoardPart::bytes_for(mates_, 0));
    parts_[place_] = reinterpret_cast<BoardPart*>(memory_.data());
    // release: pairs with the acquire in meet(), which comes after a barrier anyhow.
    std::atomic_ref<std::uint64_t>(team.own_area().board.count)
        .store(memory_.remote().address().offset, std::memory_order_release);
  }
  arena_ = StagingArena(own().arena(mates_), arena_bytes);
  team.log().use(own().calls);
}

Board::~Board() {
  if (of_world_) return;  // the region outlives it
  // acq_rel: whoever finds that all have departed comes after all that they did here.
  for (BoardPart* part : parts_)
    if (part != nullptr) part->departed.fetch_add(1, std::memory_order_acq_rel);
  rank_.local<Teams>().keep_until_departed(std::move(memory_), own().departed, mates_);
}

void Board::meet() noexcept {
  const JobRegion& region = rank_.core().region();
  for (std::uint32_t place = 0; place < mates_; ++place) {
    std::byte* segment = region.segment(ranks_[place]);
    auto& area = *reinterpret_cast<TeamArea*>(segment + std::uint64_t{team_.slot()} * sizeof(TeamArea));
    // acquire: as in the constructor.
    const auto offset = std::atomic_ref<std::uint64_t>(area.board.count).load(std::memory_order_acquire);
    parts_[place] = reinterpret_cast<BoardPart*>(segment + offset);
  }
}

bool Board::can_lend(const void* address, std::size_t bytes) const noexcept {
  const JobRegion& region = rank_.core().region();
  return region.shape().placement != Placement::process || region.contains(address, bytes);
}

std::uint64_t Board::floor(bool look) noexcept {
  if (!look) return floor_;
  std::uint64_t least = retired_;
  for (std::uint32_t place = 0; place < mates_; ++place)
    least = std::min(least, part(place).retired.value.load(std::memory_order_acquire));  // pairs with retire()
  return floor_ = least;
}

void Board::check_whole() const {
  team_.check_whole("collective");
}

void Board::retire(std::uint64_t number) noexcept {
  constexpr std::uint32_t kRounds = BoardPart::kRounds;
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

void Board::wake(std::uint64_t sleepers) noexcept {
  for (; sleepers != 0; sleepers &= sleepers - 1)
    for (auto place = static_cast<std::uint32_t>(std::countr_zero(sleepers)); place < mates_; place += 64)
      if (place != place_) rank_.core().wake(rank_at(place));
}

std::byte* Board::stage(std::uint64_t number, std::size_t bytes) {
  constexpr std::size_t kManyStaged = 64;
  const bool is_earliest = number == retired_ + 1;
  for (const bool look : {false, true}) {
    const std::uint64_t over = floor(look || arena_.taken() >= kManyStaged);
    std::byte* room = is_earliest ? arena_.take_for_earliest(number, bytes, over) : arena_.take(number, bytes, over);
    if (room != nullptr) return room;
  }
  return nullptr;
}

Round::Round(Board& board, std::uint64_t number) noexcept
    : board_(board),
      number_(number),
      signature_(board.team_.log().signature() << Post::kSignatureShift),
      own_post_(board.own().posts[number % BoardPart::kRounds]),
      ballot_(board.part(0).ballots[number % BoardPart::kRounds]) {}

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

FlagWait Round::wait_for(Flag& flag, std::uint64_t stage, int peer) noexcept {
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

bool Round::copies_at_once() const noexcept {
  return board_.rank_.placement() != Placement::sim;
}

const std::byte* Round::begin_reading(std::uint32_t place) noexcept {
  own_post_.reading.store(place + 1, std::memory_order_seq_cst);  // pairs with move_lent() and anybody_reads()
  const Lent memory = lent(place);
  if (memory.address == nullptr) end_reading();
  return memory.address;
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
  const std::byte* source = begin_reading(place);
  if (source == nullptr) co_return false;
  if (which == Source::results) source = post_of(place).results;
  if (copies_at_once() && how == Copying::past_caches)
    streaming_copy({source + offset, target.size()}, target.data());
  else if (copies_at_once())
    std::memcpy(target.data(), source + offset, target.size());
  else
    co_await copy_in_time(place, source + offset, target);
  end_reading();
  co_return true;
}

/// In `sim`.
Task<> Round::copy_in_time(std::uint32_t place, const std::byte* source, std::span<std::byte> target) {
  const auto address = reinterpret_cast<std::uint64_t>(source);
  std::exception_ptr failure;
  try {
    const Remote<std::byte> there({address, board_.rank_at(place), RemoteAddress::kWholeMemory});
    co_await board_.rank_.get(there, target);
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) co_return;
  end_reading();
  std::rethrow_exception(failure);
}

Task<> Round::copy_own(std::span<const std::byte> source, std::byte* target) {
  Rank& rank = board_.rank_;
  if (rank.placement() != Placement::sim) {
    std::memcpy(target, source.data(), source.size());
    co_return;
  }
  const auto address = reinterpret_cast<std::uint64_t>(source.data());
  co_await rank.get(Remote<std::byte>({address, rank.id(), RemoteAddress::kWholeMemory}), {target, source.size()});
}

void Round::throw_misfit(std::uint32_t place) {
  TeamCore& team = board_.team_;
  const auto difference = first_difference(team.log().calls(), CollectiveLog::read(board_.part(place).calls));
  const std::uint32_t mate = board_.rank_at(place);
  team.throw_misfit(difference ? difference->describe(board_.rank_.id(), mate)
                               : fmt::format("ranks {} and {} have not called the same collectives of their team",
                                             board_.rank_.id(), mate));
}

void Round::check_all() {
  TeamCore& team = board_.team_;
  const std::vector<CallWords> calls = team.log().calls();
  for (std::uint32_t mate = 0; mate < mates(); ++mate)
    if (mate != place() && first_difference(calls, CollectiveLog::read(board_.part(mate).calls))) throw_misfit(mate);
}

/// Who comes first says what is called.
void Round::compare_called(std::uint64_t there) {
  const std::uint64_t ours = value_of(signature_ >> Post::kSignatureShift);
  // acq_rel: what the first has called is seen by whoever sees its signature.
  while (there < value_of(0))
    if (ballot_.called.compare_exchange_weak(there, ours, std::memory_order_acq_rel, std::memory_order_acquire)) return;
  if (there == ours) return;
  check_all();
  board_.team_.throw_misfit(
      fmt::format("rank {} has not called the same collectives as others of its team", board_.rank_.id()));
}

std::uint32_t Round::arrive() {
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

bool Round::has_arrived(std::uint32_t order) noexcept {
  // acquire: pairs with arrive().
  return board_.part(0).order(number_, mates())[order].load(std::memory_order_acquire) >= value_of(1);
}

Task<> Round::arrival(std::uint32_t order) {
  while (!has_arrived(order)) {
    board_.check_whole();
    co_await Breath();
  }
}

std::uint32_t Round::arrived_as(std::uint32_t order) noexcept {
  CORACLE_ASSERT(has_arrived(order), "nobody has said that he was number {} to come", order);
  const auto& entry = board_.part(0).order(number_, mates())[order];
  return static_cast<std::uint32_t>(entry.load(std::memory_order_relaxed) - value_of(1));  // has_arrived() ordered it
}

std::uint32_t Round::arrivals() noexcept {
  const std::uint64_t now = ballot_.arrivals.load(std::memory_order_acquire);  // pairs with arrive()
  return now >= value_of(0) ? static_cast<std::uint32_t>(now - value_of(0)) : 0;
}

std::uint32_t Round::elect() noexcept {
  std::uint64_t now = ballot_.leader.load(std::memory_order_acquire);  // pairs with the exchange
  while (now < value_of(1)) {
    if (ballot_.leader.compare_exchange_weak(now, value_of(place() + 1), std::memory_order_acq_rel,
                                             std::memory_order_acquire))
      return place();
  }
  return static_cast<std::uint32_t>(now - value_of(1));
}

void Round::decide(std::uint64_t stage) noexcept {
  board_.wake(ballot_.verdict.raise_to_at_least(value_of(stage)));
}

void Round::rest_shortly() noexcept {
  cpu_pause();
  cpu_pause();
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
