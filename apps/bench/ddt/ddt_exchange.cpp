// Messages of the patterns, and their check against the loops by hand.
#include "apps/bench/ddt/ddt_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "apps/bench/measure/contest.hpp"
#include "collectives/collectives.hpp"
#include "runtime/core/assert.hpp"
#include "runtime/core/error.hpp"
#include "runtime/layout/copy.hpp"
#include "runtime/messages/send_recv.hpp"

namespace coracle::internals::bench {
namespace {

constexpr std::size_t kBufferAlignment = 4096;

std::size_t buffer_bytes(const DdtPattern& pattern) {
  return std::max(pattern.send.buffer_bytes, pattern.receive.buffer_bytes);
}

/// The word at a place of a rank's buffer before anything has come.
std::uint32_t word_of(std::size_t place, std::uint32_t owner) {
  return static_cast<std::uint32_t>(place) | owner << 31;
}

/// Whether the kernel does not let processes read each other's memory here.
bool is_refused(const std::error_code& error) {
  return error.category() == std::generic_category() && (error.value() == EPERM || error.value() == ENOSYS);
}

}  // namespace

DdtMemory::DdtMemory(std::size_t bytes)
    : size_(bytes),
      data_(static_cast<std::byte*>(
          std::aligned_alloc(kBufferAlignment, (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment))) {
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

Task<bool> DdtExchange::check(DdtWay way) {
  bool works = true;
  if (takes_part()) {
    const bool needs_addresses = way == DdtWay::one_sided || way == DdtWay::cooperative;
    works = !needs_addresses || messages().rendezvous().shares_addresses(peer());
    if (works) works = co_await check_both(way);
  }
  const int all = co_await self_.world().all_reduce(works ? 1 : 0, min_of);
  co_return all == 1;
}

// What is expected is made by the loops by hand, without layouts.
Task<bool> DdtExchange::check_both(DdtWay way) {
  const DdtMemory expected(buffer_.bytes().size());
  bool works = true;
  prepare(way);
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
    try {
      co_await receive(way);
      finish(way);
    } catch (const Error& error) {
      if (way != DdtWay::cma || !is_refused(error.code())) throw;
      works = false;
    }
    if (works) verify(way, expected);
  }
  co_return works;
}

void DdtExchange::verify(DdtWay way, const DdtMemory& expected) const {
  const auto [wrong, right] = std::ranges::mismatch(buffer_.words(), expected.words());
  if (wrong == buffer_.words().end()) return;
  throw Error(Errc::bad_input,
              fmt::format("{} {}, {}: word {} that rank {} has received is {:#x}, not {:#x}", pattern_.name,
                          pattern_.size, to_string(way), wrong - buffer_.words().begin(), self_.id(), *wrong, *right));
}

Task<> DdtExchange::round_trips(DdtWay way, std::uint64_t count) {
  if (!takes_part()) co_return;
  prepare(way);
  for (; count != 0; --count) {
    if (self_.id() == 0) co_await send(way);
    co_await receive(way);
    finish(way);
    if (self_.id() != 0) co_await send(way);
  }
}

coracle::internals::Messages& DdtExchange::messages() const {
  return Messages::of(self_);
}

void DdtExchange::prepare(DdtWay way) {
  messages().fix_scheme(rendezvous_scheme(way).value_or(RendezvousScheme::automatic));
}

Send DdtExchange::send(DdtWay way) {
  if (rendezvous_scheme(way)) return self_.world().send(source(), peer());
  if (way == DdtWay::by_hand)
    pattern_.pack_by_hand(buffer_.data(), packed_.data());
  else
    pack(source(), 0, packed_.bytes());
  fence_compiler();
  return self_.world().send(packed_.bytes(), peer());
}

Receive DdtExchange::receive(DdtWay way) {
  if (!rendezvous_scheme(way)) return self_.world().recv(taken_.bytes(), peer(), 0);
  return self_.world().recv(target(), peer(), 0);
}

void DdtExchange::finish(DdtWay way) {
  if (rendezvous_scheme(way)) return;
  if (way == DdtWay::by_hand)
    pattern_.unpack_by_hand(taken_.data(), buffer_.data());
  else
    unpack(taken_.bytes(), 0, target());
  fence_compiler();
}

}  // namespace coracle::internals::bench
