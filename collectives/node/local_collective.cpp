// Giving, taking and combining on one node.
#include "collectives/node/local_collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "collectives/data/arguments.hpp"
#include "runtime/core/copy_short.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"

namespace coracle::internals {

std::size_t LocalCollective::given_bytes_max() const noexcept {
  return within::given_bytes_max(team_);
}

Task<> LocalCollective::run(Task<> part) {
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

void LocalCollective::look_for_last() noexcept {
  std::uint32_t missing = 0;
  std::uint32_t last = 0;
  for (std::uint32_t other = 0; other < count(); ++other) {
    if (round_.has_reached(other, 1)) continue;
    ++missing;
    last = other;
  }
  if (missing == 1) round_.spin_for_last([this, last] { return round_.has_reached(last, 1); });
}

bool LocalCollective::try_give_by_arena(std::span<const std::byte> data) {
  if (!round_.is_open() || !round_.copies_at_once()) return false;
  return give_made_in(room_to_give(data.size()), data.size(),
                      [&](std::byte* room) { std::memcpy(room, data.data(), data.size()); });
}

Task<> LocalCollective::give(std::span<const std::byte> data) {
  if (!round_.is_open()) co_await round_.open();
  if (try_give(data)) co_return;
  std::byte* room = co_await round_.allocate_when_free(data.size());
  co_await round_.copy_own(data, room);
  expose({room, data.size()}, 1);
}

void LocalCollective::expose(std::span<const std::byte> data, std::uint64_t step) noexcept {
  round_.expose(data.data(), data.size(), step);
}

bool LocalCollective::try_provide(std::span<const std::byte> data, bool small) {
  if (small) return try_give(data);
  expose(data, 1);
  return true;
}

Task<> LocalCollective::meet(std::uint64_t step) {
  round_.publish(step);
  return wait_for_all(step);
}

/// `local_index`: who has come so far; below 0: somebody.
void LocalCollective::check_alive(std::uint64_t step, int local_index) {
  if (step < kFailed) [[likely]]
    return;
  round_.check_all();  // it may be that it has failed because of what this member has called
  team_.core().check_whole("collective");
  const std::string who =
      local_index < 0 ? "another rank of this node"
                      : fmt::format("rank {}", round_.node_area().rank_at(static_cast<std::uint32_t>(local_index)));
  throw Error(Errc::given_up, fmt::format("a collective failed on {}, whose error says why", who));
}

/// Of one who has contributed.
void LocalCollective::check(std::uint32_t local_index) {
  round_.check(local_index);
  check_alive(round_.step_of(local_index), static_cast<int>(local_index));
}

Task<> LocalCollective::wait(std::uint32_t local_index, std::uint64_t step) {
  if (!round_.has_reached(local_index, step)) co_await round_.reached(local_index, step);
  check(local_index);
}

Task<> LocalCollective::wait_for_all(std::uint64_t step) {
  const std::uint32_t local_size = count();
  for (std::uint32_t distance = 1; distance < local_size; ++distance) {
    const std::uint32_t other = (local_index() + distance) % local_size;
    if (!round_.has_reached(other, step)) co_await round_.reached(other, step);
    check(other);
  }
}

Task<std::uint64_t> LocalCollective::decision() {
  co_await round_.decided(1);
  const std::uint64_t decided = round_.decision();
  check_alive(decided, -1);
  co_return decided;
}

void LocalCollective::check_bytes(std::uint32_t local_index, std::size_t bytes) {
  const std::size_t there = round_.bytes_of(local_index);
  if (there != bytes) [[unlikely]]
    throw_sizes_differ(bytes, there, round_.node_area().rank_at(local_index));
}

void LocalCollective::check_all_bytes(std::size_t bytes) {
  for (std::uint32_t other = 0; other < count(); ++other)
    if (other != local_index()) check_bytes(other, bytes);
}

Task<> LocalCollective::take(std::uint32_t local_index, std::size_t offset, std::span<std::byte> target, Copying how) {
  if (target.empty()) co_return;
  if (!round_.is_exposed(local_index)) {
    std::memcpy(target.data(), round_.inline_data(local_index).data() + offset, target.size());
    co_return;
  }
  const bool copied = co_await round_.copy(local_index, offset, target, how);
  if (!copied) co_await fail_with(local_index);
}

bool LocalCollective::try_take(std::uint32_t local_index, std::span<std::byte> target) {
  const std::byte* theirs = data_of(local_index, target.size());
  if (round_.is_exposed(local_index) && !round_.copies_at_once()) return false;
  copy_short({theirs, target.size()}, target.data());
  return true;
}

Task<> LocalCollective::take_result(std::uint32_t local_index, std::size_t offset, std::span<std::byte> target) {
  const bool copied = co_await round_.copy_results(local_index, offset, target);
  if (!copied) co_await fail_with(local_index);
}

}  // namespace coracle::internals

namespace coracle::internals::within {

std::size_t given_bytes_max(Team& team) noexcept {
  constexpr std::size_t kGivenBytesMax = 64 * 1024;
  // Where all are there at once, and read it where it lies: from here on the copy, and fetching its lines from those
  // who have read the last one, takes longer than to wait for the readers.
  constexpr std::size_t kGivenBytesMaxAtOnce = 4 * 1024;
  const bool is_at_once = reaches(team) && team.rank().loop().spins();
  const std::size_t wanted = is_at_once ? kGivenBytesMaxAtOnce : kGivenBytesMax;
  return std::min<std::size_t>(wanted, team.node_area().room_bytes_max());
}

std::size_t handed_bytes_max(Team& team) noexcept {
  return team.nodes().count() == 1 && team.rank().loop().spins() ? team.node_area().handed_bytes_max() : 0;
}

bool hands(Team& team, std::size_t bytes) noexcept {
  const std::size_t most = handed_bytes_max(team);
  return most > 0 && bytes <= most;
}

bool reaches(const Team& team) noexcept {
  return team.rank().placement() != Placement::process;
}

bool can_expose(const Team& team) noexcept {
  return reaches(team) || team.node_area().by_kernel();
}

bool can_exchange(Team& team, std::size_t bytes, std::uint32_t local_size_max, std::size_t bytes_max) noexcept {
  constexpr std::size_t kBytesMaxCrowded =
      32 * 1024;  // waiting for local members to copy would cost turns of all others
  const std::size_t wanted = team.rank().loop().spins() ? bytes_max : kBytesMaxCrowded;
  const std::size_t most = std::min<std::size_t>(wanted, team.node_area().room_bytes_max());
  // In `sim` copies take time, which this does not account for.
  return team.nodes().count() == 1 && team.size() <= local_size_max && bytes <= most &&
         team.rank().placement() != Placement::sim;
}

Copying copying_of(const LocalCollective& local, std::size_t bytes_of_each) {
  static const std::size_t cache_bytes = last_level_cache_bytes();
  return 2 * local.count() * bytes_of_each >= cache_bytes / 2 ? Copying::past_caches : Copying::by_caches;
}

Task<> hand_out(LocalCollective& local, std::span<const std::byte> data, std::uint64_t step, bool small) {
  if (small) co_return co_await local.give(data);
  local.expose(data, step);
  co_await local.wait_for_all(step);
}

bool Readers::have_it(LocalCollective& local) const noexcept {
  if (who != kAll) return local.round().has_reached(who, 1);
  for (std::uint32_t other = 0; other < local.count(); ++other)
    if (other != local.local_index() && !local.round().has_reached(other, 1)) return false;
  return true;
}

Task<> Readers::wait(LocalCollective& local) const {
  return who == kAll ? local.wait_for_all(1) : local.wait(who, 1);
}

Task<> leave_for(Team& team, LocalCollective& local, Readers readers, std::span<const std::byte> data) {
  constexpr std::size_t kLeftBytesMax = 512 * 1024;
  constexpr std::size_t kBytesPerNs = 5;  // so long a copy takes; to wait as long costs at most twice the best
  Round& round = local.round();
  EventLoop& loop = team.rank().loop();
  const bool may_leave = data.size() <= kLeftBytesMax && loop.spins() && round.copies_at_once();
  if (!may_leave) co_return co_await readers.wait(local);
  const std::uint64_t until_ns = loop.exact_now_ns() + 2 * data.size() / kBytesPerNs;
  while (!readers.have_it(local) && loop.exact_now_ns() < until_ns) co_await yield();
  std::byte* const room = readers.have_it(local) ? nullptr : round.allocate(data.size());
  if (room == nullptr) co_return co_await readers.wait(local);
  std::memcpy(room, data.data(), data.size());
  round.move_exposed(room);
  co_await round.nobody_reads();
}

Task<> fetch(LocalCollective& local, std::uint32_t leader, std::size_t whole_bytes, std::size_t offset,
             std::span<std::byte> target, std::uint64_t step, bool small) {
  co_await local.wait(leader, small ? 1 : step);
  local.check_bytes(leader, whole_bytes);
  co_await local.take(leader, offset, target);
  local.round().publish(step);
}

}  // namespace coracle::internals::within
