// Arguments and results of calls as bytes: there and back, and bytes that are cut off or made up.
#include "runtime/core/wire.hpp"

#include <doctest/doctest.h>

#include <ostream>
#include <random>

#include "runtime/core/error.hpp"
#include "tests/seeds.hpp"

namespace wire_test {

using namespace coracle;
using namespace coracle::internals;

namespace {
using Nested = std::vector<std::pair<std::string, std::vector<int>>>;
}

TEST_CASE("wire: values come back as they were") {
  WireWriter writer;
  writer.write(42);
  writer.write(std::string("hello"));
  writer.write(Nested{{"a", {1, 2, 3}}, {"", {}}, {std::string(1000, 'x'), {7}}});
  writer.write(std::tuple<std::string, double>("pi", 3.25));
  writer.write(std::optional<std::string>("maybe"));
  writer.write(std::optional<std::string>());
  const auto bytes = writer.take();
  WireReader reader(bytes);
  CHECK(reader.read<int>() == 42);
  CHECK(reader.read<std::string>() == "hello");
  const auto nested = reader.read<Nested>();
  REQUIRE(nested.size() == 3);
  CHECK(nested[0].second == std::vector<int>{1, 2, 3});
  CHECK(nested[2].first.size() == 1000);
  const auto tuple = reader.read<std::tuple<std::string, double>>();
  CHECK(std::get<1>(tuple) == 3.25);
  CHECK(reader.read<std::optional<std::string>>() == "maybe");
  CHECK_FALSE(reader.read<std::optional<std::string>>().has_value());
  CHECK_THROWS_AS(reader.read<char>(), Error);
}

TEST_CASE("wire: random and cut-off bytes give an error or a value, never a crash, for thousands of seeds") {
  WireWriter writer;
  writer.write(Nested{{"abc", {1, 2, 3}}, {"de", {4}}});
  const auto good = writer.take();
  const test::Seeds seeds("CORACLE_WIRE_SEEDS", 5000);
  for (const std::uint64_t seed : seeds) {
    INFO(seeds.repeat(seed));
    std::mt19937_64 random(seed);
    auto bytes = good;
    bytes.resize(random() % (bytes.size() + 1));
    for (std::uint64_t i = 0; i < seed % 4 && !bytes.empty(); ++i)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    WireReader reader(bytes);
    try {
      const auto nested = reader.read<Nested>();
      CHECK(nested.size() <= bytes.size());
    } catch (const Error& error) {
      CHECK(error.code() == Errc::bad_input);
    }
  }
}

}  // namespace wire_test
