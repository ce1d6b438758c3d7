// Copies between two processes by both of them, here two threads of this one: every byte once, whoever comes late.
#include "runtime/messages/helped_copies.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "runtime/core/other_memory.hpp"
#include "tests/pattern.hpp"
#include "transports/sim/schedule.hpp"

namespace helped_copies_test {

using namespace coracle::internals;
using coracle::internals::sim::Random;
using coracle::internals::test::write_pattern;

namespace {

std::vector<std::byte> patterned(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> data(bytes);
  write_pattern(data, 0, seed);
  return data;
}

/// The receiver's block, and its part of a copy.
struct Receiver {
  std::unique_ptr<RankBlock> block = std::make_unique<RankBlock>();
  HelpedCopies copies{*block};

  Receiver() { block->pid = ::getpid(); }

  static bool read_own(HelpedCopies::Copy& copy, const std::vector<std::byte>& source, std::span<std::byte> target) {
    return read_own_chunks(copy, ::getpid(), reinterpret_cast<std::uint64_t>(source.data()), target);
  }
};

bool may_write() {
  std::byte from{1};
  std::byte to{0};
  return write_whole_to_other(::getpid(), std::span(&from, 1), reinterpret_cast<std::uint64_t>(&to)) == 0;
}

}  // namespace

TEST_CASE("helped copies: chunks cover a message once, and are as many as claims can count") {
  for (const std::uint64_t bytes :
       {std::uint64_t{1}, std::uint64_t{4095}, std::uint64_t{4096}, std::uint64_t{131072}, std::uint64_t{131073},
        std::uint64_t{1 << 20}, std::uint64_t{(1 << 20) + 1}, std::uint64_t{100'000'001}, std::uint64_t{1} << 40}) {
    CAPTURE(bytes);
    const HelpedChunks chunks(bytes);
    REQUIRE(chunks.count() >= 1);
    REQUIRE(chunks.count() <= CopyClaims::kChunksMax);
    std::uint64_t covered = 0;
    for (std::uint64_t chunk = 0; chunk < chunks.count(); ++chunk) {
      if (chunks.offset(chunk) != covered || chunks.bytes(chunk) == 0) FAIL("chunk ", chunk);
      covered += chunks.bytes(chunk);
    }
    CHECK(covered == bytes);
  }
}

TEST_CASE("helped copies: two sides at once copy all, and the receiver knows when the sender has ended") {
  if (!may_write()) {
    MESSAGE("skipped: the kernel does not copy here");
    return;
  }
  Receiver receiver;
  std::uint64_t helped = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const std::size_t bytes = random.below(3'000'000) + 1;
    const std::vector<std::byte> source = patterned(bytes, seed);
    std::vector<std::byte> target(bytes + 1, std::byte{0xEE});
    std::optional<HelpedCopies::Copy> copy = receiver.copies.begin(bytes);
    REQUIRE(copy);
    const std::uint64_t key = copy->key();
    const auto late = std::chrono::microseconds(random.below(200));
    std::uint64_t by_sender = 0;
    std::thread sender([&] {
      std::this_thread::sleep_for(late);
      while (help_copy(*receiver.block, key, source, reinterpret_cast<std::uint64_t>(target.data()))) ++by_sender;
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(200)));
    CHECK(Receiver::read_own(*copy, source, target));
    while (!copy->complete()) std::this_thread::yield();
    CHECK(std::equal(source.begin(), source.end(), target.begin()));
    CHECK(target.back() == std::byte{0xEE});
    CHECK(copy->error() == 0);
    sender.join();
    helped += by_sender;
  }
  CHECK(helped > 0);
}

TEST_CASE("helped copies: a sender that comes when its copy is over touches no later one") {
  Receiver receiver;
  const std::vector<std::byte> source = patterned(300'000, 1);
  std::vector<std::byte> target(source.size());
  std::uint64_t old = 0;
  {
    HelpedCopies::Copy copy = *receiver.copies.begin(source.size());
    old = copy.key();
    Receiver::read_own(copy, source, target);  // takes all chunks, also where the kernel refuses
    CHECK(copy.complete());
    CHECK_FALSE(help_copy(*receiver.block, old, source, reinterpret_cast<std::uint64_t>(target.data())));
  }
  std::vector<std::byte> other(source.size());
  HelpedCopies::Copy copy = *receiver.copies.begin(source.size());
  CHECK_FALSE(help_copy(*receiver.block, old, source, reinterpret_cast<std::uint64_t>(other.data())));
  CHECK_FALSE(copy.complete());
  CHECK(std::all_of(other.begin(), other.end(), [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST_CASE("helped copies: what the kernel refuses is told, and there are so many at a time") {
  Receiver receiver;
  const std::vector<std::byte> source = patterned(300'000, 1);
  {
    HelpedCopies::Copy copy = *receiver.copies.begin(source.size());
    CHECK(help_copy(*receiver.block, copy.key(), source, 4096));  // nothing is mapped there
    std::vector<std::byte> target(source.size());
    Receiver::read_own(copy, source, target);
    CHECK(copy.complete());
    CHECK(copy.error() != 0);
  }
  {
    HelpedCopies::Copy copy = *receiver.copies.begin(source.size());
    std::vector<std::byte> target(source.size());
    CHECK_FALSE(read_own_chunks(copy, ::getpid(), 4096, target));
    CHECK(copy.complete());  // it has taken the others, too, so that no sender begins any
  }
  std::vector<HelpedCopies::Copy> all;
  for (std::size_t i = 0; i < receiver.block->copies.size(); ++i) {
    std::optional<HelpedCopies::Copy> copy = receiver.copies.begin(source.size());
    REQUIRE(copy);
    CHECK(copy->error() == 0);  // not what the one before left there
    all.push_back(std::move(*copy));
  }
  CHECK_FALSE(receiver.copies.begin(source.size()));
  all.pop_back();
  CHECK(receiver.copies.begin(source.size()));
}

}  // namespace helped_copies_test
