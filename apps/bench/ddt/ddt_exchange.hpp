// DdtExchange: one rank's side of a pattern of DDTBench that goes there and back between two ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "apps/bench/ddt/ddt_patterns.hpp"
#include "apps/bench/ddt/ddt_way.hpp"
#include "runtime/messages/messages.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals::bench {

/// Of memory that is the rank's own, as a program would have it: from malloc, beginning with a page, and touched.
class DdtMemory {
 public:
  explicit DdtMemory(std::size_t bytes);

  std::byte* data() const noexcept { return data_.get(); }
  std::span<std::byte> bytes() const noexcept { return {data_.get(), size_}; }
  /// The same in words of 4 bytes: of which all patterns are made.
  std::span<std::uint32_t> words() const noexcept {
    return {reinterpret_cast<std::uint32_t*>(data_.get()), size_ / sizeof(std::uint32_t)};
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };
  std::size_t size_;
  std::unique_ptr<std::byte[], Free> data_;
};

/// Equal for two layouts (or datatypes of MPI) of `bytes` when they name the same bytes of a buffer in the same order.
/// `buffer` is overwritten.
std::uint64_t fingerprint(const DdtSide& side, const DdtMemory& buffer, std::uint64_t bytes);

/// Ranks 0 and 1 make the same calls; others too, for whom they do nothing. As in DDTBench each has one buffer, out of
/// which it sends and into which it receives. The pattern must outlive it.
class DdtExchange {
 public:
  DdtExchange(Rank& self, const DdtPattern& pattern);

  const DdtMemory& buffer() const noexcept { return buffer_; }
  /// Collective: whether a message can go so between these ranks. Sends one in each direction: throws Error unless
  /// every byte has come and none beside them has changed.
  Task<bool> check(DdtWay way);
  /// `count` times there and back.
  Task<> round_trips(DdtWay way, std::uint64_t count);

 private:
  bool takes_part() const noexcept { return self_.id() < 2; }
  std::uint32_t peer() const noexcept { return 1 - self_.id(); }
  coracle::internals::Messages& messages() const;
  /// Takes effect on what this rank sends and receives from now on.
  void prepare(DdtWay way);
  Task<bool> check_both(DdtWay way);
  void verify(DdtWay way, const DdtMemory& expected) const;
  /// To be awaited at once.
  Send send(DdtWay way);
  /// To be awaited at once, and then finished.
  Receive receive(DdtWay way);
  void finish(DdtWay way);
  ScatteredSource source() const { return {buffer_.data(), pattern_.send.layout, pattern_.send.count}; }
  ScatteredTarget target() const { return {buffer_.data(), pattern_.receive.layout, pattern_.receive.count}; }
  void fill(std::uint32_t owner) const;

  Rank& self_;
  const DdtPattern& pattern_;
  DdtMemory buffer_;
  DdtMemory packed_;  // what goes in one piece
  DdtMemory taken_;   // and comes
};

}  // namespace coracle::internals::bench
