// What a rank does when it loses a peer: operations, calls, waits and teams, over a transport that holds everything
// back until the test lets it go.
#include "runtime/rank/peers.hpp"
#include "runtime/job/job.hpp"
#include "runtime/launch/boot.hpp"

#include <doctest/doctest.h>
#include <coracle/coracle.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace peers_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

class HeldTransport final : public Transport {
 public:
  const char* name() const noexcept override { return "held"; }
  TransportTraits traits() const noexcept override { return {100, 1, 512, false}; }
  void submit(Operation& operation) noexcept override { held.push_back(&operation); }
  void reply(std::uint32_t, const MessageHeader&, std::span<const std::byte>) noexcept override {}
  std::size_t reply_bytes_max() const noexcept override { return 8192; }
  std::size_t in_flight() const noexcept override { return held.size(); }
  bool poll() noexcept override { return false; }
  void peer_lost(std::uint32_t peer) noexcept override {
    finish_all(Errc::peer_lost,
               [peer](const Operation& operation) { return operation.peer() == static_cast<int>(peer); });
  }

  /// Ends what has been submitted; gives the peers in order.
  template <class Which>
  std::vector<int> finish_all(std::error_code outcome, Which which) {
    std::vector<Operation*> chosen;
    std::copy_if(held.begin(), held.end(), std::back_inserter(chosen), [&](Operation* one) { return which(*one); });
    std::erase_if(held, [&](Operation* one) { return which(*one); });
    std::vector<int> peers;
    for (Operation* operation : chosen) peers.push_back(operation->peer());
    for (Operation* operation : chosen) operation->finish(outcome);
    return peers;
  }
  std::vector<int> finish_all() {
    return finish_all({}, [](const Operation&) { return true; });
  }

  std::vector<Operation*> held;
};

/// Rank 1 of 4, each on a node of its own, whose peers are only imagined.
struct Fixture {
  Fixture() : region(JobRegion::create(shape(), JobRegion::Backing::anonymous)), rank(region, 1, loop) {
    auto made = std::make_unique<HeldTransport>();
    transport = made.get();
    rank.core().set_transport(std::move(made), false, true);
  }
  ~Fixture() {
    do {
      turn();
    } while (!transport->finish_all().empty());
  }
  static JobShape shape() {
    JobShape shape;
    shape.size = 4;
    shape.nodes = 4;
    shape.segment_bytes = 1 << 20;
    return shape;
  }
  /// Starts `task`, which notes what it throws.
  void spawn(Task<> task) { rank.service().spawn(noting(std::move(task), errors, ended)); }
  static Task<> noting(Task<> task, std::vector<std::string>& errors, int& ended) {
    try {
      co_await task;
    } catch (const Error& error) {
      errors.push_back(error.what());
      CHECK(error.code() == Errc::peer_lost);
    }
    ++ended;
  }
  void turn() {
    for (int i = 0; i < 4; ++i) loop.turn();
  }

  EventLoop loop;
  JobRegion region;
  WholeRank rank;
  HeldTransport* transport;
  std::vector<std::string> errors;
  int ended = 0;
};

Task<> put_one(Rank& self, std::uint32_t peer) {
  const std::uint64_t value = 7;
  co_await self.put(std::span(&value, 1), Remote<std::uint64_t>(RemoteAddress{65536, peer, 0}));
}
Task<> put_handles(Rank& self, std::uint32_t peer) {
  const std::uint64_t value = 7;
  self.put_nbi(std::span(&value, 1), Remote<std::uint64_t>(RemoteAddress{65536, peer, 0}));
  co_await self.nbi_done();
}
int answer_of(Rank&, int question) {
  return question + 1;
}
Task<> call_one(Rank& self, std::uint32_t peer) {
  static_cast<void>(co_await self.call(peer, answer_of, 41));
}
Task<> wait_guarded(Rank& self, Signal& signal, std::uint32_t from) {
  co_await self.wait(signal, 1, from);
}
Task<> count_losses(Rank& self, std::vector<std::size_t>& counts) {
  std::size_t known = 0;
  while (known < 2) {
    known = co_await self.more_lost(known);
    counts.push_back(known);
  }
}

void nothing(Rank&, const Message&) {}
struct Heard {
  explicit Heard(Rank&) {}
  int count = 0;
};
void count_message(Rank& rank, const Message&) {
  ++rank.local<Heard>().count;
}
Task<> send_nothing(Rank& self, std::uint32_t peer) {
  co_await self.request(peer, nothing, {});
}

}  // namespace

TEST_CASE(
    "operations in flight to a lost peer fail, later ones fail at once, others go on; each error says whom and why") {
  Fixture job;
  job.spawn(put_one(job.rank, 2));
  job.spawn(put_one(job.rank, 3));
  job.spawn(put_handles(job.rank, 2));
  job.spawn(send_nothing(job.rank, 2));
  CHECK(job.transport->held.size() == 4);
  CHECK_FALSE(job.rank.lost(2));
  job.rank.core().peer_lost({2, "its connection was reset"});
  job.rank.core().peer_lost({2, "found out twice"});
  job.turn();
  CHECK(job.rank.lost(2));
  CHECK_FALSE(job.rank.lost(3));
  CHECK(job.ended == 3);
  REQUIRE(job.errors.size() == 3);
  std::sort(job.errors.begin(), job.errors.end());
  CHECK(job.errors[0] == "put on rank 1 with rank 2 failed: peer lost (its connection was reset)");
  CHECK(job.errors[1] == job.errors[0]);
  CHECK(job.errors[2] == "request on rank 1 with rank 2 failed: peer lost (its connection was reset)");

  const std::size_t held = job.transport->held.size();
  job.spawn(put_one(job.rank, 2));
  job.spawn(put_handles(job.rank, 2));
  job.spawn(send_nothing(job.rank, 2));
  CHECK(job.transport->held.size() == held);  // the transport is not even asked
  CHECK(job.errors.size() == 6);
  CHECK(job.rank.losses().size() == 1);
  job.transport->finish_all();
  job.turn();
  CHECK(job.ended == 7);
}

TEST_CASE("a call that waits for its answer fails with the loss of the peer, which concerns it until then") {
  Fixture job;
  job.spawn(call_one(job.rank, 3));
  CHECK_FALSE(job.rank.core().peers().awaited(3));  // the operation in flight tells the transport enough
  CHECK(job.transport->finish_all() == std::vector<int>{3});
  job.turn();
  CHECK(job.rank.core().peers().awaited(3));
  CHECK_FALSE(job.rank.core().peers().awaited(2));
  job.rank.core().peer_lost({2, "dead"});
  job.turn();
  CHECK(job.ended == 0);
  job.rank.core().peer_lost({3, "silent for 10 s"});
  job.turn();
  REQUIRE(job.errors.size() == 1);
  CHECK(job.errors[0] == "call on rank 1 with rank 3 failed: peer lost (silent for 10 s)");
  CHECK_FALSE(job.rank.core().peers().awaited(3));
}

TEST_CASE("nothing of a lost peer is taken in") {
  Fixture job;
  MessageHeader header;
  header.handler = HandlerId::of(count_message);
  const auto deliver = [&] { job.rank.core().deliver(header, Message(*job.transport, 2, header, {})); };
  deliver();
  job.rank.core().peer_lost({2, "dead"});
  deliver();
  CHECK(job.rank.local<Heard>().count == 1);
}

TEST_CASE("a wait for a signal ends with the loss of the peer it names, or with the signal, whichever is first") {
  Fixture job;
  auto signals = job.rank.allocate_signals(3);
  job.spawn(wait_guarded(job.rank, signals[0], 2));
  job.spawn(wait_guarded(job.rank, signals[1], 3));
  job.spawn(wait_guarded(job.rank, signals[2], 2));
  CHECK(job.rank.core().peers().awaited(2));
  signals[2].count = 1;
  job.turn();
  CHECK(job.ended == 1);
  job.rank.core().peer_lost({2, "dead"});
  job.turn();
  CHECK(job.ended == 2);
  CHECK(job.errors == std::vector<std::string>{"signal on rank 1 with rank 2 failed: peer lost (dead)"});
  job.spawn(wait_guarded(job.rank, signals[0], 2));
  CHECK(job.errors.size() == 2);
  signals[1].count = 1;
  job.turn();
  CHECK(job.ended == 4);
  CHECK(job.errors.size() == 2);
}

TEST_CASE("more_lost tells of each loss, and of those that were before") {
  Fixture job;
  job.rank.core().peer_lost({0, "dead"});
  std::vector<std::size_t> counts;
  job.spawn(count_losses(job.rank, counts));
  CHECK(counts == std::vector<std::size_t>{1});
  CHECK(job.rank.core().peers().awaited(2));
  job.rank.core().peer_lost({3, "dead"});
  job.turn();
  CHECK(counts == std::vector<std::size_t>{1, 2});
  CHECK(job.ended == 1);
}

TEST_CASE("a barrier fails when any member is lost, the others are told, and later collectives fail at once") {
  Fixture job;
  job.spawn(job.rank.world().barrier());
  job.spawn(job.rank.world().barrier());  // behind the first
  CHECK(job.transport->finish_all() == std::vector<int>{0});
  job.turn();
  CHECK(job.rank.core().peers().awaited(3));
  CHECK(job.ended == 0);
  job.rank.core().peer_lost({3, "dead"});
  job.turn();
  CHECK(job.ended == 2);
  CHECK(job.errors.size() == 2);
  CHECK(job.errors[0] == "signal on rank 1 with rank 3 failed: peer lost (dead)");
  CHECK(job.rank.world().broken());
  CHECK(job.transport->finish_all() == std::vector<int>{0, 2});
  job.spawn(job.rank.world().barrier());
  std::vector<int> data(5000);
  job.spawn(job.rank.world().broadcast(std::span(data), 0));
  CHECK(job.ended == 4);
  job.turn();
  CHECK(job.transport->held.empty());
}

TEST_CASE("a member whose program has ended after the finalize breaks no team, but can't be reached") {
  Fixture job;
  job.spawn(job.rank.world().barrier());
  job.transport->finish_all();
  job.turn();
  job.rank.core().peer_lost({0, "its program has ended", Loss::Kind::ended});
  job.turn();
  CHECK(job.ended == 0);
  CHECK_FALSE(job.rank.world().broken());
  job.spawn(send_nothing(job.rank, 0));
  CHECK(job.ended == 1);
  job.rank.world().core().own_area().released.count = 1;
  job.turn();
  CHECK(job.ended == 2);
  CHECK(job.errors.size() == 1);
}

TEST_CASE("a member that is told of a broken team gives up its collectives, and loses nobody by that") {
  Fixture first;
  first.rank.core().peer_lost({3, "dead"});
  first.turn();
  REQUIRE(first.transport->held.size() == 2);
  const auto& told = static_cast<RequestOperation&>(*first.transport->held.front());

  Fixture second;
  std::vector<int> data(10);
  second.spawn(second.rank.world().broadcast(std::span(data), 0));
  CHECK(second.ended == 0);
  second.rank.core().deliver(told.header, Message(*second.transport, 0, told.header, {}));
  second.turn();
  CHECK(second.errors ==
        std::vector<std::string>{
            "collective on rank 1 with rank 3 failed: peer lost (another member of the team has lost it)"});
  CHECK_FALSE(second.rank.lost(3));
  CHECK(second.transport->finish_all() == std::vector<int>{0, 2, 3});  // it passes it on
}

}  // namespace peers_test
