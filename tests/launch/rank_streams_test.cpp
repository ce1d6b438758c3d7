// Lines with labels, names of files, and which rank runs what and where.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <span>
#include <string>

#include "runtime/core/error.hpp"
#include "runtime/launch/control_stream.hpp"
#include "runtime/launch/job_options.hpp"
#include "runtime/launch/labelled_output.hpp"
#include "runtime/launch/rank_files.hpp"

namespace coracle::internals::rank_streams_test {

TEST_CASE("labels: lines come whole, however what a rank writes is cut") {
  const std::string text = "first\n\nthird line\nno end";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    CAPTURE(cut);
    LineLabeller lines(12);
    std::string got = lines.take(text.substr(0, cut));
    CHECK((got.empty() || got.ends_with('\n')));
    got += lines.take(text.substr(cut));
    CHECK(got == "[12] first\n[12] \n[12] third line\n");
    CHECK(lines.rest() == "[12] no end\n");
    CHECK(lines.rest().empty());
  }
}

TEST_CASE("labels: a line without an end is cut when it has become too long, and nothing of it is lost") {
  LineLabeller lines(0);
  const std::string half(LineLabeller::kLineMax / 2 + 1, 'x');
  CHECK(lines.take(half).empty());
  const std::string first = lines.take(half);
  CHECK(first == "[0] " + std::string(LineLabeller::kLineMax, 'x') + "\n");
  CHECK(lines.take("y\n") == "[0] xxy\n");
  // As long as may be, with its end.
  const std::string longest(LineLabeller::kLineMax, 'z');
  CHECK(lines.take(longest.substr(1) + "\n") == "[0] " + longest.substr(1) + "\n");
  CHECK(lines.rest().empty());
}

TEST_CASE("output: a full pipe makes it wait, in order, and a reader that has gone is noticed") {
  catch_broken_pipes();
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0);
  OutputQueue queue(ends[1]);
  std::string written;
  std::string got;
  const auto read_all = [&got, &ends] {
    std::array<char, 4096> buffer;
    for (ssize_t bytes = 0; (bytes = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
      got.append(buffer.data(), static_cast<std::size_t>(bytes));
  };
  for (std::size_t i = 0; !queue.full(); ++i) {
    const std::string line = std::to_string(i) + std::string(i % 6000, 'x') + "\n";
    queue.write(std::as_bytes(std::span(line)));
    written += line;
  }
  read_all();
  CHECK(got.size() < written.size());
  while (got.size() < written.size()) {
    queue.write({});
    read_all();
  }
  CHECK(got == written);
  CHECK(queue.is_read());
  ::close(ends[0]);
  const std::string last = "last\n";
  queue.write(std::as_bytes(std::span(last)));
  CHECK_FALSE(queue.is_read());
  ::close(ends[1]);
}

TEST_CASE("files of output: rank, node and percent are filled in, and nothing else is known") {
  CHECK(output_file("log", 3, 1) == "log");
  CHECK(output_file("%n/%r.%r%%", 13, 2) == "2/13.13%");
  CHECK_THROWS_AS(output_file("log.%h", 0, 0), Error);
  CHECK_THROWS_AS(output_file("log.%", 0, 0), Error);
}

TEST_CASE("programs: ranks are counted through them, and must be all that the job has") {
  JobOptions options;
  options.shape.size = 6;
  options.programs = {{"./a", {}, 1, {}, ""}, {"./b", {}, 3, {}, ""}, {"./c", {}, 2, {}, ""}};
  check_programs(options);
  std::string programs;
  for (std::uint32_t rank = 0; rank < 6; ++rank) programs += std::to_string(program_of(options, rank));
  CHECK(programs == "011122");
  CHECK(program_names(options) == "./a, ./b and ./c");
  options.programs[1].ranks = 4;
  CHECK_THROWS_AS(check_programs(options), Error);
  options.programs[1].ranks = 0;
  options.shape.size = 3;
  CHECK_THROWS_AS(check_programs(options), Error);
}

TEST_CASE("nodes: which of them a rank is on, split evenly or as is said") {
  JobOptions options;
  options.shape.size = 5;
  options.shape.nodes = 2;
  std::string nodes;
  for (std::uint32_t rank = 0; rank < 5; ++rank) nodes += std::to_string(node_of(options, rank));
  options.ranks_per_node = {1, 4};
  nodes += " ";
  for (std::uint32_t rank = 0; rank < 5; ++rank) nodes += std::to_string(node_of(options, rank));
  CHECK(nodes == "00011 01111");
}

}  // namespace coracle::internals::rank_streams_test
