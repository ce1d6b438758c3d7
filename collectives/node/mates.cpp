// Giving, taking and combining on one node.
#include "collectives/node/mates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "collectives/data/arguments.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals {

std::size_t Mates::given_bytes_max(Team& team) noexcept {
  constexpr std::size_t kGivenBytesMax = 64 * 1024;
  return std::min<std::size_t>(kGivenBytesMax, team.board().room_bytes_max());
}

bool Mates::can_lend(const Team& team) noexcept {
  return team.rank().placement() != Placement::process;
}

bool Mates::can_exchange(Team& team, std::size_t bytes, std::uint32_t mates_max) noexcept {
  constexpr std::size_t kBytesMax = 4096;
  constexpr std::size_t kBytesMaxCrowded = 32 * 1024;  // waiting for mates to copy would cost turns of all others
  const std::size_t wanted = team.rank().loop().spins() ? kBytesMax : kBytesMaxCrowded;
  const std::size_t bytes_max = std::min<std::size_t>(wanted, team.board().room_bytes_max());
  // In `sim` copies take time, which this does not account for.
  return team.nodes().count() == 1 && team.size() <= mates_max && bytes <= bytes_max &&
         team.rank().placement() != Placement::sim;
}

Task<> Mates::run(Task<> part) {
  std::exception_ptr failure;
  bool by_loss = false;
  try {
    if (!round_.is_open()) co_await round_.open();
    co_await part;
  } catch (const Error& error) {
    by_loss = error.code() == Errc::peer_lost;
    failure = std::current_exception();
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) co_return;
  if (!by_loss) {  // of a loss all members hear by themselves
    round_.publish(kFailed);
    round_.decide(kFailed);
  }
  co_await round_.withdraw();
  std::rethrow_exception(failure);
}

bool Mates::try_give(std::span<const std::byte> data) {
  if (!round_.is_open()) return false;
  if (data.size() <= Post::kInlineBytesMax) {
    round_.post(data, 1);
    return true;
  }
  if (!round_.copies_at_once()) return false;
  std::byte* room = round_.stage(data.size());
  if (room == nullptr) return false;
  std::memcpy(room, data.data(), data.size());
  lend({room, data.size()}, 1);
  return true;
}

Task<> Mates::give(std::span<const std::byte> data) {
  if (!round_.is_open()) co_await round_.open();
  if (try_give(data)) co_return;
  std::byte* room = co_await round_.stage_when_free(data.size());
  co_await round_.copy_own(data, room);
  lend({room, data.size()}, 1);
}

void Mates::lend(std::span<const std::byte> data, std::uint64_t stage) noexcept {
  round_.lend(data.data(), data.size(), stage);
}

Task<> Mates::provide(std::span<const std::byte> data, bool small) {
  if (small)
    co_await give(data);
  else
    lend(data, 1);
}

Task<> Mates::meet(std::uint64_t stage) {
  round_.publish(stage);
  return wait_for_all(stage);
}

const std::byte* Mates::data_of(std::uint32_t place, std::size_t bytes) {
  round_.check(place);
  check_bytes(place, bytes);
  return round_.staged(place).data();
}

/// `place`: who has come so far; below 0: somebody.
void Mates::check_alive(std::uint64_t stage, int place) {
  if (stage < kFailed) [[likely]]
    return;
  round_.check_all();  // it may be that it has failed because of what this member has called
  team_.core().check_whole("collective");
  const std::string who = place < 0 ? "another rank of this node"
                                    : fmt::format("rank {}", round_.board().rank_at(static_cast<std::uint32_t>(place)));
  throw Error(Errc::given_up, fmt::format("a collective failed on {}, whose error says why", who));
}

/// Of one who has posted.
void Mates::check(std::uint32_t place) {
  round_.check(place);
  check_alive(round_.stage_of(place), static_cast<int>(place));
}

Task<> Mates::wait(std::uint32_t place, std::uint64_t stage) {
  if (!round_.has_posted(place, stage)) co_await round_.posted(place, stage);
  check(place);
}

Task<> Mates::wait_for_all(std::uint64_t stage) {
  const std::uint32_t mates = count();
  for (std::uint32_t step = 1; step < mates; ++step) {
    const std::uint32_t mate = (place() + step) % mates;
    if (!round_.has_posted(mate, stage)) co_await round_.posted(mate, stage);
    check(mate);
  }
}

Task<std::uint64_t> Mates::decision() {
  co_await round_.decided(1);
  const std::uint64_t verdict = round_.verdict();
  check_alive(verdict, -1);
  co_return verdict;
}

void Mates::check_bytes(std::uint32_t place, std::size_t bytes) {
  const std::size_t there = round_.bytes_of(place);
  if (there != bytes) [[unlikely]]
    throw_sizes_differ(bytes, there, round_.board().rank_at(place));
}

void Mates::check_all_bytes(std::size_t bytes) {
  for (std::uint32_t mate = 0; mate < count(); ++mate)
    if (mate != place()) check_bytes(mate, bytes);
}

Task<> Mates::take(std::uint32_t place, std::size_t offset, std::span<std::byte> target, Copying how) {
  if (target.empty()) co_return;
  if (!round_.is_lent(place)) {
    std::memcpy(target.data(), round_.inline_data(place).data() + offset, target.size());
    co_return;
  }
  const bool copied = co_await round_.copy(place, offset, target, how);
  if (!copied) co_await fail_with(place);
}

bool Mates::try_take(std::uint32_t place, std::span<std::byte> target) {
  const std::byte* theirs = data_of(place, target.size());
  if (round_.is_lent(place) && !round_.copies_at_once()) return false;
  if (!target.empty()) std::memcpy(target.data(), theirs, target.size());
  return true;
}

Task<> Mates::take_result(std::uint32_t place, std::size_t offset, std::span<std::byte> target) {
  const bool copied = co_await round_.copy_results(place, offset, target);
  if (!copied) co_await fail_with(place);
}

Task<> Mates::hand_out(std::span<const std::byte> data, std::uint64_t stage, bool small) {
  if (small) co_return co_await give(data);
  lend(data, stage);
  co_await wait_for_all(stage);
}

Task<> Mates::fetch(std::uint32_t leader, std::size_t whole_bytes, std::size_t offset, std::span<std::byte> target,
                    std::uint64_t stage, bool small) {
  co_await wait(leader, small ? 1 : stage);
  check_bytes(leader, whole_bytes);
  co_await take(leader, offset, target);
  round_.publish(stage);
}

}  // namespace coracle::internals
