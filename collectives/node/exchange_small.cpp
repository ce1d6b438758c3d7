// Posting and finding.
#include "collectives/node/exchange_small.hpp"

#include <algorithm>
#include <cstring>

#include "collectives/data/sizes.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

bool ExchangeSmall::suits(Team& team, std::size_t bytes, std::uint32_t local_size_max) noexcept {
  constexpr std::size_t kBytesMax = 4096;
  constexpr std::size_t kBytesMaxCrowded =
      32 * 1024;  // waiting for local members to copy would cost turns of all others
  const std::size_t wanted = team.rank().loop().spins() ? kBytesMax : kBytesMaxCrowded;
  const std::size_t bytes_max = std::min<std::size_t>(wanted, team.node_area().room_bytes_max());
  // In `sim` copies take time, which this does not account for.
  return team.nodes().count() == 1 && team.size() <= local_size_max && bytes <= bytes_max &&
         team.rank().placement() != Placement::sim;
}

void ExchangeSmall::spin_for_last() noexcept {
  std::uint32_t missing = 0;
  std::uint32_t last = 0;
  for (std::uint32_t other = 0; other < count(); ++other) {
    if (has(other)) continue;
    ++missing;
    last = other;
  }
  if (missing == 1) round_.spin_for_last([this, last] { return has(last); });
}

bool ExchangeSmall::begin(std::span<const std::byte> data) {
  if (!round_.is_open()) return false;
  if (data.size() <= Contribution::kInlineBytesMax) {
    round_.contribute(data, 1);
    return true;
  }
  std::byte* room = round_.allocate(data.size());
  if (room == nullptr) return false;
  leave(room, data);
  return true;
}

Task<> ExchangeSmall::begin_later(std::span<const std::byte> data) {
  if (!round_.is_open()) co_await round_.open();
  if (begin(data)) co_return;
  std::byte* room = co_await round_.allocate_when_free(data.size());
  leave(room, data);
}

void ExchangeSmall::leave(std::byte* room, std::span<const std::byte> data) noexcept {
  std::memcpy(room, data.data(), data.size());
  round_.expose(room, data.size(), 1);
}

const std::byte* ExchangeSmall::data_of(std::uint32_t other, std::size_t bytes) {
  round_.check(other);
  const std::span<const std::byte> there = round_.contributed(other);
  if (there.size() != bytes) [[unlikely]]
    throw_sizes_differ(bytes, there.size(), round_.node_area().rank_at(other));
  return there.data();
}

}  // namespace coracle::internals
