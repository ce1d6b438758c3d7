// Frames: every seed is taken as it should be, and thousands of mutations of them do no harm.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "tests/places.hpp"
#include "tests/seeds.hpp"
#include "tests/transports/frame_input.hpp"
#include "tests/transports/frame_seeds.hpp"

namespace frame_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::tcp;

namespace {

constexpr std::uint64_t kInteresting[] = {0, 1, 0x7f, 0xff, 0xffff, 1ULL << 32, 1ULL << 40, 1ULL << 63, ~0ULL};

std::string mutate(std::string text, std::mt19937_64& random) {
  for (auto rounds = 1 + random() % 4; rounds > 0 && text.size() > 1; --rounds) {
    const std::size_t place = 1 + random() % (text.size() - 1);
    switch (random() % 5) {
      case 0:
        text[place] = static_cast<char>(random());
        break;
      case 1:
        text.resize(place);
        break;
      case 2:
        text.insert(place, text.substr(1 + random() % (text.size() - 1), random() % 64));
        break;
      case 3: {
        const std::uint64_t value = kInteresting[random() % std::size(kInteresting)];
        if (place + sizeof value <= text.size()) std::memcpy(text.data() + place, &value, sizeof value);
        break;
      }
      default:
        text[0] = static_cast<char>(random());
    }
  }
  return text;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// Why a responder that has been greeted turns `frame` away; "" when it takes it.
std::string refusal(const std::string& frame) {
  test::FakeRank rank(64 * 1024);
  Responder responder(rank, rank, frame_check(rank.key));
  responder.received(bytes_of(test::frame_bytes(FrameType::hello, {kFrameMagic, kFrameVersion, 0, 0, 1, 0, 1}, "")));
  test::feed(responder, bytes_of(frame), 4096);
  const std::string why = responder.broken() ? responder.why() : "";
  responder.outbox().drop({});
  return why;
}

}  // namespace

TEST_CASE("frames: thousands of mutated streams never harm either end") {
  const auto frames = test::frame_seeds();
  const test::Seeds seeds("CORACLE_FRAME_SEEDS", 20'000);
  for (const std::uint64_t seed : seeds) {
    INFO(seeds.repeat(seed));
    std::mt19937_64 random(seed);
    test::take_frame_input(bytes_of(mutate(frames[random() % frames.size()], random)));
  }
}

TEST_CASE("frames: what a fuzzer has found worth keeping does no harm") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::in_source("tests/transports/frame_corpus"))) {
    CAPTURE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(file), {}};
    test::take_frame_input(bytes_of(input));
    ++files;
  }
  CHECK(files > 50);
}

TEST_CASE("frames: what is malformed ends the connection, with the reason") {
  using test::frame_bytes;
  const auto handler = static_cast<std::uint64_t>(HandlerId::of(test::no_handler).to_wire());
  CHECK(refusal(frame_bytes(FrameType::put, {0, 0}, "12345678")) == "");
  CHECK(refusal(frame_bytes(FrameType::put, {0, 0, 8}, "")) == "it sent a put with half a signal");
  CHECK(refusal(frame_bytes(FrameType::put, {0}, "")) == "it sent a frame of type 2 with 1 words");
  CHECK(refusal(frame_bytes(FrameType::add, {0, 0, 3, 1}, "")) == "it sent an atomic of 3 bytes");
  CHECK(refusal(frame_bytes(FrameType::message, {handler}, "x")) == "");
  CHECK(refusal(frame_bytes(FrameType::message, {~0ULL}, "x")) ==
        "it sent a message whose handler is no function of this program");
  CHECK(refusal(frame_bytes(FrameType::done, {1}, "")).find("for the other end") != std::string::npos);
  CHECK(refusal(frame_bytes(FrameType::hello, {0, 0, 0, 0, 0, 0, 0}, "")) == "it said hello twice");
  std::string stranger = frame_bytes(FrameType::put, {0, 0}, "12345678");
  stranger[0] = static_cast<char>(stranger[0] + 1);
  CHECK(refusal(stranger) == "it does not carry the key of this job");
  std::string huge = frame_bytes(FrameType::message, {handler}, "x");
  huge[15] = '\x7f';
  CHECK(refusal(huge).find("bytes of payload; at most") != std::string::npos);
}

TEST_CASE("frames: places outside the memory are answered with an error, and the connection goes on") {
  test::FakeRank rank(4096);
  Responder responder(rank, rank, frame_check(rank.key));
  Initiator initiator(rank, rank, {rank.key, 0, 1});
  std::vector<std::byte> data(5000, std::byte{1});
  Operation put(Operation::Verb::put, "put", 1);
  put.local = data.data();
  put.bytes = data.size();
  Operation get(Operation::Verb::get, "get", 1);
  get.local = data.data();
  get.bytes = 8;
  get.remote.offset = 4089;
  Operation good(Operation::Verb::put, "put", 1);
  good.local = data.data();
  good.bytes = 4096;
  for (Operation* operation : {&put, &get, &good}) {
    operation->remote.segment = 0;
    if (operation != &get) operation->remote.offset = 0;
    initiator.submit(*operation);
  }
  for (int round = 0; round < 4; ++round) {
    for (auto [from, to] :
         {std::pair<tcp::ConnectionEnd*, tcp::ConnectionEnd*>{&initiator, &responder}, {&responder, &initiator}}) {
      std::array<iovec, 8> vectors;
      const auto gathered = from->outbox().gather(vectors, 1 << 20);
      std::vector<std::byte> bytes;
      for (std::size_t i = 0; i < gathered.count; ++i) {
        const auto* start = static_cast<const std::byte*>(vectors[i].iov_base);
        bytes.insert(bytes.end(), start, start + vectors[i].iov_len);
      }
      from->outbox().sent(bytes.size());
      from->outbox().release(bytes.size());
      test::feed(*to, bytes, 100);
    }
  }
  CHECK(put.outcome() == Errc::out_of_segment);
  CHECK(get.outcome() == Errc::out_of_segment);
  CHECK(good.finished());
  CHECK_FALSE(good.outcome());
  CHECK(rank.memory[4095] == std::byte{1});
  CHECK_FALSE(responder.broken());
}

}  // namespace frame_test
