// What a peer asks for is checked before anything is done with it: openings of transfers that are malformed, reach out
// of the segment, or do not hold what they announce are refused, to the one who asked.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/rank/exchange.hpp"
#include "tests/layout/random_layout.hpp"
#include "tests/messages/error_of.hpp"
#include "tests/sanitized.hpp"
#include "tests/sim/job.hpp"

namespace hostile_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;
using coracle::internals::scattered::Exchange;
using coracle::internals::scattered::TransferHeader;
using coracle::internals::scattered::TransferRequest;
using coracle::internals::test::Dice;

namespace {

using Words = std::array<std::uint64_t, TransferHeader::kWords>;

constexpr std::uint64_t kSegmentBytes = 1 << 20;

/// The header of a transfer of a random layout, and the data of a put.
struct Sent {
  Words words;
  std::vector<std::byte> payload;

  Sent(Dice& dice, std::uint64_t offset) {
    const Layout layout = coracle::internals::test::random_layout(dice, 4).layout;
    const auto count = static_cast<std::uint64_t>(dice.between(0, 3));
    payload = layout.encode();
    words =
        TransferHeader{0, {offset, 1, 0}, static_cast<std::uint32_t>(payload.size()), count, layout.packed_bytes(count)}
            .words();
    payload.resize(payload.size() + static_cast<std::size_t>(words[4]), std::byte{0x5a});
  }
  void damage(Dice& dice) {
    for (std::int64_t i = dice.between(1, 4); i > 0; --i) {
      if (dice.one_in(2)) {
        std::uint64_t& word = words[static_cast<std::size_t>(dice.between(1, 4))];
        switch (dice.between(0, 3)) {
          case 0:
            word = ~std::uint64_t{0} - static_cast<std::uint64_t>(dice.between(0, 1000));
            break;
          case 1:
            word ^= std::uint64_t{1} << dice.between(0, 63);
            break;
          case 2:
            word += static_cast<std::uint64_t>(dice.between(-5, 5));
            break;
          default:
            word = std::uint64_t{1} << 63;
        }
      } else if (!payload.empty()) {
        // The layout lies in front.
        const auto layout_bytes = static_cast<std::int64_t>(std::min<std::size_t>(payload.size(), 40));
        if (dice.one_in(4))
          payload.resize(static_cast<std::size_t>(dice.between(0, static_cast<std::int64_t>(payload.size()))));
        else
          payload[static_cast<std::size_t>(dice.between(0, layout_bytes - 1))] =
              static_cast<std::byte>(dice.between(0, 255));
      }
    }
  }
};

/// Whether all that `asked` would touch lies between 0 and the segment's end: what Exchange relies on.
bool is_consistent(const TransferRequest& asked) {
  return asked.bytes == asked.layout.packed_bytes(asked.count) && asked.data.size() <= asked.bytes &&
         asked.extent.bytes < std::uint64_t{1} << 63 && (asked.bytes == 0 || asked.extent.bytes > 0);
}

Task<std::error_code> code_of(Task<> task) {
  std::error_code code;
  try {
    co_await task;
  } catch (const Error& error) {
    code = error.code();
  }
  co_return code;
}

SimJob two_ranks() {
  SimJob job;
  job.nodes = 2;
  job.segment_bytes = kSegmentBytes;
  return job;
}

}  // namespace

TEST_CASE("scattered transfers: damaged openings are refused, or are consistent") {
  const std::uint64_t seed = coracle::internals::test::chosen_seed();
  std::printf("damaged openings: CORACLE_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  Dice dice(seed);
  int refused = 0;
  int accepted = 0;
  for (int round = 0; round < (test::kSanitized ? 5'000 : 50'000); ++round) {
    Sent sent(dice, static_cast<std::uint64_t>(dice.between(0, 100'000)));
    if (round % 20 != 0) sent.damage(dice);
    INFO("seed ", seed, " round ", round);
    try {
      const TransferRequest asked = TransferRequest::read(sent.words, sent.payload, 1);
      REQUIRE(is_consistent(asked));
      ++accepted;
    } catch (const Error& error) {
      REQUIRE(error.code() == Errc::bad_input);
      REQUIRE(round % 20 != 0);
      ++refused;
    }
  }
  CHECK(refused > 1000);
  CHECK(accepted > 1000);
}

TEST_CASE("scattered transfers: what hostile openings ask of a rank is refused to the sender, and the rank goes on") {
  const std::uint64_t seed = coracle::internals::test::chosen_seed();
  std::printf("hostile openings: CORACLE_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  const SimulationResult outcome = two_ranks().run([seed](Rank& self) -> Task<> {
    auto slab = self.allocate<std::byte>(kSegmentBytes / 2);
    const auto slabs = co_await self.world().gather_all(slab.remote());
    if (self.id() == 0) {
      Dice dice(seed);
      int refused = 0;
      for (int round = 0; round < (test::kSanitized ? 300 : 3'000); ++round) {
        Sent sent(dice, slabs[1].address().offset + kSegmentBytes / 4);
        sent.damage(dice);
        bool announced = false;  // more data than the header has: the exchange would wait for it
        bool large = false;      // the answers of a get that this rank has not asked for by get() are dropped
        bool astray = false;     // well formed, and inside of the segment, but where the flags of barriers lie
        try {
          const TransferRequest asked = TransferRequest::read(sent.words, sent.payload, 1);
          announced = asked.data.size() < asked.bytes;
          large = asked.bytes > 0;
          const std::uint64_t low = asked.extent.low.offset;
          const std::uint64_t high = low + asked.extent.bytes;
          const std::uint64_t from = slabs[1].address().offset;
          astray = high <= kSegmentBytes && (low < from || high > from + kSegmentBytes / 2);
        } catch (const Error&) {
        }
        const bool put = dice.one_in(2);
        if (put ? announced || astray : large) continue;
        const std::error_code code = co_await code_of(self.local<Exchange>().ask(1, put, sent.words, sent.payload));
        EXPECT((!code || code == Errc::bad_input || code == Errc::out_of_segment));
        refused += code ? 1 : 0;
      }
      EXPECT(refused > 100);
    }
    co_await self.world().barrier();
    EXPECT(self.local<Exchange>().incoming() == 0);
    std::fill(slab.local().begin(), slab.local().end(), std::byte{0});
    co_await self.world().barrier();
    const std::uint64_t values[2] = {self.id() + 5, 7};
    const Layout row = Layout::of<std::uint64_t>();
    co_await self.put({values, row, 2}, slabs[1 - self.id()].as<std::uint64_t>(), row.vector(2, 1, 2));
    co_await self.world().barrier();
    EXPECT(slab[0] == static_cast<std::byte>(6 - self.id()));
    EXPECT(slab[16] == std::byte{7});
  });
  CHECK(text_of(outcome) == "");
}

TEST_CASE("scattered transfers: each kind of malformed header is refused with its own code") {
  const SimulationResult outcome = two_ranks().run([](Rank& self) -> Task<> {
    auto slab = self.allocate<std::byte>(1000);
    const auto slabs = co_await self.world().gather_all(slab.remote());
    if (self.id() == 0) {
      const std::uint64_t offset = slabs[1].address().offset;
      const Layout layout = Layout::bytes(8).hvector(2, 1, 500);
      std::vector<std::byte> payload = layout.encode();
      const auto layout_bytes = static_cast<std::uint32_t>(payload.size());
      payload.resize(layout_bytes + 16);
      const RemoteAddress place{offset, 1, 0};
      auto& exchange = self.local<Exchange>();
      const auto ask = [&](const TransferHeader& header, std::size_t bytes) {
        return coracle::internals::test::error_of(
            exchange.ask(1, true, header.words(), std::span(payload).first(bytes)));
      };
      const std::string nonsense =
          "put on rank 0 with rank 1 failed: bad input (the peer can't make sense of it, or has no memory for "
          "it)";
      EXPECT(co_await ask({0, place, layout_bytes, 1, 16}, layout_bytes + 16) == "");
      EXPECT(co_await ask({0, place, layout_bytes, 1, 17}, layout_bytes + 16) == nonsense);
      EXPECT(co_await ask({0, place, layout_bytes, 2, 16}, layout_bytes + 16) == nonsense);
      EXPECT(co_await ask({0, place, layout_bytes - 1, 1, 16}, layout_bytes + 15) == nonsense);
      EXPECT(co_await ask({0, place, layout_bytes + 17, 1, 16}, layout_bytes + 16) == nonsense);
      EXPECT(co_await ask({0, place, layout_bytes, std::uint64_t{1} << 62, 0}, layout_bytes) == nonsense);
      const RemoteAddress anywhere{reinterpret_cast<std::uint64_t>(&payload), 1, RemoteAddress::kWholeMemory};
      for (const RemoteAddress& bad : {RemoteAddress{kSegmentBytes - 507, 1, 0}, RemoteAddress{~std::uint64_t{0}, 1, 0},
                                       RemoteAddress{0, 1, 5}, RemoteAddress{0, 1, 5000}, anywhere}) {
        const std::string text = co_await ask({0, bad, layout_bytes, 1, 16}, layout_bytes + 16);
        EXPECT(text.find("outside") != std::string::npos);
      }
    }
    co_await self.world().barrier();
  });
  CHECK(text_of(outcome) == "");
}

TEST_CASE(
    "scattered transfers: pieces that belong to nothing, or do not fit, write nothing outside of their transfer") {
  const SimulationResult outcome = two_ranks().run([](Rank& self) -> Task<> {
    auto slab = self.allocate<std::byte>(1000);
    const auto slabs = co_await self.world().gather_all(slab.remote());
    auto& exchange = self.local<Exchange>();
    if (self.id() == 0) {
      const std::vector<std::byte> data(64, std::byte{1});
      co_await self.request(1, Exchange::on_piece, data, 77, 0);  // of no transfer
      co_await self.request(1, Exchange::on_data, data, 77, 0);
      co_await self.request(1, Exchange::on_piece, data);  // without a word
      co_await self.request(1, Exchange::on_data, data, 1, 2, 3);
      // A put of 100 bytes that brings none, then a piece beyond its end.
      const Layout layout = Layout::bytes(100);
      const std::vector<std::byte> encoded = layout.encode();
      const TransferHeader header{0, slabs[1].address(), static_cast<std::uint32_t>(encoded.size()), 1, 100};
      for (const std::uint64_t position : {std::uint64_t{37}, std::uint64_t{101}, ~std::uint64_t{0} - 10}) {
        Started<> asked = start(self, exchange.ask(1, true, header.words(), encoded));
        co_await sleep_for(std::chrono::milliseconds(1));
        co_await self.request(1, Exchange::on_piece, data, exchange.asked_last(), position);
        const std::string error =
            co_await coracle::internals::test::error_of([](Started<>& of) -> Task<> { co_await of.done(); }(asked));
        EXPECT(error.find("bad input") != std::string::npos);
      }
    }
    co_await self.world().barrier();
    EXPECT(exchange.incoming() == 0);
    for (const std::byte byte : slab.local()) EXPECT(byte == std::byte{0});
  });
  CHECK(text_of(outcome) == "");
}

}  // namespace hostile_test
