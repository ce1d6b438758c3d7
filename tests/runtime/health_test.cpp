// The datagrams of health: what travels, and what is refused.
#include "runtime/rank/health.hpp"

#include <doctest/doctest.h>

#include <concepts>
#include <cstring>
#include <random>
#include <vector>

#include "runtime/job/directory.hpp"

namespace health_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

JobKey counting_key() {
  JobKey key;
  for (std::size_t i = 0; i < key.bytes.size(); ++i) key.bytes[i] = static_cast<std::uint8_t>(i);
  return key;
}

}  // namespace

TEST_CASE("key tags are those of SipHash-2-4's authors") {
  std::vector<std::byte> message;
  CHECK(key_tag(message, counting_key()) == 0x726fdb47dd0e0e31);
  for (int i = 0; i < 15; ++i) message.push_back(static_cast<std::byte>(i));
  CHECK(key_tag(message, counting_key()) == 0xa129ca6149be45e5);
}

TEST_CASE("keys and tags are the same when every bit is, and keys can't be compared in another way") {
  static_assert(!std::equality_comparable<JobKey>);
  const JobKey key = counting_key();
  CHECK(same_key(key, key));
  for (std::size_t bit = 0; bit < 128; ++bit) {
    JobKey other = key;
    other.bytes[bit / 8] = static_cast<std::uint8_t>(other.bytes[bit / 8] ^ (1U << (bit % 8)));
    CHECK_FALSE(same_key(key, other));
    CHECK_FALSE(same_key(other, key));
  }
  for (std::size_t bit = 0; bit < 64; ++bit)
    CHECK_FALSE(same_tag(0x726fdb47dd0e0e31, 0x726fdb47dd0e0e31 ^ 1ULL << bit));
  CHECK(same_tag(0x726fdb47dd0e0e31, 0x726fdb47dd0e0e31));
}

TEST_CASE("health: pings and answers come back as they were sent") {
  const JobKey key = counting_key();
  const auto ping = decode_health_ping(encode(HealthPing{70000, 0x123456789abcdef0}, key), key);
  REQUIRE(ping);
  CHECK(ping->rank == 70000);
  CHECK(ping->nonce == 0x123456789abcdef0);
  const auto answer =
      decode_health_answer(encode(HealthAnswer{3, 7, RankHealth::ended, 128 + 9, 1'000'000'000'000}, key), key);
  REQUIRE(answer);
  CHECK(answer->rank == 3);
  CHECK(answer->nonce == 7);
  CHECK(answer->health == RankHealth::ended);
  CHECK(answer->exit_status == 137);
  CHECK(answer->since_ms == 1'000'000'000'000);
}

TEST_CASE("health: another key, another kind, another length and any changed bit are refused") {
  const JobKey key = counting_key();
  JobKey other = key;
  other.bytes[15] ^= 1;
  const auto ping = encode(HealthPing{1, 2}, key);
  const auto answer = encode(HealthAnswer{1, 2, RankHealth::stopped, 0, 5}, key);
  CHECK_FALSE(decode_health_ping(ping, other));
  CHECK_FALSE(decode_health_answer(answer, other));
  CHECK_FALSE(decode_health_answer(ping, key));
  CHECK_FALSE(decode_health_ping(answer, key));
  for (std::size_t bytes = 0; bytes < answer.size(); ++bytes) {
    CHECK_FALSE(decode_health_answer(std::span(answer).first(bytes), key));
    CHECK_FALSE(decode_health_ping(std::span(answer).first(bytes), key));
  }
  for (std::size_t bit = 0; bit < answer.size() * 8; ++bit) {
    auto changed = answer;
    changed[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    CHECK_FALSE(decode_health_answer(changed, key));
  }
}

TEST_CASE("health: arbitrary bytes are no datagram") {
  std::mt19937_64 random(4711);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bytes(random() % 64);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    CHECK_FALSE(decode_health_ping(bytes, counting_key()));
    CHECK_FALSE(decode_health_answer(bytes, counting_key()));
  }
}

}  // namespace health_test
