// Messages of the patterns, and their check against the loops by hand.
#include "apps/coracle/bench/ddt_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "apps/coracle/bench/contest.hpp"
#include "runtime/assert.hpp"
#include "runtime/error.hpp"
#include "runtime/layout/copy.hpp"
#include "runtime/messages/send_recv.hpp"

namespace coracle::bench {
namespace {

constexpr std::size_t kPageBytes = 4096;

std::size_t buffer_bytes(const DdtPattern& pattern) {
  return std::max(pattern.send.buffer_bytes, pattern.receive.buffer_bytes);
}

/// The word at a place of a rank's buffer before anything has come.
std::uint32_t word_of(std::size_t place, std::uint32_t owner) {
  return static_cast<std::uint32_t>(place) | owner << 31;
}

}  // namespace

DdtMemory::DdtMemory(std::size_t bytes)
    : size_(bytes),
      data_(
          static_cast<std::byte*>(std::aligned_alloc(kPageBytes, (bytes + kPageBytes - 1) / kPageBytes * kPageBytes))) {
  if (!data_) throw Error(Errc::bad_input, fmt::format("there is no memory for a buffer of {} bytes", bytes));
  std::memset(data_.get(), 0, bytes);
}

std::uint64_t fingerprint(const DdtSide& side, const DdtMemory& buffer, std::uint64_t bytes) {
  const std::span<std::uint32_t> words = buffer.words();
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = word_of(i, 0);
  const DdtMemory packed(bytes);
  const std::uint64_t done = pack({buffer.data(), side.layout, side.count}, 0, packed.bytes());
  CORACLE_ASSERT(done == bytes, "a pattern of {} bytes is packed to {}", bytes, done);
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a, by words
  for (const std::uint32_t word : packed.words()) hash = (hash ^ word) * 1099511628211ULL;
  return hash;
}

DdtExchange::DdtExchange(Rank& self, const DdtPattern& pattern)
    : self_(self),
      pattern_(pattern),
      buffer_(takes_part() ? buffer_bytes(pattern) : 0),
      packed_(takes_part() ? pattern.bytes : 0),
      taken_(takes_part() ? pattern.bytes : 0) {}

void DdtExchange::fill(std::uint32_t owner) const {
  const std::span<std::uint32_t> words = buffer_.words();
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = word_of(i, owner);
}

// What is expected is made by the loops by hand, without layouts.
Task<> DdtExchange::check(DdtWay way) {
  if (!takes_part()) co_return;
  const DdtMemory expected(buffer_.bytes().size());
  for (std::uint32_t sender = 0; sender < 2; ++sender) {
    fill(sender);
    pattern_.pack_by_hand(buffer_.data(), packed_.data());
    fill(self_.id());
    std::memcpy(expected.data(), buffer_.data(), expected.bytes().size());
    pattern_.unpack_by_hand(packed_.data(), expected.data());
    if (self_.id() == sender) {
      co_await send(way);
      continue;
    }
    co_await receive(way);
    const auto [wrong, right] = std::ranges::mismatch(buffer_.words(), expected.words());
    if (wrong == buffer_.words().end()) continue;
    throw Error(Errc::bad_input, fmt::format("{} {}, {}: word {} that rank {} has received is {:#x}, not {:#x}",
                                             pattern_.name, pattern_.size, to_string(way),
                                             wrong - buffer_.words().begin(), self_.id(), *wrong, *right));
  }
}

Task<> DdtExchange::round_trips(DdtWay way, std::uint64_t count) {
  if (!takes_part()) co_return;
  for (; count != 0; --count) {
    if (self_.id() == 0) co_await send(way);
    co_await receive(way);
    if (self_.id() != 0) co_await send(way);
  }
}

Task<> DdtExchange::send(DdtWay way) {
  if (way == DdtWay::by_hand)
    pattern_.pack_by_hand(buffer_.data(), packed_.data());
  else
    pack({buffer_.data(), pattern_.send.layout, pattern_.send.count}, 0, packed_.bytes());
  fence_compiler();
  co_await self_.world().send(packed_.bytes(), peer());
}

Task<> DdtExchange::receive(DdtWay way) {
  co_await self_.world().recv(taken_.bytes(), peer(), 0);
  if (way == DdtWay::by_hand)
    pattern_.unpack_by_hand(taken_.data(), buffer_.data());
  else
    unpack(taken_.bytes(), 0, {buffer_.data(), pattern_.receive.layout, pattern_.receive.count});
  fence_compiler();
}

}  // namespace coracle::bench
