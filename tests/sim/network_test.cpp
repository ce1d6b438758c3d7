// Network models: what is read, and what is refused with file and line.
#include "transports/sim/network.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "runtime/core/error.hpp"
#include "tests/places.hpp"
#include "tests/seeds.hpp"
#include "tests/sim/mutate.hpp"
#include "transports/sim/schedule.hpp"

namespace network_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;

namespace {

/// The message, or "" when the text is a good model.
std::string refusal(std::string_view text) {
  try {
    static_cast<void>(parse_network(text, "net.txt"));
    return "";
  } catch (const Error& error) {
    CHECK(error.code() == Errc::bad_input);
    return error.what();
  }
}

bool refused(std::string_view text, const std::string& begin, const char* remedy) {
  const std::string message = refusal(text);
  CAPTURE(message);
  const bool good = message.rfind(begin, 0) == 0 && message.find(remedy) != std::string::npos;
  CHECK(good);
  return good;
}

std::string example() {
  std::ifstream file(test::in_source("networks/ddr-infiniband.txt"));
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a network model is read, key by key and in any unit") {
  const NetworkModel model = parse_network(
      "# a comment\n\n"
      "inside.latency = 0.25us # another\r\n"
      "  between.latency=3500 ns\n"
      "between.overhead_send = 1 ms\n"
      "between.bandwidth = 800 MB/s\n"
      "jitter = 2 s\n"
      "reorder = no\n"
      "board = 32-32\n"
      "eager = 4 KiB\n"
      "inbox = 1 MB\n"
      "step = 1 ns",
      "net.txt");
  CHECK(model.inside.latency_ns == 250);
  CHECK(model.between.latency_ns == 3500);
  CHECK(model.between.overhead_send_ns == 1'000'000);
  CHECK(model.between.bandwidth_bytes_per_ns == doctest::Approx(0.8));
  CHECK(model.jitter_ns == 2'000'000'000);
  CHECK_FALSE(model.reorder);
  CHECK(model.board.tags == std::array<unsigned, 4>{32, 32, 0, 0});
  CHECK(model.eager_bytes_max == 4096);
  CHECK(model.inbox_bytes == 1'000'000);
  CHECK(model.step_ns == 1);
  CHECK(model.inside.gap_ns == NetworkModel().inside.gap_ns);  // not given: as built in
}

TEST_CASE("the example network has every key, and says what is built in") {
  const NetworkModel model = parse_network(example(), "example");
  const NetworkModel built_in = read_network("");
  CHECK(model.inside.latency_ns == built_in.inside.latency_ns);
  CHECK(model.inside.overhead_send_ns == built_in.inside.overhead_send_ns);
  CHECK(model.inside.overhead_receive_ns == built_in.inside.overhead_receive_ns);
  CHECK(model.inside.gap_ns == built_in.inside.gap_ns);
  CHECK(model.inside.bandwidth_bytes_per_ns == built_in.inside.bandwidth_bytes_per_ns);
  CHECK(model.between.latency_ns == built_in.between.latency_ns);
  CHECK(model.between.overhead_send_ns == built_in.between.overhead_send_ns);
  CHECK(model.between.overhead_receive_ns == built_in.between.overhead_receive_ns);
  CHECK(model.between.gap_ns == built_in.between.gap_ns);
  CHECK(model.between.bandwidth_bytes_per_ns == built_in.between.bandwidth_bytes_per_ns);
  CHECK(model.jitter_ns == built_in.jitter_ns);
  CHECK(model.reorder == built_in.reorder);
  CHECK(model.board.tags == built_in.board.tags);
  CHECK(model.step_ns == built_in.step_ns);
  CHECK(model.eager_bytes_max == built_in.eager_bytes_max);
  CHECK(model.inbox_bytes == built_in.inbox_bytes);
}

TEST_CASE("what is wrong in a network model is told with file, line and remedy") {
  refused("jitter = 1 us\nlatency = 3 us\n", "net.txt:2: unknown key 'latency'", "between.latency");
  refused("jitter 1 us", "net.txt:1: 'jitter 1 us' is not of the form", "key = value unit");
  refused("\n\njitter = fast", "net.txt:3: jitter = 'fast'", "3.5 us");
  refused("jitter = 3", "net.txt:1: jitter = '3'", "ns, us, ms, s");
  refused("jitter = 3 GB/s", "net.txt:1: jitter = '3 GB/s'", "ns, us, ms, s");
  refused("jitter = -1 us", "net.txt:1: jitter = '-1 us'", "must be from 0");
  refused("jitter = nan us", "net.txt:1: jitter", "3.5 us");
  refused("jitter = 1e999 us", "net.txt:1: jitter", "3.5 us");
  refused("jitter = 2e4 s", "net.txt:1: jitter", "must be from 0");
  refused("inside.bandwidth = 0 GB/s", "net.txt:1: inside.bandwidth", "must be from");
  refused("reorder = perhaps", "net.txt:1: reorder = 'perhaps'", "yes or no");
  refused("board = 16-16", "net.txt:1: board = '16-16'", "32-16-8-8");
  refused("jitter = 1 us\njitter = 2 us", "net.txt:2: jitter is given in line 1 already", "keep one");
  refused("# fast\nstep = 0 ns", "net.txt:2: step", "at least 1 ns");
  refused("eager = 1 MiB", "net.txt:1: an inbox of 65536 bytes has no room", "1048640 B");
  refused("inbox = 100 B\n\n", "net.txt:1: an inbox of 100 bytes has no room", "eager smaller");
  refused(std::string(1, '\0') + "\x80\xff= 1", "net.txt:1: unknown key '?\?\?'", "jitter");
}

TEST_CASE("a network file that can't be read is told by name") {
  CHECK_THROWS_WITH_AS(static_cast<void>(read_network("/nowhere/net.txt")),
                       doctest::Contains("can't open the network model /nowhere/net.txt"), Error);
  CHECK_THROWS_AS(static_cast<void>(read_network("/")), Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(read_network("/dev/zero")), doctest::Contains("/dev/zero: too large"), Error);
}

TEST_CASE("mutated network models are read or refused with a line, for thousands of seeds") {
  const std::string good = example();
  const std::string_view letters = "=#.0123456789eE+-nusGKMB/ \t\n\r\"x";
  const test::Seeds seeds("CORACLE_NETWORK_MODEL_SEEDS", 5000);
  std::uint64_t read = 0;
  for (const std::uint64_t seed : seeds) {
    INFO(seeds.repeat(seed));
    Random random(seed);
    const std::string message = refusal(test::mutate(good, random, letters));
    if (message.empty())
      ++read;
    else
      REQUIRE(message.rfind("net.txt:", 0) == 0);
  }
  if (!seeds.are_many()) return;
  CHECK(read > seeds.size() / 10);  // comments are most of the file
  CHECK(read < seeds.size() - seeds.size() / 10);
}

}  // namespace network_test
