// Giving, taking and combining on one node.
#include "collectives/node/local_collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "collectives/data/scratch.hpp"
#include "collectives/data/sizes.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals {
namespace {

constexpr std::size_t kGivenBytesMax = 64 * 1024;
constexpr std::uint64_t kFailed = std::uint64_t{1} << (NodeAreaPart::kStepBits - 1);

}  // namespace

std::size_t LocalCollective::given_bytes_max(Team& team) noexcept {
  return std::min<std::size_t>(kGivenBytesMax, team.node_area().room_bytes_max());
}

bool LocalCollective::can_expose(const Team& team) noexcept {
  return team.rank().placement() != Placement::process;
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
  if (!by_loss) fail();  // of a loss all members hear by themselves
  co_await round_.withdraw();
  std::rethrow_exception(failure);
}

void LocalCollective::fail() noexcept {
  round_.publish(kFailed);
  round_.decide(kFailed);
}

Task<std::byte*> LocalCollective::give(std::span<const std::byte> data) {
  if (data.size() <= Contribution::kInlineBytesMax) {
    round_.contribute(data, 1);
    co_return nullptr;
  }
  std::byte* room = round_.allocate(data.size());
  if (room == nullptr) room = co_await round_.allocate_when_free(data.size());
  if (team_.rank().placement() == Placement::sim)
    co_await round_.copy_own(data, room);
  else
    std::memcpy(room, data.data(), data.size());
  expose({room, data.size()}, 1);
  co_return room;
}

void LocalCollective::expose(std::span<const std::byte> data, std::uint64_t step) noexcept {
  round_.expose(data.data(), data.size(), step);
}

void LocalCollective::check_alive(std::uint64_t step, const char* who) {
  if (step < kFailed) [[likely]]
    return;
  round_.check_all();  // it may be that it has failed because of what this member has called
  team_.core().check_whole("collective");
  throw Error(Errc::given_up, fmt::format("a collective failed on {}, whose error says why", who));
}

Task<> LocalCollective::wait(std::uint32_t local_index, std::uint64_t step) {
  if (!round_.has_reached(local_index, step)) co_await round_.reached(local_index, step);
  round_.check(local_index);
  if (round_.step_of(local_index) >= kFailed) [[unlikely]]
    check_alive(kFailed, fmt::format("rank {}", round_.node_area().rank_at(local_index)).c_str());
}

Task<> LocalCollective::wait_for_all(std::uint64_t step) {
  const std::uint32_t local_size = count();
  for (std::uint32_t distance = 1; distance < local_size; ++distance) {
    const std::uint32_t other = (local_index() + distance) % local_size;
    if (!round_.has_reached(other, step)) co_await round_.reached(other, step);
    round_.check(other);
    if (round_.step_of(other) >= kFailed) [[unlikely]]
      check_alive(kFailed, fmt::format("rank {}", round_.node_area().rank_at(other)).c_str());
  }
}

Task<std::uint64_t> LocalCollective::decision() {
  co_await round_.decided(1);
  const std::uint64_t decided = round_.decision();
  check_alive(decided, "another rank of this node");
  co_return decided;
}

void LocalCollective::check_bytes(std::uint32_t local_index, std::size_t bytes) {
  const std::size_t there = round_.bytes_of(local_index);
  if (there != bytes) [[unlikely]]
    throw_sizes_differ(bytes, there, round_.node_area().rank_at(local_index));
}

Task<const std::byte*> LocalCollective::begin_reading(std::uint32_t local_index) {
  const std::byte* theirs = round_.begin_reading(local_index);
  if (theirs == nullptr) co_await wait(local_index, kFailed);  // it took back what it exposed: why, is about to be told
  co_return theirs;
}

Task<> LocalCollective::take(std::uint32_t local_index, std::size_t offset, std::span<std::byte> target, Copying how) {
  if (target.empty()) co_return;
  if (!round_.is_exposed(local_index)) {
    std::memcpy(target.data(), round_.inline_data(local_index).data() + offset, target.size());
    co_return;
  }
  const bool copied = co_await round_.copy(local_index, offset, target, how);
  if (!copied) co_await wait(local_index, kFailed);  // as above
}

Task<> LocalCollective::take_result(std::uint32_t local_index, std::size_t offset, std::span<std::byte> target) {
  if (target.empty()) co_return;
  const bool copied = co_await round_.copy_results(local_index, offset, target);
  if (!copied) co_await wait(local_index, kFailed);  // as above
}

Task<> LocalCollective::combine(std::uint32_t local_index, std::size_t offset, std::span<const std::byte> own,
                                std::byte* result, const Reduction& reduction) {
  const bool before = local_index < this->local_index();
  const auto combine_with = [&](const std::byte* theirs) {
    reduction.combine(before ? theirs : own.data(), before ? own.data() : theirs, result, own.size());
  };
  if (own.empty()) co_return;
  if (round_.is_exposed(local_index) && team_.rank().placement() != Placement::sim) {
    const std::byte* theirs = round_.begin_reading(local_index);
    if (theirs == nullptr) co_await wait(local_index, kFailed);  // as above
    try {
      combine_with(theirs + offset);
    } catch (...) {  // of the user's operation
      round_.end_reading();
      throw;
    }
    round_.end_reading();
    co_return;
  }
  const Scratch theirs(own.size());
  co_await take(local_index, offset, theirs.span());
  combine_with(theirs.data());
}

Task<> LocalCollective::combine_all(std::size_t offset, std::span<const std::byte> own, std::byte* result,
                                    const Reduction& reduction) {
  std::span<const std::byte> sum = own;
  for (std::uint32_t other = local_index(); other-- > 0;) {
    co_await combine(other, offset, sum, result, reduction);
    sum = {result, own.size()};
  }
  for (std::uint32_t other = local_index() + 1; other < count(); ++other) {
    co_await combine(other, offset, sum, result, reduction);
    sum = {result, own.size()};
  }
  if (count() == 1 && !own.empty()) std::memmove(result, own.data(), own.size());
}

}  // namespace coracle::internals
