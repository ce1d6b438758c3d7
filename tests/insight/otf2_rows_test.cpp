// What OTF2 wants of a location, for spans as set_lanes() gives them, and as it does where there are too many.
#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "apps/coracle/otf2/rank_rows.hpp"
#include "runtime/insight/trace_lanes.hpp"

using namespace coracle::internals;

namespace {

TraceSpan span_of(std::uint16_t kind, std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t task = 1) {
  TraceSpan span;
  span.begin_ns = begin_ns;
  span.end_ns = end_ns;
  span.begin.kind = kind;
  span.begin.task = task;
  return span;
}

/// Enters and leaves nest, all is left, and time does not go back. Gives the number of messages.
std::size_t check_row(const RankRow& row) {
  std::vector<const TraceSpan*> open;
  std::uint64_t last = 0;
  std::size_t messages = 0;
  for (const RowEvent& event : row.events) {
    CHECK(event.ns >= last);
    last = event.ns;
    if (event.what == RowEvent::What::message) {
      ++messages;
    } else if (event.what == RowEvent::What::enter) {
      open.push_back(event.span);
    } else {
      REQUIRE_FALSE(open.empty());
      CHECK(open.back() == event.span);
      open.pop_back();
    }
  }
  CHECK(open.empty());
  return messages;
}

}  // namespace

TEST_CASE("rows of a trace in OTF2: spans that begin or end together nest, and messages are in the first row") {
  std::vector<TraceSpan> spans{span_of(CORACLE_SPAN_BEGIN, 10, 30), span_of(CORACLE_WAIT_BEGIN, 10, 20),
                               span_of(CORACLE_SEND_BEGIN, 12, 40), span_of(CORACLE_RECEIVE_BEGIN, 20, 41),
                               span_of(CORACLE_WAIT_BEGIN, 20, 30)};
  set_lanes(spans);
  const std::vector<RankRow> rows = rows_of(spans);
  REQUIRE(rows.size() == 3);  // tasks, and two of messages, since these overlap
  CHECK(rows[0].events.size() == 3 * 2 + 2);
  CHECK(check_row(rows[0]) == 2);
  CHECK(rows[0].events[0].span == spans.data());
  CHECK(rows[0].events[2].span == &spans[2]);
  CHECK(rows[0].events[2].ns == 12);
  for (std::size_t i = 1; i < rows.size(); ++i) CHECK(check_row(rows[i]) == 0);
}

TEST_CASE("rows of a trace in OTF2: a rank that has done nothing has its first row") {
  const std::vector<RankRow> rows = rows_of({});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].events.empty());
}

TEST_CASE("rows of a trace in OTF2: spans of one row that overlap still nest, for many seeds") {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::vector<TraceSpan> spans;
    std::uint64_t begin = 0;
    for (int i = 0; i < 40; ++i) {
      begin += random() % 4;
      spans.push_back(span_of(CORACLE_OPERATION_BEGIN, begin, begin + 1 + random() % 20));
    }
    const bool has_lanes = seed % 2 == 0;
    if (has_lanes) set_lanes(spans);
    std::size_t events = 0;
    for (const RankRow& row : rows_of(spans)) {
      check_row(row);
      events += row.events.size();
    }
    CHECK(events == 2 * spans.size());
  }
}
