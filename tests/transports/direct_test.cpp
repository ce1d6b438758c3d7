// Requests through inboxes: whose sender goes on when, while receivers are busy and rings full. All ranks in one
// thread, each of which polls when the test says so.
#include "transports/direct/direct.hpp"
#include "runtime/launch/boot.hpp"

#include <doctest/doctest.h>
#include <coracle/coracle.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "transports/connect.hpp"

namespace direct_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::direct;

namespace {

/// What has come to a rank, in order.
struct Log {
  explicit Log(Rank&) {}
  struct Entry {
    std::uint32_t source;
    std::uint64_t number;
    const std::byte* place;
    std::vector<std::byte> payload;
  };
  std::vector<Entry> entries;
  std::chrono::microseconds reading{0};  ///< How long it takes at least to read one.
};

void on_request(Rank& rank, const Message& message) {
  const auto payload = message.payload();
  auto& log = rank.local<Log>();
  log.entries.push_back({message.source(), message.argument(0), payload.data(), {payload.begin(), payload.end()}});
  if (log.reading.count() > 0) std::this_thread::sleep_for(log.reading);
}

struct Node {
  explicit Node(std::uint32_t ranks, bool survive = false, Placement placement = Placement::thread)
      : region(JobRegion::create(shape(ranks, survive, placement), JobRegion::Backing::anonymous)) {
    for (std::uint32_t id = 0; id < ranks; ++id) members.push_back(std::make_unique<Member>(region, id));
  }
  static JobShape shape(std::uint32_t ranks, bool survive, Placement placement = Placement::thread) {
    JobShape shape;
    shape.placement = placement;
    shape.network.survive = survive;
    shape.size = ranks;
    shape.segment_bytes = 1 << 20;
    shape.inbox_bytes = transport_inbox_bytes(ranks);
    return shape;
  }
  struct Member {
    Member(const JobRegion& region, std::uint32_t id) : self(region, id, loop), transport(self) {}
    EventLoop loop;
    WholeRank self;
    DirectTransport transport;
  };
  DirectTransport& operator[](std::uint32_t rank) { return members[rank]->transport; }
  std::vector<Log::Entry>& log_of(std::uint32_t rank) { return members[rank]->self.local<Log>().entries; }
  Inbox& inbox(std::uint32_t rank) { return *reinterpret_cast<Inbox*>(region.inbox(rank)); }
  /// As the launcher says it, and the rank does then.
  void die(std::uint32_t victim) {
    region.block(victim).phase = RankPhase::lost;
    for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
      if (rank == victim) continue;
      members[rank]->self.core().peers().note({victim, "it has died"});
      members[rank]->transport.peer_lost(victim);
    }
  }
  /// Until nothing is left to be done. Some things are done only by a rank that has found nothing else to do before.
  void poll_all() {
    constexpr int kIdleTurns = 4;
    for (int idle = 0; idle < kIdleTurns; ++idle)
      for (auto& member : members)
        if (member->transport.poll()) idle = -1;
  }

  const JobRegion region;
  std::vector<std::unique_ptr<Member>> members;
};

/// A request with its payload, which tells its number.
struct Sent {
  Sent(std::uint32_t peer, std::uint64_t number, std::size_t bytes) : operation(peer), payload(content(number, bytes)) {
    operation.header.handler = HandlerId::of(on_request);
    operation.header.argument_count = 1;
    operation.header.arguments[0] = number;
    operation.local = payload.data();
    operation.bytes = bytes;
  }
  static std::vector<std::byte> content(std::uint64_t number, std::size_t bytes) {
    std::vector<std::byte> payload(bytes);
    for (std::size_t i = 0; i < bytes; ++i) payload[i] = static_cast<std::byte>(number * 37 + i * 11 + i / 256);
    return payload;
  }
  bool finished() const { return operation.finished(); }

  RequestOperation operation;
  std::vector<std::byte> payload;
};

/// Has `count` requests of `bytes` sent, whose numbers begin with `first`.
std::vector<std::unique_ptr<Sent>> submit(DirectTransport& from, std::uint32_t peer, std::size_t count,
                                          std::size_t bytes, std::uint64_t first = 0) {
  std::vector<std::unique_ptr<Sent>> sent;
  for (std::uint64_t number = first; number < first + count; ++number) {
    sent.push_back(std::make_unique<Sent>(peer, number, bytes));
    from.submit(sent.back()->operation);
    // Who has finished may use its buffer for something else.
    if (sent.back()->finished()) std::ranges::fill(sent.back()->payload, std::byte{0xee});
  }
  return sent;
}

std::ptrdiff_t finished(const std::vector<std::unique_ptr<Sent>>& requests) {
  return std::ranges::count_if(requests, [](const auto& each) { return each->finished(); });
}

/// All that has come of `source` is whole, and numbered from 0 on; gives their number.
std::size_t check_whole(const std::vector<Log::Entry>& entries, std::uint32_t source) {
  std::uint64_t next = 0;
  for (const Log::Entry& entry : entries) {
    if (entry.source != source) continue;
    CHECK(entry.number == next);
    CHECK(entry.payload == Sent::content(next, entry.payload.size()));
    ++next;
  }
  return next;
}

constexpr std::size_t kUnhurried = 512;  // bytes of which the receiver's answer is not urgent
constexpr std::size_t kUrgent = 2000;
constexpr auto kSlots = BufferedSends::kBuffers;

/// Sends one to and fro, without a moment of leisure; gives where each was read. Both have the same number.
std::array<const std::byte*, 2> go_to_and_fro(Node& node, std::uint64_t number, std::size_t bytes) {
  const auto there = submit(node[1], 0, 1, bytes, number);
  node[0].poll();
  const auto back = submit(node[0], 1, 1, bytes, number);
  node[1].poll();
  node[0].poll();  // what tells it that its message has been taken, if anything does
  CHECK(finished(there) + finished(back) == 2);
  return {node.log_of(0).back().place, node.log_of(1).back().place};
}

}  // namespace

TEST_CASE("direct: a sender whose send buffers are with a busy receiver goes on while the inbox has room, or waits") {
  for (const std::size_t bytes : {kUnhurried, kUrgent}) {
    CAPTURE(bytes);
    Node node(2);
    const auto sent = submit(node[1], 0, kSlots + 2, bytes);
    CHECK(finished(sent) == (bytes <= DirectTransport::kWholeBytesMax ? kSlots + 2 : kSlots));
    CHECK_FALSE(node[1].poll());
    node[0].poll();  // takes them all, without a moment of leisure
    CHECK(check_whole(node.log_of(0), 1) == kSlots + 2);
    // Of those that somebody waits for it tells at once.
    node[1].poll();
    CHECK(finished(sent) == kSlots + 2);
    CHECK(node[1].in_flight() == (bytes == kUnhurried ? kSlots : 0));
    // As long as the receiver says nothing of the buffers they are taken, and the next goes without one, too.
    if (bytes == kUnhurried) {
      CHECK(finished(submit(node[1], 0, 1, bytes, kSlots + 2)) == 1);
      node[0].poll();
      CHECK(node[1].in_flight() == kSlots);
    }
    node.poll_all();
    CHECK(node[1].in_flight() == 0);
    CHECK(finished(submit(node[1], 0, kSlots, bytes, kSlots + 3)) == kSlots);
    node.poll_all();
    CHECK(node[1].in_flight() == 0);
  }
}

TEST_CASE("direct: messages of many lines each that fill the ring again and again come once, whole and in order") {
  for (const std::size_t bytes : {std::size_t{512}, std::size_t{984}, std::size_t{1000}, std::size_t{1024}}) {
    CAPTURE(bytes);
    Node node(2);
    std::uint64_t number = 0;
    for (int round = 0; round < 20; ++round) {
      constexpr std::size_t kMany = 200;
      const auto sent = submit(node[1], 0, kMany, bytes, number);
      CHECK(finished(sent) < static_cast<std::ptrdiff_t>(kMany));  // back-pressure
      number += kMany;
      for (int turn = 0; turn < 1000 && finished(sent) < static_cast<std::ptrdiff_t>(kMany); ++turn) node.poll_all();
      CHECK(finished(sent) == kMany);
      node.poll_all();
      CHECK(check_whole(node.log_of(0), 1) == number);
    }
  }
}

TEST_CASE("direct: messages of every length that the inbox takes come whole, with any number of arguments") {
  Node node(2);
  std::uint64_t number = 0;
  for (std::uint32_t arguments = 1; arguments <= MessageHeader::kArgumentsMax; ++arguments) {
    for (std::size_t bytes = 0; bytes <= DirectTransport::kEagerBytesMax; ++bytes) {
      CAPTURE(arguments);
      CAPTURE(bytes);
      Sent sent(0, number, bytes);
      sent.operation.header.argument_count = arguments;
      node[1].submit(sent.operation);
      REQUIRE(sent.finished());
      node.poll_all();
      REQUIRE(node.log_of(0).size() == ++number);
      REQUIRE(node.log_of(0).back().payload == sent.payload);
    }
  }
  CHECK(check_whole(node.log_of(0), 1) == number);
}

TEST_CASE("direct: what is sent during the call goes behind what waits, or not at all") {
  Node node(2);
  const auto sent = submit(node[1], 0, kRingLines, 8);
  const Sent next(0, kRingLines, 8);
  const auto send_now = [&] { return node[1].send_now(0, next.operation.header, next.payload); };
  CHECK_FALSE(send_now());  // the ring is full
  const auto waiting = submit(node[1], 0, 1, 8, kRingLines);
  CHECK(finished(waiting) == 0);
  while (node.log_of(0).size() < kRingLines / 2) node[0].poll();
  CHECK_FALSE(send_now());  // there is room, but one waits
  node.poll_all();
  CHECK(check_whole(node.log_of(0), 1) == kRingLines + 1);
  const Sent last(0, kRingLines + 1, 8);
  CHECK(node[1].send_now(0, last.operation.header, last.payload));
  node.poll_all();
  CHECK(check_whole(node.log_of(0), 1) == kRingLines + 2);
  CHECK(node[1].in_flight() == 0);
}

TEST_CASE(
    "direct: longer ones are sent during the call while this rank sends in a row, which a message received ends") {
  Node node(2);
  std::uint64_t next = 0;
  const auto send_now = [&](std::size_t bytes) {
    const Sent sent(0, next, bytes);
    const bool is_sent = node[1].send_now(0, sent.operation.header, sent.payload);
    next += is_sent ? 1 : 0;
    return is_sent;
  };
  constexpr std::size_t kLonger = DirectTransport::kWholeBytesMax;
  CHECK_FALSE(send_now(kLonger));
  CHECK(send_now(DirectTransport::kEagerBytesMax));
  CHECK(send_now(kLonger));
  CHECK(send_now(kLonger));
  CHECK_FALSE(send_now(kLonger + 1));
  const auto answer = submit(node[0], 1, 1, 8);
  node[1].poll();
  CHECK_FALSE(send_now(kLonger));
  CHECK(send_now(8));
  while (send_now(kLonger)) continue;  // as many as the ring has room for
  node.poll_all();
  CHECK(next > 40);
  CHECK(check_whole(node.log_of(0), 1) == next);
}

TEST_CASE("direct: a receiver that owes several senders answers pays when it can't note more") {
  Node node(4);
  std::vector<std::vector<std::unique_ptr<Sent>>> sent;
  for (std::uint32_t sender = 1; sender < 4; ++sender) {
    sent.push_back(submit(node[sender], 0, kSlots, kUnhurried));
    CHECK(finished(sent.back()) == kSlots);
  }
  node[0].poll();
  std::size_t left = 0;
  for (std::uint32_t sender = 1; sender < 4; ++sender) {
    CHECK(check_whole(node.log_of(0), sender) == kSlots);
    node[sender].poll();
    left += node[sender].in_flight();
  }
  CHECK(left == kSlots);  // what it can note
  node.poll_all();
  for (std::uint32_t sender = 1; sender < 4; ++sender) CHECK(node[sender].in_flight() == 0);
}

TEST_CASE("direct: requests that meet a full ring come whole and in order, those in staged slots, too") {
  for (const std::size_t bytes : {kUnhurried, kUrgent}) {
    CAPTURE(bytes);
    Node node(3);
    const auto small = submit(node[1], 0, kRingLines, 8);
    CHECK(finished(small) == kRingLines);
    const auto more = submit(node[1], 0, kSlots + 1, bytes, kRingLines);
    const auto last = submit(node[1], 0, 1, 8, kRingLines + kSlots + 1);
    CHECK(finished(more) + finished(last) == 0);  // back-pressure
    // The slots are taken all the same: a message to another goes without one meanwhile.
    const auto other = submit(node[1], 2, 1, bytes);
    CHECK(finished(other) == 0);
    for (int i = 0; i < 10; ++i) node[1].poll();
    // What is in a slot is copied already: it does not change with the sender's buffer.
    for (std::size_t i = 0; i < kSlots; ++i) std::ranges::fill(more[i]->payload, std::byte{0xdd});
    node.poll_all();
    CHECK(finished(more) + finished(last) == kSlots + 2);
    CHECK(finished(other) == 1);
    CHECK(check_whole(node.log_of(0), 1) == kRingLines + kSlots + 2);
    CHECK(check_whole(node.log_of(2), 1) == 1);
    CHECK(node[1].in_flight() == 0);
  }
}

TEST_CASE("direct: requests to a peer that is lost before its ring has room fail, and their slots are free again") {
  Node node(3);
  const auto small = submit(node[1], 0, kRingLines, 8);
  const auto more = submit(node[1], 0, kSlots + 1, kUrgent, kRingLines);
  node[1].peer_lost(0);
  for (const auto& each : more) CHECK(each->operation.outcome() == Errc::peer_lost);
  CHECK(node[1].in_flight() == 0);
  CHECK(finished(submit(node[1], 2, kSlots, kUrgent)) == kSlots);
  node.poll_all();
  CHECK(check_whole(node.log_of(2), 1) == kSlots);
}

TEST_CASE("direct: lines that a dead peer has reserved, and not filled, are stepped over") {
  // Near the array's end the lines that it skips there are a part of them.
  for (const std::size_t before : {std::size_t{0}, std::size_t{kRingLines - 2}}) {
    CAPTURE(before);
    Node node(3, true);
    const auto first = submit(node[2], 0, before, 8);
    node.poll_all();
    REQUIRE(node.inbox(0).requests.reserve(3, &node.inbox(1).writing, number_of_requests(0)) != nullptr);
    REQUIRE(node.inbox(0).replies.reserve(1) != nullptr);  // of a living one, in the other ring
    const auto then = submit(node[2], 0, 5, 8, before);
    node[0].poll();
    CHECK(node.log_of(0).size() == before);
    // While somebody may be writing there it is not known whose the lines are, and nobody goes to sleep.
    node.inbox(2).writing.set(number_of_requests(0), 0, 0);
    node.die(1);
    CHECK(node[0].poll());
    CHECK(node.log_of(0).size() == before);
    node.inbox(2).writing.clear();
    node[0].poll();
    CHECK(check_whole(node.log_of(0), 2) == before + 5);
  }
}

TEST_CASE("direct: lines that a dead peer has named, and another has reserved, are read like any others") {
  Node node(3, true);
  node.inbox(1).writing.set(number_of_requests(0), 0, 7);  // the lines of those that come now
  const auto sent = submit(node[2], 0, 7, 8);
  node.die(1);
  node.poll_all();
  CHECK(check_whole(node.log_of(0), 2) == 7);
  // Nor does it matter where nobody has reserved them when it dies.
  Node other(3, true);
  other.inbox(1).writing.set(number_of_requests(0), 0, 3);
  other.die(1);
  const auto later = submit(other[2], 0, 7, 8);
  other.poll_all();
  CHECK(check_whole(other.log_of(0), 2) == 7);
}

TEST_CASE("direct: in jobs that survive a rank names no lines when it has filled them, or found none") {
  Node node(2, true);
  const auto sent = submit(node[1], 0, kRingLines + 1, 8);
  CHECK(finished(sent) == kRingLines);
  CHECK(node.inbox(1).writing.ring.load() == 0);
  CHECK(node.inbox(1).writing.end.load() == kRingLines);
}

TEST_CASE("direct: what only the kernel could fetch from a process goes through the inbox, or waits for room") {
  for (const bool survive : {false, true}) {
    Node node(2, survive, Placement::process);
    constexpr std::size_t kMany = 40;
    std::uint64_t number = 0;
    std::ptrdiff_t ended = 0;
    std::vector<std::vector<std::unique_ptr<Sent>>> sent;
    // Some are in buffers, which all can read, some are longer than buffers may be, and short ones are between them.
    for (std::size_t i = 0; i < kMany; ++i) {
      const std::size_t all[] = {8, kUnhurried, kUrgent, 4096, DirectTransport::kUnsharedWholeBytesMax};
      sent.push_back(submit(node[1], 0, 1, all[i % std::size(all)], number++));
      ended += finished(sent.back());
    }
    CHECK(ended > 10);
    CHECK(ended < static_cast<std::ptrdiff_t>(kMany));
    node.poll_all();
    for (const auto& each : sent) CHECK(finished(each) == 1);
    CHECK(check_whole(node.log_of(0), 1) == kMany);
    for (const auto& entry : node.log_of(0)) CHECK(node.region.contains(entry.place, entry.payload.size()));
    CHECK(node[1].in_flight() == 0);
  }
}

TEST_CASE("direct: a payload that is made in the transport's room is read there") {
  Node node(2);
  CHECK(node[1].payload_room(DirectTransport::kEagerBytesMax) == nullptr);
  CHECK(node[1].payload_room(DirectTransport::kBufferedBytesMax + 1) == nullptr);
  std::vector<std::unique_ptr<Sent>> sent;
  for (std::uint64_t number = 0; number < kSlots; ++number) {
    sent.push_back(std::make_unique<Sent>(0, number, kUrgent));
    RequestOperation& request = sent.back()->operation;
    std::byte* room = node[1].payload_room(kUrgent);
    REQUIRE(room != nullptr);
    std::ranges::copy(sent.back()->payload, room);
    request.local = room;
    node[1].submit(request);
    CHECK(request.finished());
  }
  CHECK(node[1].payload_room(kUrgent) == nullptr);
  node[0].poll();
  const auto& log = node.log_of(0);
  CHECK(check_whole(log, 1) == kSlots);
  for (std::size_t i = 0; i < log.size(); ++i) CHECK(log[i].place == sent[i]->operation.local);
  node.poll_all();
  CHECK(node[1].payload_room(kUrgent) == sent[0]->operation.local);
}

TEST_CASE("direct: a payload that is made in the transport's room stays there while the ring is full") {
  Node node(2);
  const auto small = submit(node[1], 0, kRingLines, 8);
  Sent made(0, kRingLines, kUnhurried);
  std::byte* room = node[1].payload_room(kUnhurried);
  REQUIRE(room != nullptr);
  std::ranges::copy(made.payload, room);
  made.operation.local = room;
  node[1].submit(made.operation);
  CHECK_FALSE(made.finished());
  CHECK(node[1].payload_room(kUnhurried) != room);
  const auto next = submit(node[1], 0, 1, kUnhurried, kRingLines + 1);
  node.poll_all();
  CHECK(made.finished());
  CHECK(finished(next) == 1);
  CHECK(check_whole(node.log_of(0), 1) == kRingLines + 2);
}

TEST_CASE("direct: an answer lies in the slot of the message that it follows, and tells that it has been taken") {
  Node node(2);
  for (std::uint64_t number = 0; number < 3; ++number) {
    const auto [there, back] = go_to_and_fro(node, number, kUnhurried);
    CHECK(there == back);
    CHECK(node[0].in_flight() + node[1].in_flight() == 0);
  }
  CHECK(check_whole(node.log_of(0), 1) == 3);
  CHECK(check_whole(node.log_of(1), 0) == 3);
}

TEST_CASE("direct: longer messages go to and fro in one slot once others have done so, until there is leisure") {
  Node node(2);
  std::uint64_t number = 0;
  for (; number < 3; ++number) {
    const auto [there, back] = go_to_and_fro(node, number, kUrgent);
    CHECK((there == back) == (number == 2));
  }
  const auto [there, back] = go_to_and_fro(node, number++, DirectTransport::kBufferedBytesMax);
  CHECK(there == back);
  CHECK(node[0].in_flight() + node[1].in_flight() == 0);
  // Who sends a longer one waits as ever.
  CHECK(node[1].payload_room(BufferedSends::kBufferBytes + 1) == nullptr);
  const auto too_long = submit(node[1], 0, 1, DirectTransport::kBufferedBytesMax + 1, number++);
  CHECK(finished(too_long) == 0);
  node.poll_all();
  for (int once_more = 0; once_more < 2; ++once_more) {
    const auto unanswered = submit(node[1], 0, 1, kUrgent, number++);
    CHECK(finished(unanswered) == 1);
    node.poll_all();
  }
  // Nothing came back: it is told at once of what has been taken, and what is longer is not copied.
  const auto urgent = submit(node[1], 0, 1, kUrgent, number++);
  node[0].poll();
  node[1].poll();
  CHECK(node[1].in_flight() == 0);
  const auto longer = submit(node[0], 1, 1, DirectTransport::kBufferedBytesMax + 1, 4);
  CHECK(finished(longer) == 0);
  node.poll_all();
  CHECK(check_whole(node.log_of(0), 1) == number);
  CHECK(check_whole(node.log_of(1), 0) == 5);
}

TEST_CASE("direct: messages to and fro that take long to read in their senders' buffers are staged, but for some") {
  Node node(2);
  for (auto& member : node.members) member->self.local<Log>().reading = std::chrono::microseconds(20);
  constexpr std::uint64_t kRounds = 64;
  std::uint64_t staged = 0;
  for (std::uint64_t number = 0; number < 2 * kRounds; ++number) {
    const auto [there, back] = go_to_and_fro(node, number, 4096);
    if (number >= kRounds && there == back) ++staged;
  }
  CHECK(staged >= kRounds * 7 / 8);
  CHECK(staged < kRounds);
  const auto too_long = submit(node[1], 0, 1, BufferedSends::kBufferBytes + 1, 2 * kRounds);
  CHECK(finished(too_long) == 0);
  node.poll_all();
  CHECK(check_whole(node.log_of(0), 1) == 2 * kRounds + 1);
  CHECK(check_whole(node.log_of(1), 0) == 2 * kRounds);
}

TEST_CASE("direct: an answer goes in a slot of the peer that it is for, the latest first") {
  Node node(3);
  const auto first = submit(node[1], 0, 2, kUnhurried);
  const auto second = submit(node[2], 0, 1, kUnhurried);
  node[0].poll();
  const auto& log = node.log_of(0);
  REQUIRE(log.size() == 3);
  const auto to_second = submit(node[0], 2, 2, kUnhurried);
  const auto to_first = submit(node[0], 1, 3, kUnhurried);
  node[1].poll();
  node[2].poll();
  CHECK(node.log_of(2)[0].place == log[2].place);
  CHECK(node.log_of(1)[0].place == log[1].place);
  CHECK(node.log_of(1)[1].place == log[0].place);
  CHECK(node[1].in_flight() + node[2].in_flight() == 0);
  node.poll_all();
  CHECK(node[0].in_flight() == 0);
  CHECK(check_whole(log, 1) + check_whole(log, 2) == 3);
  CHECK(check_whole(node.log_of(1), 0) == 3);
  CHECK(check_whole(node.log_of(2), 0) == 2);
}

TEST_CASE("direct: where an answer meets a full ring the slot that it would have gone in is given back without") {
  Node node(2);
  const auto there = submit(node[1], 0, 2, kUnhurried);
  node[0].poll();
  const auto small = submit(node[0], 1, kRingLines, 8);
  const auto answers = submit(node[0], 1, 2, kUnhurried, kRingLines);
  CHECK(finished(answers) == 0);
  // Then there is room, but the next must not overtake those that wait.
  for (int i = 0; i < 5; ++i) node[1].poll();
  const auto last = submit(node[0], 1, 1, kUnhurried, kRingLines + 2);
  node.poll_all();
  CHECK(finished(answers) + finished(last) == 3);
  CHECK(node[0].in_flight() + node[1].in_flight() == 0);
  CHECK(check_whole(node.log_of(1), 0) == kRingLines + 3);
  CHECK(finished(submit(node[1], 0, kSlots, kUnhurried, 2)) == kSlots);
  node.poll_all();
  CHECK(check_whole(node.log_of(0), 1) == 2 + kSlots);
}

TEST_CASE("direct: where jobs survive losses every message is answered by itself") {
  Node node(2, true);
  for (std::uint64_t number = 0; number < 4; ++number) {
    const auto [there, back] = go_to_and_fro(node, number, kUnhurried);
    CHECK(there != back);
    CHECK(node[0].in_flight() + node[1].in_flight() == 0);
  }
}

TEST_CASE("direct: payloads that are made in the transport's room go to and fro in one slot, the longest, too") {
  Node node(2);
  std::uint64_t number = 0;
  for (; number < 3; ++number) go_to_and_fro(node, number, kUrgent);
  std::vector<std::unique_ptr<Sent>> sent;
  for (std::uint32_t from : {1U, 0U}) {
    Sent& made = *sent.emplace_back(std::make_unique<Sent>(1 - from, number, BufferedSends::kBufferBytes));
    std::byte* room = node[from].payload_room(BufferedSends::kBufferBytes);
    REQUIRE(room != nullptr);
    std::ranges::copy(made.payload, room);
    made.operation.local = room;
    node[from].submit(made.operation);
    CHECK(made.finished());
    // What has gone back is not in that room any more.
    if (from == 0) std::ranges::fill(std::span(room, BufferedSends::kBufferBytes), std::byte{0xee});
    node[1 - from].poll();
  }
  CHECK(check_whole(node.log_of(1), 0) == number + 1);
  CHECK(node.log_of(0).back().place == node.log_of(1).back().place);
  CHECK(node[0].in_flight() + node[1].in_flight() == 0);
}

namespace {

constexpr std::size_t kExposedBytes = 1 << 20;
constexpr int kRounds = 100;

struct Withdrawing {
  std::vector<std::byte> memory = std::vector<std::byte>(kExposedBytes);
  std::atomic<std::uint32_t> place_segment{0};
  std::atomic<int> exposed{-1};  // which round's memory there is
  std::atomic<int> reading{-1};  // whose reader is at it
  std::atomic<int> over{-1};     // whose reader has been refused
};

/// Exposes memory, has it read and written all the time, withdraws it, and uses it for something else.
void withdraw_again_and_again(Rank& self, Withdrawing& job) {
  for (int round = 0; round < kRounds; ++round) {
    std::ranges::fill(job.memory, std::byte{1});
    std::optional<Exposed<std::byte>> exposed(self.expose(job.memory));
    job.place_segment = exposed->remote().address().segment;
    job.exposed = round;
    while (job.reading < round) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(round * 7));
    exposed.reset();
    std::ranges::fill(job.memory, std::byte{0xee});
    while (job.over < round) std::this_thread::yield();
    // Nobody has written there since.
    CHECK(std::ranges::count(job.memory, std::byte{0xee}) == static_cast<std::ptrdiff_t>(kExposedBytes));
  }
}

/// Gets and puts until the memory is gone; what a get brings is from before.
void read_and_write(Rank& self, Withdrawing& job, bool writes) {
  std::vector<std::byte> own(kExposedBytes);
  for (int round = 0; round < kRounds; ++round) {
    while (job.exposed < round) std::this_thread::yield();
    const RemoteAddress place{0, 0, job.place_segment};
    for (;;) {
      if (writes) std::ranges::fill(own, std::byte{1});
      Operation operation(writes ? Operation::Verb::put : Operation::Verb::get, "operation", 0);
      operation.local = own.data();
      operation.bytes = own.size();
      operation.remote = place;
      self.core().start(operation);
      job.reading = round;
      REQUIRE(operation.finished());
      if (operation.failed()) {
        CHECK(operation.outcome() == Errc::out_of_segment);
        break;
      }
      CHECK(std::ranges::count(own, std::byte{1}) == static_cast<std::ptrdiff_t>(kExposedBytes));
    }
    job.over = round;
  }
}

}  // namespace

TEST_CASE("direct: what is exposed is neither read nor written any more once it has been withdrawn") {
  for (const bool writes : {false, true}) {
    CAPTURE(writes);
    JobShape shape = Node::shape(2, false);
    shape.placement = Placement::thread;
    const JobRegion region = JobRegion::create(shape, JobRegion::Backing::anonymous);
    EventLoop loops[2];
    WholeRank owner(region, 0, loops[0]);
    WholeRank peer(region, 1, loops[1]);
    connect_transports(owner);
    connect_transports(peer);
    Withdrawing job;
    std::thread reader([&] { read_and_write(peer, job, writes); });
    withdraw_again_and_again(owner, job);
    reader.join();
  }
}

}  // namespace direct_test
