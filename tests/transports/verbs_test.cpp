// The parts of the verbs transport that need no device: messages as bytes, and the selection of a device.
#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <vector>

#include "runtime/core/error.hpp"
#include "transports/verbs/port.hpp"
#include "transports/verbs/wire.hpp"

namespace verbs_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::verbs;

namespace {

std::vector<std::byte> some_message() {
  MessageHeader header;
  header.handler = HandlerId::from_wire(4711);
  header.argument_count = 3;
  header.arguments = {1, 2, ~std::uint64_t{0}};
  const std::vector<std::byte> payload(100, std::byte{7});
  std::vector<std::byte> bytes(kMessageBytesMax);
  bytes.resize(encode(bytes.data(), WireType::request, header, payload));
  return bytes;
}

}  // namespace

TEST_CASE("verbs: a message is read as it was written") {
  const auto bytes = some_message();
  const auto message = parse(bytes);
  REQUIRE(message);
  CHECK(message->kind == WireType::request);
  CHECK(message->header.handler.to_wire() == 4711);
  CHECK(message->header.argument_count == 3);
  CHECK(message->header.arguments[2] == ~std::uint64_t{0});
  CHECK(message->header.arguments[3] == 0);
  CHECK(message->payload.size() == 100);
  CHECK(message->payload[99] == std::byte{7});
}

TEST_CASE("verbs: a message of another length than it says is none, nor is one of an unknown kind") {
  auto bytes = some_message();
  for (std::size_t length = 0; length < bytes.size(); ++length) CHECK(!parse(std::span(bytes).first(length)));
  bytes.push_back(std::byte{0});
  CHECK(!parse(bytes));
  bytes.pop_back();
  bytes[0] = static_cast<std::byte>(static_cast<int>(kLastWireType) + 1);
  CHECK(!parse(bytes));
  bytes[0] = std::byte{0};
  bytes[1] = std::byte{6};
  CHECK(!parse(bytes));
}

TEST_CASE("verbs: whatever comes is a message within its bounds, or none") {
  constexpr unsigned kSeed = 20;
  CAPTURE(kSeed);
  std::mt19937 random(kSeed);
  int messages = 0;
  for (int round = 0; round < 200'000; ++round) {
    auto bytes = some_message();
    for (unsigned changes = random() % 4; changes > 0; --changes)
      bytes[random() % 16] = static_cast<std::byte>(random());  // of the header
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    const auto message = parse(bytes);
    if (!message) continue;
    ++messages;
    REQUIRE(message->header.argument_count <= MessageHeader::kArgumentsMax);
    REQUIRE(message->payload.data() + message->payload.size() == bytes.data() + bytes.size());
  }
  CHECK(messages > 1000);
}

TEST_CASE("verbs: outcomes survive the way, with their category") {
  for (const std::error_code code :
       {std::error_code(), make_error_code(Errc::misaligned), std::make_error_code(std::errc::not_enough_memory)})
    CHECK(code_from_wire(to_wire(code)) == code);
}

TEST_CASE("verbs: CORACLE_VERBS_DEVICE names a device, its port and GID, in turn for the ranks of a node") {
  const auto plain = parse_selection("mlx5_0", 3);
  REQUIRE(plain);
  CHECK(plain->device == "mlx5_0");
  CHECK(!plain->port);
  CHECK(!plain->gid_index);
  const auto second = parse_selection("rxe0,rxe1:2:5", 1);
  REQUIRE(second);
  CHECK(second->device == "rxe1");
  CHECK(second->port == 2);
  CHECK(second->gid_index == 5);
  CHECK(parse_selection("rxe0,rxe1", 2)->device == "rxe0");
  CHECK(parse_selection("rxe0::3", 0)->gid_index == 3);
  for (const char* malformed : {":1", "a:b", "a:1:x", "a:1:2:3", "a:300", "a,,b"}) {
    CAPTURE(malformed);
    CHECK(!parse_selection(malformed, 1));
  }
}

}  // namespace verbs_test
