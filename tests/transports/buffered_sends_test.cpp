// Copies of requests whose senders do not wait: each lies in a buffer of its own until it has been taken.
#include "transports/direct/buffered_sends.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <set>
#include <vector>

namespace buffered_sends_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::direct;

namespace {

using Payload = std::array<std::byte, BufferedSends::kBufferBytes>;

Payload payload_of(std::size_t number) {
  Payload payload;
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(i * 7 + i / 256 + number * 31);
  return payload;
}

struct Sent {
  RequestOperation operation{5};
};

bool holds(const RequestOperation& copy, const Payload& payload) {
  return copy.bytes == payload.size() &&
         std::equal(payload.begin(), payload.end(), static_cast<const std::byte*>(copy.local));
}

}  // namespace

TEST_CASE("buffered requests keep their bytes until they are taken, and then make room for others") {
  alignas(64) std::array<std::byte, BufferedSends::kBytes> memory{};
  BufferedSends buffered(memory.data());
  std::vector<RequestOperation*> copies;
  std::set<const void*> places;
  std::deque<Sent> requests;
  for (std::size_t number = 0; number < BufferedSends::kBuffers; ++number) {
    RequestOperation& request = requests.emplace_back().operation;
    Payload payload = payload_of(number);
    request.local = payload.data();
    request.bytes = payload.size();
    request.header.argument_count = 1;
    request.header.arguments[0] = number;
    copies.push_back(buffered.copy(request));
    REQUIRE(copies.back() != nullptr);
    CHECK(!request.finished());
    buffered.sent(*copies.back());
    CHECK(request.finished());
    payload.fill(std::byte{0xee});  // the sender goes on
    places.insert(copies.back()->local);
  }
  CHECK(places.size() == BufferedSends::kBuffers);
  for (std::size_t number = 0; number < copies.size(); ++number) {
    const RequestOperation& copy = *copies[number];
    CHECK(holds(copy, payload_of(number)));
    CHECK(buffered.has(copy));
    CHECK(copy.peer() == 5);
    CHECK(copy.header.arguments[0] == number);
  }

  RequestOperation another(6);
  Payload payload = payload_of(99);
  another.local = payload.data();
  another.bytes = payload.size();
  CHECK(!buffered.has(another));
  CHECK(buffered.free_buffer() == nullptr);
  CHECK(buffered.copy(another) == nullptr);

  const void* freed = copies[1]->local;
  copies[1]->finish();
  RequestOperation* copy = buffered.copy(another);
  REQUIRE(copy != nullptr);
  CHECK(copy->local == freed);
  CHECK(copy->peer() == 6);
  CHECK(holds(*copy, payload));
  CHECK(holds(*copies[2], payload_of(2)));
  // What a lost receiver leaves is free, too; a request that it has not been sent ends in the same way.
  CHECK(!another.finished());
  copy->finish(std::make_error_code(std::errc::owner_dead));
  CHECK(another.outcome() == std::errc::owner_dead);
  copies[0]->finish(std::make_error_code(std::errc::owner_dead));
  CHECK(!requests[0].operation.failed());
  RequestOperation last(6);
  last.local = payload.data();
  last.bytes = payload.size();
  copy = buffered.copy(last);
  REQUIRE(copy != nullptr);
  buffered.sent(*copy);
  copy->finish();
}

}  // namespace buffered_sends_test
