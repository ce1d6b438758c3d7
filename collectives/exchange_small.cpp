// Posting and finding.
#include "collectives/exchange_small.hpp"

#include <fmt/format.h>

#include <cstring>

#include "runtime/error.hpp"
#include "runtime/rank.hpp"

namespace coracle {
namespace {

// As in Mates: where the size of what is inline stands otherwise.
constexpr std::uint32_t kLent = ~std::uint32_t{0};

}  // namespace

bool ExchangeSmall::suits(const Team& team, std::size_t bytes) noexcept {
  constexpr std::uint32_t kMatesMax = 4;
  constexpr std::size_t kBytesMax = 4096;
  // In `sim` copies take time, which this does not account for.
  return team.nodes().count() == 1 && team.size() <= kMatesMax && bytes <= kBytesMax &&
         team.rank().placement() != Placement::sim;
}

bool ExchangeSmall::begin(std::span<const std::byte> data) {
  if (!round_.is_open()) return false;
  if (data.size() <= Post::kInlineBytesMax) {
    round_.post(data, 1);
    return true;
  }
  std::byte* room = round_.stage(data.size());
  if (room == nullptr) return false;
  leave(room, data);
  return true;
}

Task<> ExchangeSmall::begin_later(std::span<const std::byte> data) {
  if (!round_.is_open()) co_await round_.open();
  if (begin(data)) co_return;
  std::byte* room = co_await round_.stage_when_free(data.size());
  leave(room, data);
}

void ExchangeSmall::leave(std::byte* room, std::span<const std::byte> data) noexcept {
  std::memcpy(room, data.data(), data.size());
  round_.lend(room, data.size(), 1, kLent);
}

const std::byte* ExchangeSmall::data_of(std::uint32_t mate, std::size_t bytes) {
  std::span<const std::byte> there = round_.inline_data(mate);
  if (there.size() == kLent) there = round_.staged(mate);
  if (there.size() == bytes) [[likely]]
    return there.data();
  throw Error(Errc::bad_input, fmt::format("a collective was called with {} bytes here and with {} bytes on rank {}: "
                                           "all members must give the same size",
                                           bytes, there.size(), round_.board().rank_at(mate)));
}

}  // namespace coracle
