// What launchers say to each other: comes back as it was sent, and whatever else comes is refused.
#include "runtime/launch/control_frames.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "runtime/core/error.hpp"
#include "runtime/job/directory.hpp"
#include "runtime/launch/interfaces.hpp"
#include "tests/launch/control_frames_input.hpp"

namespace coracle::internals::control_frames_test {

TEST_CASE("control frames: a description comes back as it was sent") {
  NodeDescription sent;
  sent.options.shape.placement = Placement::process;
  sent.options.shape.size = 7;
  sent.options.shape.nodes = 3;
  sent.options.shape.segment_bytes = 12345678;
  sent.options.shape.network.silence_limit_ns = 3'000'000'000;
  sent.options.shape.network.survive = true;
  sent.options.shape.key.bytes[3] = 9;
  sent.options.ranks_per_node = {1, 2, 4};
  sent.options.programs = {{"./app", {"", "-x"}, 5, {"NAME=two words"}, "there"}, {"./other", {}, 2, {}, ""}};
  sent.options.binding = Binding::none;
  sent.options.interface = "eth0";
  sent.options.label = true;
  sent.options.output = "log.%r";
  sent.options.input = {InputReaders::Who::all, 3};
  sent.node = 2;
  const auto got = decode<NodeDescription>(encode(sent));
  CHECK(got.options.shape.placement == Placement::process);
  CHECK(got.options.shape.size == 7);
  CHECK(got.options.shape.segment_bytes == 12345678);
  CHECK(got.options.shape.network.silence_limit_ns == 3'000'000'000);
  CHECK(got.options.shape.network.survive);
  CHECK(same_key(got.options.shape.key, sent.options.shape.key));
  CHECK(got.options.ranks_per_node == sent.options.ranks_per_node);
  REQUIRE(got.options.programs.size() == 2);
  const ProgramPart& part = got.options.programs[0];
  CHECK(part.program == "./app");
  CHECK(part.arguments == sent.options.programs[0].arguments);
  CHECK(part.ranks == 5);
  CHECK(part.environment == sent.options.programs[0].environment);
  CHECK(part.directory == "there");
  CHECK(got.options.programs[1].program == "./other");
  CHECK(got.options.binding == Binding::none);
  CHECK(got.options.interface == "eth0");
  CHECK(got.options.label);
  CHECK(got.options.output == "log.%r");
  CHECK(got.options.input.who == InputReaders::Who::all);
  CHECK(got.options.input.rank == 3);
  CHECK(got.node == 2);
}

TEST_CASE("control frames: a node of another version is told so, before anything else is read") {
  std::vector<std::byte> bytes = encode(NodeDescription{});
  bytes.resize(4);
  bytes[0] ^= std::byte{0x80};
  try {
    decode<NodeDescription>(bytes);
    FAIL("it was accepted");
  } catch (const Error& error) {
    CHECK(error.code() == Errc::unsupported);
    CHECK(std::string(error.what()).find("another version") != std::string::npos);
  }
}

TEST_CASE("control frames: a shape whose nodes and ranks don't fit is refused") {
  NodeDescription description;
  description.options.shape.size = 4;
  description.options.programs = {{"./app", {}, 3, {}, ""}, {"./other", {}, 1, {}, ""}};
  description.options.shape.nodes = 2;
  description.node = 2;
  CHECK_THROWS_AS(decode<NodeDescription>(encode(description)), Error);
  description.node = 1;
  CHECK_NOTHROW(decode<NodeDescription>(encode(description)));
  description.options.ranks_per_node = {4, 0xffffffff};
  CHECK_THROWS_AS(decode<NodeDescription>(encode(description)), Error);
  description.options.ranks_per_node.clear();
  description.options.programs[1].ranks = 2;
  CHECK_THROWS_AS(decode<NodeDescription>(encode(description)), Error);
}

TEST_CASE("control frames: what a shell says before the launcher is quoted") {
  FrameParser parser;
  const std::string text = "Welcome to hostb!\nLast login: today\n";
  parser.feed(std::as_bytes(std::span(text)));
  try {
    parser.next();
    FAIL("it was taken for a frame");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("'Welcome to hostb!'") != std::string::npos);
  }
}

TEST_CASE("control frames: frames come whole however the stream is cut") {
  const std::vector<std::byte> bytes = test::control_stream_bytes();
  std::size_t whole = 0;
  FrameParser at_once;
  at_once.feed(bytes);
  while (at_once.next()) ++whole;
  CHECK(whole == 15);
  FrameParser byte_by_byte;
  std::size_t pieces = 0;
  for (const std::byte& byte : bytes) {
    byte_by_byte.feed({&byte, 1});
    while (byte_by_byte.next()) ++pieces;
  }
  CHECK(pieces == whole);
}

TEST_CASE("control frames: too large a frame is refused when its header has come") {
  std::vector<std::byte> bytes = test::control_stream_bytes();
  const std::uint32_t length = FrameParser::kPayloadMax + 1;
  std::memcpy(bytes.data() + FrameParser::kPrelude.size(), &length, sizeof length);
  CHECK_FALSE(test::read_control_stream(bytes));
}

TEST_CASE("control frames: changed and cut streams are read or refused, and nothing else") {
  const std::vector<std::byte> valid = test::control_stream_bytes();
  CHECK(test::read_control_stream(valid));
  std::mt19937_64 random(20240607);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    CAPTURE(round);
    std::vector<std::byte> bytes = valid;
    for (std::uint64_t i = 0; i <= random() % 3; ++i) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    refused += test::read_control_stream(bytes) ? 0 : 1;
  }
  CHECK(refused > 1000);
}

TEST_CASE("addresses: text and back, and what is none") {
  for (const char* text : {"10.77.0.1", "fe80::1", "2001:db8::2"}) CHECK(to_string(parse_address(text)) == text);
  for (const char* text : {"", "10.77.0", "hostb", "1.2.3.4.5", "::g"})
    CHECK(parse_address(text).family == NodeAddress::Family::none);
  CHECK_THROWS_AS(machine_address("no-such-interface"), Error);
  CHECK_THROWS_AS(machine_address("127.0.0.0/33"), Error);
  CHECK(to_string(machine_address("127.0.0.0/8")) == "127.0.0.1");
  CHECK(to_string(source_towards(parse_address("127.0.0.5"))) == "127.0.0.1");
}

}  // namespace coracle::internals::control_frames_test
