// The end of a connection that is asked, when its memory is withdrawn while bytes are on their way.
#include "transports/tcp/responder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <numeric>
#include <vector>

#include "tests/transports/tcp_fake.hpp"

namespace responder_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::tcp;

namespace {

constexpr std::size_t kLongBytes = 3'000'000;  // more than waits to be sent at a time
constexpr std::byte kGone{0xee};

/// Takes at most so many bytes from one end to the other, as a socket would. False when there are none.
bool carry(tcp::ConnectionEnd& from, tcp::ConnectionEnd& to, std::size_t bytes_max = 1 << 20) {
  std::vector<iovec> vectors(1);
  const auto gathered = from.outbox().gather(vectors, bytes_max);
  if (gathered.bytes == 0) return false;
  const auto* begin = static_cast<const std::byte*>(vectors[0].iov_base);
  const std::vector<std::byte> bytes(begin, begin + gathered.bytes);
  from.outbox().sent(gathered.bytes);
  from.outbox().release(gathered.bytes);
  from.drained();
  for (std::span<const std::byte> rest(bytes); !rest.empty();) {
    const std::span<std::byte> landing = to.landing();
    const auto piece = landing.empty() ? rest : rest.first(std::min(rest.size(), landing.size()));
    rest = rest.subspan(piece.size());
    if (landing.empty()) {
      to.received(piece);
    } else {
      std::copy(piece.begin(), piece.end(), landing.begin());
      to.landed(piece.size());
    }
  }
  return true;
}

/// Two ends of a connection; what is asked goes to the memory that is exposed.
struct Connection {
  Connection() : rank(kLongBytes) { std::fill(rank.memory.begin(), rank.memory.end(), std::byte{1}); }
  ~Connection() {
    initiator.fail_all(Errc::peer_lost);
    responder.outbox().drop({});
  }
  void carry_all() {
    for (bool any = true; any;) {
      any = carry(initiator, responder);
      any |= carry(responder, initiator);
    }
  }
  /// Its owner may now use it for something else.
  void withdraw() {
    rank.withdrawn = true;
    std::fill(rank.memory.begin(), rank.memory.end(), kGone);
  }
  void ask(Operation& operation, void* local, std::size_t bytes, std::uint32_t segment = test::FakeRank::kExposed) {
    operation.local = local;
    operation.bytes = bytes;
    operation.remote = {0, 1, segment};
    initiator.submit(operation);
  }

  test::FakeRank rank;
  Initiator initiator{rank, rank, {rank.key, 0, 1}};
  Responder responder{rank, rank, frame_check(rank.key)};
};

/// For containers.
struct Kept final : Operation {
  using Operation::Operation;
};

/// Without a signal behind it, or with one.
Operation long_put(bool with_signal) {
  Operation put(Operation::Verb::put, "put", 1);
  put.signal_add = with_signal ? 1 : 0;
  put.signal = {0, 1, test::FakeRank::kExposed};
  return put;
}

}  // namespace

TEST_CASE(
    "responder: a get of memory that is withdrawn before all was sent fails, and brings nothing of what is there") {
  for (const std::size_t sent_first : {std::size_t{0}, std::size_t{1000}, std::size_t{100'000}}) {
    CAPTURE(sent_first);
    Connection connection;
    std::vector<std::byte> target(kLongBytes);
    std::uint64_t word = 0;
    Operation get(Operation::Verb::get, "get", 1);
    Operation add(Operation::Verb::fetch_add, "fetch_add", 1);
    Operation put(Operation::Verb::put, "put", 1);
    Operation other(Operation::Verb::get, "get", 1);
    connection.ask(get, target.data(), target.size());
    add.width = sizeof word;
    connection.ask(add, nullptr, sizeof word, RemoteAddress::kOwnSegment);
    connection.ask(put, &word, sizeof word, RemoteAddress::kOwnSegment);
    connection.ask(other, &word, sizeof word, RemoteAddress::kOwnSegment);
    while (carry(connection.initiator, connection.responder)) {
    }
    for (std::size_t sent = 0; sent < sent_first; sent += 500)
      REQUIRE(carry(connection.responder, connection.initiator, 500));
    CHECK_FALSE(connection.responder.quiet());
    connection.withdraw();
    connection.carry_all();
    CHECK(connection.responder.quiet());
    REQUIRE(get.finished());
    CHECK(get.outcome() == Errc::out_of_segment);
    CHECK(std::count(target.begin(), target.end(), kGone) == 0);
    // What was asked behind it is answered in its turn.
    REQUIRE(add.finished());
    CHECK(add.result == 0x0101010101010101);
    CHECK(put.finished());
    REQUIRE(other.finished());
    CHECK_FALSE(other.failed());
    CHECK(word == 0);
    CHECK_FALSE(connection.initiator.broken());
  }
}

TEST_CASE("responder: a put to memory that is withdrawn before all has come writes nothing more, and fails") {
  for (const bool with_signal : {false, true}) {
    CAPTURE(with_signal);
    Connection connection;
    std::vector<std::byte> source(kLongBytes, std::byte{7});
    Operation put = long_put(with_signal);
    connection.ask(put, source.data(), source.size());
    for (int i = 0; i < 3; ++i) REQUIRE(carry(connection.initiator, connection.responder, 50'000));
    connection.withdraw();
    connection.carry_all();
    REQUIRE(put.finished());
    CHECK(put.outcome() == Errc::out_of_segment);
    CHECK(std::count(connection.rank.memory.begin(), connection.rank.memory.end(), kGone) == kLongBytes);
    // The connection goes on.
    Operation next(Operation::Verb::put, "put", 1);
    connection.ask(next, source.data(), source.size(), RemoteAddress::kOwnSegment);
    connection.carry_all();
    CHECK(next.finished());
    CHECK_FALSE(next.failed());
    CHECK(connection.rank.memory == source);
  }
}

TEST_CASE("responder: a signal in memory that is withdrawn while the data comes is not raised, and the put fails") {
  Connection connection;
  std::vector<std::byte> source(kLongBytes, std::byte{7});
  Operation put = long_put(true);
  connection.ask(put, source.data(), source.size(), RemoteAddress::kOwnSegment);
  for (int i = 0; i < 3; ++i) REQUIRE(carry(connection.initiator, connection.responder, 50'000));
  connection.rank.withdrawn = true;
  connection.carry_all();
  REQUIRE(put.finished());
  CHECK(put.outcome() == Errc::out_of_segment);
  CHECK(connection.rank.memory == source);
}

TEST_CASE("responder: a get of exposed memory comes whole, and takes no more memory than some of its pieces") {
  Connection connection;
  std::iota(reinterpret_cast<std::uint8_t*>(connection.rank.memory.data()),
            reinterpret_cast<std::uint8_t*>(connection.rank.memory.data()) + kLongBytes, std::uint8_t{0});
  std::vector<std::byte> target(kLongBytes);
  Operation get(Operation::Verb::get, "get", 1);
  connection.ask(get, target.data(), target.size());
  connection.initiator.leave();  // its answer comes before the responder's goodbye
  while (carry(connection.initiator, connection.responder)) {
  }
  CHECK(connection.responder.peer_said_goodbye());
  connection.responder.leave();
  CHECK_FALSE(connection.responder.output_over());
  std::size_t held_most = 0;
  while (carry(connection.responder, connection.initiator, 10'000))
    held_most = std::max(held_most, connection.responder.outbox().held_bytes());
  CHECK(held_most < 1'000'000);
  CHECK(get.finished());
  CHECK_FALSE(get.failed());
  CHECK(target == connection.rank.memory);
  CHECK(connection.responder.output_over());
  CHECK(connection.initiator.peer_said_goodbye());
}

TEST_CASE("responder: what is put while a long get is sent is answered, and does not end the reading") {
  Connection connection;
  std::vector<std::byte> target(kLongBytes);
  Operation get(Operation::Verb::get, "get", 1);
  connection.ask(get, target.data(), target.size());
  while (carry(connection.initiator, connection.responder)) {
  }
  std::uint64_t word = 7;
  std::deque<Kept> puts;
  for (int i = 0; i < 500; ++i) {
    connection.ask(puts.emplace_back(Operation::Verb::put, "put", 1), &word, sizeof word, RemoteAddress::kOwnSegment);
    while (carry(connection.initiator, connection.responder)) {
    }
    REQUIRE(connection.responder.wants_input());
  }
  connection.carry_all();
  CHECK(get.finished());
  CHECK(std::all_of(puts.begin(), puts.end(), [](const Kept& put) { return put.finished() && !put.failed(); }));
}

TEST_CASE("responder: a short get of exposed memory brings what was there when it came, though its answer waits") {
  Connection connection;
  constexpr std::size_t kShort = 4096;
  std::deque<Kept> gets;
  std::vector<std::byte> targets(200 * kShort);
  for (std::size_t i = 0; i < 200; ++i)
    connection.ask(gets.emplace_back(Operation::Verb::get, "get", 1), targets.data() + i * kShort, kShort,
                   RemoteAddress::kOwnSegment);
  std::uint64_t before = 0;
  Operation get(Operation::Verb::get, "get", 1);
  connection.ask(get, &before, sizeof before);
  std::uint64_t after = 9;
  Operation put(Operation::Verb::put, "put", 1);
  connection.ask(put, &after, sizeof after);
  while (carry(connection.initiator, connection.responder)) {
  }
  connection.carry_all();
  CHECK(put.finished());
  CHECK(get.finished());
  CHECK(before == 0x0101010101010101);
}

}  // namespace responder_test
