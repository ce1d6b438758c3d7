// Encoded layouts come back as they were, and what is no layout is refused.
#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include "runtime/core/error.hpp"
#include "runtime/layout/layout.hpp"
#include "tests/layout/encoding_input.hpp"
#include "tests/layout/random_layout.hpp"
#include "tests/sanitized.hpp"

namespace coracle::internals::encoding_test {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

std::string refusal_of(const std::vector<std::byte>& bytes) {
  try {
    Layout::decode(bytes);
  } catch (const Error& error) {
    CHECK(error.code() == Errc::bad_input);
    return error.what();
  }
  return "it was accepted";
}

void check_refused(std::initializer_list<int> values, const char* why) {
  const std::string refusal = refusal_of(bytes_of(values));
  INFO(refusal);
  CHECK(refusal.find(why) != std::string::npos);
}

/// A layout of every kind of node.
Layout of_all_kinds() {
  const Layout element = Layout::of<double>();
  return Layout::structure({{1, 0, element.vector(5, 2, 4)},
                            {1, 4000, element.indexed_block(1, {1, 9, 4, 70, -3})},
                            {1, 8000, element.indexed({1, 5, 2}, {4, 80, -20})},
                            {3, 20000, element.vector(3, 1, 2).resized(0, 400)}});
}

}  // namespace

TEST_CASE("encoded layouts: thousands of random ones come back equal") {
  const std::uint64_t seed = test::chosen_seed();
  std::printf("encoded layouts: CORACLE_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  test::Dice dice(seed);
  for (int round = 0; round < (test::kSanitized ? 500 : 5000); ++round) {
    const Layout layout = test::random_layout(dice, 4).layout;
    INFO("seed ", seed, " round ", round, ": ", layout.describe());
    const std::vector<std::byte> bytes = layout.encode();
    REQUIRE(Layout::decode(bytes) == layout);
    REQUIRE(test::read_layout(bytes));
  }
}

TEST_CASE("encoded layouts: shared parts are written once") {
  Layout layout = Layout::of<double>();
  for (int i = 0; i < 12; ++i)
    layout = Layout::structure({{1, 0, layout.hvector(3, 1, layout.extent() + 8)}, {1, 16 * layout.extent(), layout}});
  CHECK(layout.encode().size() < 1000);
  CHECK(Layout::decode(layout.encode()).block_count() == layout.block_count());
}

TEST_CASE("encoded layouts: lists take a byte or two for each entry") {
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < 10000; ++i) places.push_back(3 * i + i % 7 % 2);
  const Layout list = Layout::of<float>().indexed_block(1, places);
  CHECK(list.encode().size() < 11000);
}

TEST_CASE("encoded layouts: what is malformed is refused with the reason") {
  CHECK_NOTHROW(Layout::decode(bytes_of({1, 0, 0, 1, 0, 8})));
  check_refused({}, "ends too early");
  check_refused({2, 0, 0, 0}, "another version");
  check_refused({1, 0, 0, 1, 0}, "ends too early");
  check_refused({1, 0, 0, 1, 0, 8, 0}, "there is more behind it");
  check_refused({1, 2, 0, 0}, "bounds are of no known kind");
  check_refused({1, 0, 8, 0}, "no bytes have a place");
  check_refused({1, 0, 0, 1, 0, 0}, "a run has no bytes");
  check_refused({1, 0, 0, 1, 9, 1}, "no such kind of node");
  check_refused({1, 0, 0, 1, 0, 0x88, 0}, "more bytes than it needs");
  check_refused({1, 0, 0, 1, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2}, "more than 64 bits");
  check_refused({1, 0, 0, 1, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, "2^63 or more apart");
  check_refused({1, 0, 0, 1, 1, 1, 2, 16}, "refers to none before it");
  check_refused({1, 0, 0, 2, 0, 8, 1, 0, 2, 16}, "refers to none before it");
  check_refused({1, 0, 0, 2, 0, 8, 1, 1, 1, 16}, "count is out of range");
  check_refused({1, 0, 0, 2, 0, 8, 0, 8}, "nowhere used");
  check_refused({1, 0, 0, 2, 0, 8, 2, 1, 0x80, 0x80, 0x80, 4, 2}, "more entries than bytes");
  check_refused({1, 0, 0, 0x80, 0x80, 4}, "more nodes than bytes");
  check_refused({1, 0, 0, 1, 3, 2, 5, 9, 0}, "length of a block is out of range");
}

TEST_CASE("encoded layouts: nesting without end is refused") {
  std::vector<std::byte> bytes = bytes_of({1, 0, 0, 100, 0, 1});
  for (int i = 1; i < 100; ++i)
    for (const int value : {1, 1, 2, 0}) bytes.push_back(static_cast<std::byte>(value));  // twice, at the same place
  CHECK(refusal_of(bytes).find("nested too deep") != std::string::npos);
}

TEST_CASE("encoded layouts: changed and cut ones are read or refused, and nothing else") {
  const std::vector<std::byte> valid = of_all_kinds().encode();
  REQUIRE(Layout::decode(valid) == of_all_kinds());
  for (std::size_t size = 0; size < valid.size(); ++size)
    REQUIRE_FALSE(test::read_layout(std::span(valid).first(size)));
  test::Dice dice(20240607);
  int refused = 0;
  int read = 0;
  constexpr int kRounds = test::kSanitized ? 3000 : 20000;
  for (int round = 0; round < kRounds; ++round) {
    CAPTURE(round);
    std::vector<std::byte> bytes = valid;
    for (std::int64_t i = dice.between(1, 3); i > 0; --i)
      bytes[static_cast<std::size_t>(dice.between(0, static_cast<std::int64_t>(bytes.size()) - 1))] =
          static_cast<std::byte>(dice.between(0, 255));
    if (dice.one_in(4))
      bytes.resize(static_cast<std::size_t>(dice.between(0, static_cast<std::int64_t>(bytes.size()))));
    ++(test::read_layout(bytes) ? read : refused);
  }
  CHECK(refused > kRounds / 20);
  CHECK(read > kRounds / 20);
}

}  // namespace coracle::internals::encoding_test
