// Giving, taking and combining on one node.
#include "collectives/node/mates.hpp"

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
constexpr std::uint64_t kFailed = std::uint64_t{1} << (BoardPart::kStageBits - 1);

}  // namespace

std::size_t Mates::given_bytes_max(Team& team) noexcept {
  return std::min<std::size_t>(kGivenBytesMax, team.board().room_bytes_max());
}

bool Mates::can_lend(const Team& team) noexcept {
  return team.rank().placement() != Placement::process;
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
  if (!by_loss) fail();  // of a loss all members hear by themselves
  co_await round_.withdraw();
  std::rethrow_exception(failure);
}

void Mates::fail() noexcept {
  round_.publish(kFailed);
  round_.decide(kFailed);
}

Task<std::byte*> Mates::give(std::span<const std::byte> data) {
  if (data.size() <= Post::kInlineBytesMax) {
    round_.post(data, 1);
    co_return nullptr;
  }
  std::byte* room = round_.stage(data.size());
  if (room == nullptr) room = co_await round_.stage_when_free(data.size());
  if (team_.rank().placement() == Placement::sim)
    co_await round_.copy_own(data, room);
  else
    std::memcpy(room, data.data(), data.size());
  lend({room, data.size()}, 1);
  co_return room;
}

void Mates::lend(std::span<const std::byte> data, std::uint64_t stage) noexcept {
  round_.lend(data.data(), data.size(), stage);
}

void Mates::check_alive(std::uint64_t stage, const char* who) {
  if (stage < kFailed) [[likely]]
    return;
  round_.check_all();  // it may be that it has failed because of what this member has called
  team_.core().check_whole("collective");
  throw Error(Errc::given_up, fmt::format("a collective failed on {}, whose error says why", who));
}

Task<> Mates::wait(std::uint32_t place, std::uint64_t stage) {
  if (!round_.has_posted(place, stage)) co_await round_.posted(place, stage);
  round_.check(place);
  if (round_.stage_of(place) >= kFailed) [[unlikely]]
    check_alive(kFailed, fmt::format("rank {}", round_.board().rank_at(place)).c_str());
}

Task<> Mates::wait_for_all(std::uint64_t stage) {
  const std::uint32_t mates = count();
  for (std::uint32_t step = 1; step < mates; ++step) {
    const std::uint32_t mate = (place() + step) % mates;
    if (!round_.has_posted(mate, stage)) co_await round_.posted(mate, stage);
    round_.check(mate);
    if (round_.stage_of(mate) >= kFailed) [[unlikely]]
      check_alive(kFailed, fmt::format("rank {}", round_.board().rank_at(mate)).c_str());
  }
}

Task<std::uint64_t> Mates::decision() {
  co_await round_.decided(1);
  const std::uint64_t verdict = round_.verdict();
  check_alive(verdict, "another rank of this node");
  co_return verdict;
}

void Mates::check_bytes(std::uint32_t place, std::size_t bytes) {
  const std::size_t there = round_.bytes_of(place);
  if (there != bytes) [[unlikely]]
    throw_sizes_differ(bytes, there, round_.board().rank_at(place));
}

Task<const std::byte*> Mates::begin_reading(std::uint32_t place) {
  const std::byte* theirs = round_.begin_reading(place);
  if (theirs == nullptr) co_await wait(place, kFailed);  // it took back what it lent: why, is about to be told
  co_return theirs;
}

Task<> Mates::take(std::uint32_t place, std::size_t offset, std::span<std::byte> target, Copying how) {
  if (target.empty()) co_return;
  if (!round_.is_lent(place)) {
    std::memcpy(target.data(), round_.inline_data(place).data() + offset, target.size());
    co_return;
  }
  const bool copied = co_await round_.copy(place, offset, target, how);
  if (!copied) co_await wait(place, kFailed);  // as above
}

Task<> Mates::take_result(std::uint32_t place, std::size_t offset, std::span<std::byte> target) {
  if (target.empty()) co_return;
  const bool copied = co_await round_.copy_results(place, offset, target);
  if (!copied) co_await wait(place, kFailed);  // as above
}

Task<> Mates::combine(std::uint32_t place, std::size_t offset, std::span<const std::byte> own, std::byte* result,
                      const Reduction& reduction) {
  const bool before = place < this->place();
  const auto combine_with = [&](const std::byte* theirs) {
    reduction.combine(before ? theirs : own.data(), before ? own.data() : theirs, result, own.size());
  };
  if (own.empty()) co_return;
  if (round_.is_lent(place) && team_.rank().placement() != Placement::sim) {
    const std::byte* theirs = round_.begin_reading(place);
    if (theirs == nullptr) co_await wait(place, kFailed);  // as above
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
  co_await take(place, offset, theirs.span());
  combine_with(theirs.data());
}

Task<> Mates::combine_all(std::size_t offset, std::span<const std::byte> own, std::byte* result,
                          const Reduction& reduction) {
  std::span<const std::byte> sum = own;
  for (std::uint32_t mate = place(); mate-- > 0;) {
    co_await combine(mate, offset, sum, result, reduction);
    sum = {result, own.size()};
  }
  for (std::uint32_t mate = place() + 1; mate < count(); ++mate) {
    co_await combine(mate, offset, sum, result, reduction);
    sum = {result, own.size()};
  }
  if (count() == 1 && !own.empty()) std::memmove(result, own.data(), own.size());
}

}  // namespace coracle::internals
