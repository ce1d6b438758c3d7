// The summary of rows is the same however the rows are dealt out; the page and the JSON say what it holds.
#include "apps/asp/summary.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "apps/asp/graph.hpp"
#include "apps/asp/user_interface.hpp"

namespace coracle::asp::summary_test {

namespace {

// A star: all depend on vertex 0, which depends on vertex 4 only; 3 is on its own.
const std::vector<std::vector<float>> kStar = {
    {0, kUnreachable, kUnreachable, kUnreachable, 2},
    {1, 0, kUnreachable, kUnreachable, 3},
    {1, kUnreachable, 0, kUnreachable, 3},
    {kUnreachable, kUnreachable, kUnreachable, 0, kUnreachable},
    {kUnreachable, kUnreachable, kUnreachable, kUnreachable, 0},
};

Summary summary_of(std::initializer_list<Vertex> sources) {
  Summary summary(kStar.size());
  for (const Vertex source : sources) summary.add_row(source, kStar[source]);
  return summary;
}

Report star_report() {
  Report report;
  report.graph = "star";
  report.vertices = 1234;
  report.arcs = 1;
  report.pairs = 5;
  report.diameter = 3;
  report.diameter_source = "one";
  report.diameter_target = "four";
  report.central = {{"four", 0.28, 3}, {"zero", 0.5, 2}};
  report.placement = "thread";
  return report;
}

}  // namespace

TEST_CASE("summary: pairs, mean, diameter and its ends of a star") {
  const Summary summary = summary_of({0, 1, 2, 3, 4});
  CHECK(summary.pairs() == 5);
  CHECK(summary.mean_distance() == doctest::Approx(2.0));
  CHECK(summary.diameter() == 3);
  CHECK(summary.diameter_source() == 1);
  CHECK(summary.diameter_target() == 4);
}

TEST_CASE("summary: closeness weighs how many come against how far they come") {
  const Summary summary = summary_of({0, 1, 2, 3, 4});
  CHECK(summary.closeness(0) == doctest::Approx(4.0 / (4 * 2)));
  CHECK(summary.closeness(4) == doctest::Approx(9.0 / (4 * 8)));
  CHECK(summary.closeness(3) == 0);
  const std::vector<Central> central = summary.most_central(3);
  REQUIRE(central.size() == 3);
  CHECK(central[0].vertex == 0);
  CHECK(central[0].reached_by == 2);
  CHECK(central[1].vertex == 4);
  CHECK(central[2].vertex == 1);
  CHECK(summary.most_central(99).size() == 5);
}

TEST_CASE("summary: any dealing of rows to ranks merges to the same, through pack and unpack") {
  const std::vector<double> whole = summary_of({0, 1, 2, 3, 4}).pack();
  CHECK(whole.size() == Summary::packed_size(5));
  for (const auto& [first, second] :
       {std::pair(summary_of({0, 1}), summary_of({2, 3, 4})), std::pair(summary_of({4, 2}), summary_of({3, 0, 1})),
        std::pair(summary_of({}), summary_of({2, 1, 0, 4, 3}))}) {
    Summary forward = Summary::unpack(first.pack());
    forward.merge(Summary::unpack(second.pack()));
    Summary backward = second;
    backward.merge(first);
    CHECK(backward.pack() == forward.pack());
    CHECK(forward.pairs() == 5);
    CHECK(forward.diameter() == 3);
  }
}

TEST_CASE("summary: no rows, or one vertex alone, have no distances") {
  const std::vector<float> alone = {0};
  Summary summary(1);
  summary.add_row(0, alone);
  CHECK(summary.pairs() == 0);
  CHECK(summary.mean_distance() == 0);
  CHECK(summary.closeness(0) == 0);
}

TEST_CASE("summary: distances of zero make a vertex infinitely close") {
  const std::vector<float> row = {0, 0};
  Summary summary(2);
  summary.add_row(0, row);
  CHECK(summary.closeness(1) == std::numeric_limits<double>::infinity());
  CHECK(summary.most_central(1)[0].vertex == 1);
}

TEST_CASE("report: plain text has neither escapes nor Unicode") {
  const std::string page = to_text(star_report(), {});
  for (const char c : page) CHECK((c == '\n' || (c >= 0x20 && c < 0x7f)));
  CHECK(page.find("1,234 vertices, 1 arc\n") != std::string::npos);
  CHECK(page.find("one -> four") != std::string::npos);
}

TEST_CASE("report: a terminal gets bold heads and bars") {
  const std::string page = to_text(star_report(), {.has_colours = true, .has_unicode = true});
  CHECK(page.find("\x1b[1m") != std::string::npos);
  CHECK(page.find("█") != std::string::npos);
  CHECK(page.find("one → four") != std::string::npos);
}

TEST_CASE("report: JSON holds the figures, and survives names that are no UTF-8 and closeness without bound") {
  Report report = star_report();
  report.central.push_back({"\xff", std::numeric_limits<double>::infinity(), 1});
  const nlohmann::json read = nlohmann::json::parse(to_json(report));
  CHECK(read["graph"]["vertices"] == 1234);
  CHECK(read["diameter"]["to"] == "four");
  CHECK(read["central"].size() == 3);
  CHECK(read["central"][2]["closeness"] == "infinity");
}

TEST_CASE("report: a spread is least, mean and greatest") {
  const Spread spread = spread_of({3, 1, 2});
  CHECK(spread.min == 1);
  CHECK(spread.mean == 2);
  CHECK(spread.max == 3);
}

}  // namespace coracle::asp::summary_test
