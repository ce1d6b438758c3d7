// Copies by both sides at once: every byte once, whoever comes late.
#include "runtime/messages/direct_copies.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "transports/sim/schedule.hpp"

namespace shared_copy_test {

using coracle::internals::MessageSource;
using coracle::internals::MessageTarget;
using coracle::internals::SharedCopy;
using coracle::internals::sim::Random;

namespace {

std::vector<std::byte> numbered(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i / 255 + i * 3 + seed);
  return data;
}

}  // namespace

TEST_CASE("shared copy: one side alone copies all") {
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{5000}, SharedCopy::kChunkBytesMax - 1, SharedCopy::kChunkBytesMax,
        SharedCopy::kChunkBytesMax + 1, 5 * SharedCopy::kChunkBytesMax + 77}) {
    for (const bool from_first : {true, false}) {
      const std::vector<std::byte> source = numbered(bytes, 1);
      std::vector<std::byte> target(bytes + 1, std::byte{0xEE});
      SharedCopy shared{MessageSource(source)};
      const MessageTarget whole(std::span<std::byte>(target.data(), bytes));
      CHECK_FALSE(shared.complete());
      if (from_first)
        while (shared.copy_first(whole)) {
        }
      else
        while (shared.copy_last(whole)) {
        }
      CHECK_FALSE(shared.copy_first(whole));
      CHECK_FALSE(shared.copy_last(whole));
      CHECK(shared.complete());
      CHECK(std::equal(source.begin(), source.end(), target.begin()));
      CHECK(target.back() == std::byte{0xEE});
    }
  }
}

TEST_CASE("shared copy: two sides at once copy all, and the receiver knows when the sender has ended") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const std::size_t bytes = 1 + random.below(20 * SharedCopy::kChunkBytesMax);
    const std::vector<std::byte> source = numbered(bytes, seed);
    std::vector<std::byte> target(bytes + 1, std::byte{0xEE});
    SharedCopy shared{MessageSource(source)};
    const MessageTarget whole(std::span<std::byte>(target.data(), bytes));
    const std::chrono::microseconds lateness(random.below(4) * 30);
    std::thread sender([&] {
      if (lateness.count() > 0) std::this_thread::sleep_for(lateness);
      while (shared.copy_last(whole)) {
      }
    });
    while (shared.copy_first(whole)) {
    }
    while (!shared.complete()) std::this_thread::yield();
    // Before the sender is known to have gone: it must not write any more.
    CHECK(std::equal(source.begin(), source.end(), target.begin()));
    CHECK(target.back() == std::byte{0xEE});
    std::fill(target.begin(), target.end(), std::byte{0});
    sender.join();
    CHECK(std::count(target.begin(), target.end(), std::byte{0}) == static_cast<std::ptrdiff_t>(target.size()));
  }
}

}  // namespace shared_copy_test
