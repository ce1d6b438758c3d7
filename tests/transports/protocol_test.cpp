// The TCP protocol over a simulated pair of sockets: bytes come in pieces of any length, late, and the connection may
// break at any moment; for thousands of seeds.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <random>

#include "tests/seeds.hpp"
#include "tests/transports/tcp_fake.hpp"

namespace transports_protocol_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::tcp;

namespace {

constexpr std::size_t kWords = 16'384;
/// Behind them as many words that nobody writes: what a long get brings is read late, straight from the memory, so that
/// a put that was started after it may be seen.
constexpr std::size_t kAllWords = 2 * kWords;
constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

/// One operation, its buffer, and what it must bring.
struct Asked final : OperationOwner {
  explicit Asked(Operation::Verb verb) : request(1), plain(verb, "operation", 1) {
    if (verb == Operation::Verb::request) is_request = true;
    operation().set_owner(this);
  }
  Operation& operation() { return is_request ? request : plain; }
  void finished(Operation&) noexcept override { ++times_finished; }

  bool is_request = false;
  RequestOperation request;
  Operation plain;
  std::vector<std::uint64_t> buffer;
  std::vector<std::uint64_t> expected;  // of a get
  std::uint64_t expected_old = 0;       // of an atomic
  int times_finished = 0;
};

/// One direction of a connection: bytes under way, and sends that the kernel has not let go of.
class Wire {
 public:
  void pull(tcp::ConnectionEnd& from, std::mt19937_64& random) {
    std::array<iovec, 4> vectors;
    const auto gathered = from.outbox().gather(vectors, 1 + random() % 60'000);
    std::size_t rest = gathered.bytes == 0 ? 0 : 1 + random() % gathered.bytes;  // the socket takes what it likes
    const std::size_t taken = rest;
    for (std::size_t i = 0; rest > 0; ++i) {
      const std::size_t count = std::min(rest, vectors[i].iov_len);
      const auto* start = static_cast<const std::byte*>(vectors[i].iov_base);
      bytes_.insert(bytes_.end(), start, start + count);
      rest -= count;
    }
    from.outbox().sent(taken);
    if (taken > 0) unreleased_.push_back(taken);
    while (!unreleased_.empty() && random() % 2 == 0) release_one(from);
  }
  void deliver(tcp::ConnectionEnd& to, std::mt19937_64& random) {
    if (bytes_.empty() || !to.wants_input()) return;
    const std::span<std::byte> landing = to.landing();
    const std::size_t room = landing.empty() ? 1 + random() % 20'000 : landing.size();
    std::vector<std::byte> piece(std::min<std::size_t>(bytes_.size(), room));
    std::copy_n(bytes_.begin(), piece.size(), piece.begin());
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(piece.size()));
    if (landing.empty()) return to.received(piece);
    std::copy(piece.begin(), piece.end(), landing.begin());
    to.landed(piece.size());
  }
  void release_all(tcp::ConnectionEnd& from) {
    while (!unreleased_.empty()) release_one(from);
  }
  bool empty() const { return bytes_.empty(); }

 private:
  void release_one(tcp::ConnectionEnd& from) {
    from.outbox().release(unreleased_.front());
    unreleased_.pop_front();
    from.drained();
  }
  std::deque<std::byte> bytes_;
  std::deque<std::size_t> unreleased_;
};

class Story {
 public:
  explicit Story(std::uint64_t seed) : random_(seed), model_(kAllWords) {
    for (std::size_t word = kWords; word < kAllWords; ++word) model_[word] = word;
    std::memcpy(target_.memory.data(), model_.data(), target_.memory.size());
    target_.replier = &responder_;
  }

  /// Empty: all went as it must.
  std::string tell() {
    const std::size_t operations = 1 + random_() % 80;
    const bool breaks = random_() % 3 == 0;
    const std::size_t break_at = random_() % (operations * 8);
    for (std::size_t step = 0; step < 200'000; ++step) {
      if (asked_.size() < operations && random_() % 4 == 0) ask();
      if (breaks && step == break_at) return end_broken();
      move();
      if (asked_.size() == operations && initiator_.quiet() && to_target_.empty() && to_initiator_.empty() &&
          responder_.quiet())
        return end_well();
    }
    return "it does not end";
  }

 private:
  void move() {
    switch (random_() % 4) {
      case 0:
        return to_target_.pull(initiator_, random_);
      case 1:
        return to_target_.deliver(responder_, random_);
      case 2:
        return to_initiator_.pull(responder_, random_);
      default:
        return to_initiator_.deliver(initiator_, random_);
    }
  }

  /// A new operation; the model does it at once, since a connection keeps order.
  void ask() {
    constexpr Operation::Verb kVerbs[] = {Operation::Verb::put, Operation::Verb::get, Operation::Verb::fetch_add,
                                          Operation::Verb::compare_swap, Operation::Verb::request};
    const Operation::Verb verb = kVerbs[random_() % 5];
    auto& asked = *asked_.emplace_back(std::make_unique<Asked>(verb));
    Operation& operation = asked.operation();
    const std::size_t words = random_() % 3 == 0 ? random_() % kWords : random_() % 16;
    std::size_t place = random_() % (kWords - words);
    if (verb == Operation::Verb::get && words * kWordBytes > Outbox::kCopiedBytesMax) place += kWords;
    operation.remote = {place * kWordBytes, 1, random_() % 2 == 0 ? 0 : test::FakeRank::kExposed};
    operation.bytes = words * kWordBytes;
    if (verb == Operation::Verb::put || verb == Operation::Verb::request) {
      asked.buffer.assign(words, asked_.size() * 1000);
      operation.local = asked.buffer.data();
    }
    if (verb == Operation::Verb::put) {
      std::copy(asked.buffer.begin(), asked.buffer.end(), model_.begin() + static_cast<std::ptrdiff_t>(place));
      if (random_() % 2 == 0) {
        operation.signal_add = 3;
        operation.signal = {0, 1, random_() % 2 == 0 ? 0 : test::FakeRank::kExposed};
        model_[0] += 3;
      }
    } else if (verb == Operation::Verb::get) {
      asked.buffer.resize(words);
      operation.local = asked.buffer.data();
      asked.expected.assign(model_.begin() + static_cast<std::ptrdiff_t>(place),
                            model_.begin() + static_cast<std::ptrdiff_t>(place + words));
    } else if (verb == Operation::Verb::request) {
      asked.request.header.handler = HandlerId::of(test::no_handler);
      asked.request.header.argument_count = 1;
      asked.request.header.arguments[0] = ++requests_;
    } else {
      operation.bytes = kWordBytes;
      operation.operand = 5;
      operation.compare = random_() % 2 == 0 ? model_[place] : 12345;
      asked.expected_old = model_[place];
      if (verb == Operation::Verb::fetch_add)
        model_[place] += 5;
      else if (model_[place] == operation.compare)
        model_[place] = 5;
    }
    initiator_.submit(operation);
  }

  std::string check_each(bool all) {
    for (const auto& asked : asked_) {
      Operation& operation = asked->operation();
      if (asked->times_finished != 1) return fmt::format("an operation finished {} times", asked->times_finished);
      if (operation.outcome()) {
        if (all) return "an operation failed without a cause";
        continue;
      }
      if (operation.verb == Operation::Verb::get && asked->buffer != asked->expected) return "a get brought other data";
      const bool atomic =
          operation.verb == Operation::Verb::fetch_add || operation.verb == Operation::Verb::compare_swap;
      if (atomic && operation.result != asked->expected_old) return "an atomic brought another value";
    }
    std::uint64_t number = 0;
    for (const auto& request : target_.requests)
      if (request.number != ++number) return "a request was lost, doubled or out of order";
    if (all && number != requests_) return "a request was lost";
    number = 0;
    for (const auto& reply : source_.replies)
      if (reply.number != ++number) return "a reply was lost, doubled or out of order";
    if (all && number != requests_) return "a reply was lost";
    return "";
  }

  std::string end_well() {
    to_target_.release_all(initiator_);
    to_initiator_.release_all(responder_);
    std::string wrong = check_each(true);
    if (std::memcmp(model_.data(), target_.memory.data(), target_.memory.size()) != 0) wrong += " memory differs";
    initiator_.leave();
    for (int i = 0; i < 1000 && !responder_.peer_said_goodbye(); ++i) move();
    responder_.ended({});
    if (!responder_.peer_said_goodbye() || responder_.broken()) wrong += " no goodbye: " + responder_.why();
    to_target_.release_all(initiator_);
    return wrong;
  }

  std::string end_broken() {
    initiator_.ended(std::make_error_code(std::errc::connection_reset));
    responder_.ended(std::make_error_code(std::errc::connection_reset));
    initiator_.fail_all(Errc::peer_lost);
    responder_.outbox().drop(Errc::peer_lost);
    if (!initiator_.broken() || !responder_.broken()) return "an end did not notice that the connection broke";
    if (initiator_.in_flight() != 0) return "operations are left";
    return check_each(false);
  }

  std::mt19937_64 random_;
  std::vector<std::uint64_t> model_;
  test::FakeRank source_{0};
  test::FakeRank target_{kAllWords * kWordBytes};
  Initiator initiator_{source_, source_, {JobKey{}, 0, 1}};
  Responder responder_{target_, target_, frame_check(JobKey{})};
  Wire to_target_;
  Wire to_initiator_;
  std::vector<std::unique_ptr<Asked>> asked_;
  std::uint64_t requests_ = 0;
};

}  // namespace

TEST_CASE("tcp protocol: nothing is lost, doubled or out of order, for thousands of seeds with broken connections") {
  const test::Seeds seeds("CORACLE_PROTOCOL_SEEDS", 3000);
  for (const std::uint64_t seed : seeds) {
    const std::string wrong = Story(seed).tell();
    INFO(seeds.repeat(seed));
    REQUIRE(wrong == "");
  }
}

}  // namespace transports_protocol_test
