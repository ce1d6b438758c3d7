// Traces without a job: what a writer leaves, spans and lanes that come of it, and clocks.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "runtime/core/events.hpp"
#include "runtime/core/ticks.hpp"
#include "runtime/insight/chrome_trace.hpp"
#include "runtime/insight/clock_alignment.hpp"
#include "runtime/insight/trace_lanes.hpp"
#include "runtime/insight/trace_reader.hpp"
#include "runtime/insight/trace_spans.hpp"
#include "runtime/insight/trace_writer.hpp"
#include "runtime/launch/trace_parts.hpp"
#include "tests/seeds.hpp"

namespace trace_test {

namespace {

using namespace coracle::internals;

/// Memory for one rank's trace.
struct Room {
  explicit Room(std::size_t bytes = TraceMemory::kBytesMin) : words(bytes / 4096) {}
  TraceMemory memory() {
    return TraceMemory({reinterpret_cast<std::byte*>(words.data()), words.size() * sizeof(words[0])});
  }
  struct alignas(4096) Page {
    std::byte bytes[4096];
  };
  std::vector<Page> words;
};

coracle_event event_at(std::uint64_t ticks, coracle_event_kind kind, std::uint64_t id = 0, const char* name = nullptr) {
  coracle_event event{};
  event.ticks = ticks;
  event.kind = static_cast<std::uint16_t>(kind);
  event.peer = CORACLE_NOBODY;
  event.id = id;
  event.name = name;
  return event;
}

RankEvents events_of(const std::vector<coracle_event>& events, std::uint32_t rank = 0, std::uint32_t node = 0) {
  Room room(1 << 20);
  TraceWriter writer(room.memory());
  for (const coracle_event& event : events) writer.write(event);
  return read_trace(room.memory(), rank, node);
}

StoredEvent message_at(std::uint64_t ticks, coracle_event_kind kind, std::uint32_t peer, std::uint64_t number) {
  StoredEvent event{};
  event.ticks = ticks;
  event.kind = static_cast<std::uint16_t>(kind);
  event.peer = peer;
  event.number = number;
  return event;
}

}  // namespace

TEST_CASE("trace writer: events come out as they went in, with names and places as text") {
  const coracle_place place{"src/solve.cpp", "solve()", 42, 3};
  coracle_event span = event_at(7, CORACLE_SPAN_BEGIN, 5, "solve");
  span.place = &place;
  coracle_event send = event_at(9, CORACLE_SEND_BEGIN);
  send.peer = 3;
  send.number = 1;
  send.bytes = 80;
  send.tag = 0xffffffffffULL;
  send.team = 6;
  const RankEvents rank = events_of({span, send, event_at(11, CORACLE_SPAN_END, 5)}, 2, 1);
  REQUIRE(rank.events.size() == 3);
  CHECK(rank.rank == 2);
  CHECK(rank.node == 1);
  CHECK(rank.dropped == 0);
  CHECK(rank.text(rank.events[0].name()) == "solve");
  CHECK(rank.text(rank.events[0].file()) == "src/solve.cpp");
  CHECK(rank.events[0].line() == 42);
  CHECK(rank.events[1].tag == 0xffffffffffULL);
  CHECK(rank.events[1].place == 6);
  CHECK(rank.events[1].name() == 0);
  CHECK(rank.events[2].ticks == 11);
}

TEST_CASE("trace writer: what does not fit is counted, and what was written stays") {
  Room room;
  TraceWriter writer(room.memory());
  const std::uint64_t fit = room.memory().events().size();
  for (std::uint64_t i = 0; i < fit + 10; ++i) writer.write(event_at(i, CORACLE_SPAN_BEGIN, i, "again"));
  const RankEvents rank = read_trace(room.memory(), 0, 0);
  CHECK(rank.events.size() == fit);
  CHECK(rank.dropped == 10);
  CHECK(rank.events.back().ticks == fit - 1);
  CHECK(rank.texts == std::vector<std::string>{"again"});
}

TEST_CASE("trace writer: a name that a program writes anew at the same place is another text; many are cut off") {
  Room room;
  TraceWriter writer(room.memory());
  char name[16] = "first";
  writer.write(event_at(1, CORACLE_SPAN_BEGIN, 1, name));
  std::strcpy(name, "second");
  writer.write(event_at(2, CORACLE_SPAN_BEGIN, 2, name));
  std::strcpy(name, "first");
  writer.write(event_at(3, CORACLE_SPAN_BEGIN, 3, name));
  RankEvents rank = read_trace(room.memory(), 0, 0);
  CHECK(rank.texts == std::vector<std::string>{"first", "second"});
  CHECK(rank.text(rank.events[0].name()) == "first");
  CHECK(rank.text(rank.events[1].name()) == "second");
  CHECK(rank.text(rank.events[2].name()) == "first");
  // Until the room for texts is full; later ones have no name, and nothing else is lost.
  for (int i = 0; i < 3000; ++i) {
    const std::string text = "a long name, number " + std::to_string(i);
    writer.write(event_at(4, CORACLE_SPAN_BEGIN, 4, text.c_str()));
  }
  rank = read_trace(room.memory(), 0, 0);
  CHECK(rank.events.size() == 3003);
  CHECK(rank.texts.size() < 3002);
  CHECK(rank.texts.size() > 500);
  CHECK(rank.text(rank.events.back().name()).empty());
}

TEST_CASE("trace reader: memory that no writer has touched is an empty trace; numbers that lead nowhere are none") {
  Room room;
  CHECK(read_trace(room.memory(), 0, 0).events.empty());
  TraceWriter writer(room.memory());
  writer.write(event_at(1, CORACLE_SPAN_BEGIN, 1, "one"));
  room.memory().header().events.store(~std::uint64_t{0});
  room.memory().header().text_bytes.store(~std::uint64_t{0});
  const RankEvents rank = read_trace(room.memory(), 0, 0);
  CHECK(rank.events.size() == room.memory().events().size());
  CHECK(rank.text(77).empty());
}

TEST_CASE("trace spans: ends find their begins, and a place that is used again closes what was there") {
  coracle_event unknown = event_at(9, CORACLE_WAIT_END, 8);
  unknown.kind = 1000;
  const std::vector<TraceSpan> spans = spans_of(events_of({
      event_at(1, CORACLE_RANK_BEGIN),
      event_at(2, CORACLE_WAIT_BEGIN, 8, "put"),
      event_at(3, CORACLE_SPAN_BEGIN, 8, "solve"),
      event_at(4, CORACLE_WAIT_END, 8),
      event_at(5, CORACLE_WAIT_BEGIN, 8, "get"),
      event_at(6, CORACLE_WAIT_BEGIN, 8, "signal"),
      event_at(9, CORACLE_SPAN_END, 8),
      event_at(9, CORACLE_SPAN_END, 99),
      unknown,
  }));
  REQUIRE(spans.size() == 5);
  CHECK(spans[1].is_closed);
  CHECK(spans[1].end_ns == 4);
  CHECK(spans[2].end_ns == 9);
  CHECK_FALSE(spans[3].is_closed);
  CHECK(spans[3].end_ns == 6);
  CHECK_FALSE(spans[4].is_closed);
  CHECK(spans[4].end_ns == 9);
  CHECK_FALSE(spans[0].is_closed);
  CHECK(spans[0].end_ns == 9);
}

TEST_CASE("trace lanes: in a lane spans lie side by side, or in another of the same task, whatever they are") {
  const test::Seeds seeds("CORACLE_TRACE_SEEDS", 16);
  for (const std::uint64_t seed : seeds) {
    INFO(seeds.repeat(seed));
    std::mt19937_64 random(seed);
    std::vector<TraceSpan> spans(300);
    for (TraceSpan& span : spans) {
      span.begin_ns = random() % 1000;
      span.end_ns = span.begin_ns + 1 + random() % (random() % 200 + 1);
      span.begin.kind = static_cast<std::uint16_t>(2 * (1 + random() % 12));
      span.begin.task = random() % 4;
    }
    std::ranges::sort(spans, {}, &TraceSpan::begin_ns);
    set_lanes(spans);
    for (const TraceSpan& a : spans) {
      CHECK(a.lane / kLanesMax == static_cast<std::uint32_t>(group_of(a.kind())));
      for (const TraceSpan& b : spans) {
        if (&a == &b || a.lane != b.lane || a.end_ns <= b.begin_ns || b.end_ns <= a.begin_ns) continue;
        const bool nests =
            (a.begin_ns <= b.begin_ns && b.end_ns <= a.end_ns) || (b.begin_ns <= a.begin_ns && a.end_ns <= b.end_ns);
        CHECK(nests);
        CHECK(a.begin.task == b.begin.task);
      }
    }
  }
}

TEST_CASE("node clock: the clocks of two nodes differ by as much as those of the two worst") {
  CHECK(uncertainty_between({}) == 0);
  CHECK(uncertainty_between({70}) == 0);
  CHECK(uncertainty_between({5, 70}) == 75);
  CHECK(uncertainty_between({5, 70, 1, 30}) == 100);
}

TEST_CASE("node clock: the quickest answer counts, and two far apart tell the drift") {
  NodeClock none;
  CHECK(none.on_head(123) == 123);
  CHECK_FALSE(none.uncertainty_ns());
  NodeClock clock;
  // The node is 5,000 ahead; slow answers are lopsided.
  clock.add(NodeClock::When::beginning, 1000, 16000, 21000);
  clock.add(NodeClock::When::beginning, 30000, 35050, 30100);
  clock.add(NodeClock::When::beginning, 40000, 55000, 60000);
  CHECK(clock.uncertainty_ns() == 50);
  CHECK(clock.on_head(105000) == 100000);
  // Ten seconds later it is 15,000 ahead.
  const std::uint64_t later = 10'000'000'000;
  clock.add(NodeClock::When::end, later, later + 15000 + 50, later + 100);
  CHECK(clock.on_head(35050) == 30050);
  CHECK(clock.on_head(later + 15050) == later + 50);
  const auto middle = static_cast<std::int64_t>(clock.on_head(later / 2 + 10000));
  CHECK(middle - static_cast<std::int64_t>(later / 2) <= 1);
  CHECK(middle - static_cast<std::int64_t>(later / 2) >= -1);
}

TEST_CASE("clocks of nodes: no message comes before it was sent") {
  JobTrace trace;
  trace.ranks.resize(3);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    trace.ranks[rank].rank = rank;
    trace.ranks[rank].node = rank;
  }
  // Node 1 is told as 400 too early, and node 2, to which it sends, as it is; ways take 100.
  trace.ranks[0].events = {message_at(1000, CORACLE_SEND_BEGIN, 1, 1), message_at(1500, CORACLE_RECEIVE_BEGIN, 1, 1)};
  trace.ranks[1].events = {message_at(700, CORACLE_RECEIVE_BEGIN, 0, 1), message_at(1000, CORACLE_SEND_BEGIN, 0, 1),
                           message_at(1010, CORACLE_SEND_BEGIN, 2, 1)};
  trace.ranks[2].events = {message_at(1200, CORACLE_RECEIVE_BEGIN, 1, 1)};
  align_by_messages(trace);
  CHECK(trace.ranks[0].events[0].ticks == 1000);
  CHECK(trace.ranks[1].events[0].ticks > 1000);
  CHECK(trace.ranks[0].events[1].ticks > trace.ranks[1].events[1].ticks);
  CHECK(trace.ranks[2].events[0].ticks > trace.ranks[1].events[2].ticks);
  const JobTrace before = trace;
  align_by_messages(trace);
  CHECK(trace.ranks[2].events[0].ticks == before.ranks[2].events[0].ticks);
}

TEST_CASE("trace parts: a node's traces come to the head whole, and only its own") {
  RankEvents rank;
  rank.rank = 5;
  rank.dropped = 7;
  rank.texts = {"a", "b"};
  rank.events.resize(2 * TracePart::kEventsMax + 3);
  for (std::size_t i = 0; i < rank.events.size(); ++i) rank.events[i].ticks = i;
  NodeTraces traces;
  const std::uint64_t most = rank.events.size() * sizeof(StoredEvent);
  for (TracePart& part : parts_of(rank)) traces.add(std::move(part), 4, 2, most);
  RankEvents other;
  other.rank = 4;
  for (TracePart& part : parts_of(other)) traces.add(std::move(part), 4, 2, most);
  CHECK_THROWS(traces.add(parts_of(rank).front(), 4, 1, most));
  CHECK_THROWS(traces.add(parts_of(rank).front(), 6, 2, most));
  CHECK_THROWS(traces.add(parts_of(rank).front(), 4, 2, most));
  TracePart torn = parts_of(rank).front();
  torn.events.pop_back();
  CHECK_THROWS(traces.add(std::move(torn), 4, 2, 2 * most));
  const std::vector<RankEvents> all = traces.take(1);
  REQUIRE(all.size() == 2);
  CHECK(all[0].events.empty());
  CHECK(all[1].dropped == 7);
  CHECK(all[1].node == 1);
  CHECK(all[1].texts == rank.texts);
  REQUIRE(all[1].events.size() == rank.events.size());
  CHECK(all[1].events.back().ticks == rank.events.back().ticks);
}

TEST_CASE("Chrome's format: texts that are none of JSON's are made fit, and a full disk is told") {
  JobTrace trace;
  trace.ranks.push_back(
      events_of({event_at(1, CORACLE_SPAN_BEGIN, 1, "say \"it\"\\\n\xc3\xa9"), event_at(2, CORACLE_SPAN_END, 1)}));
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* file = ::open_memstream(&text, &bytes);
  CHECK(write_chrome_trace(trace, file));
  std::fclose(file);
  CHECK(std::string(text).find(R"("name":"say \"it\"\\???")") != std::string::npos);
  std::free(text);
  std::FILE* full = std::fopen("/dev/full", "w");
  REQUIRE(full != nullptr);
  CHECK_FALSE(write_chrome_trace(trace, full));
  std::fclose(full);
}

TEST_CASE("what an event costs: to be asked for" * doctest::skip()) {
  constexpr std::uint64_t kEvents = 200'000;
  constexpr int kTries = 20;
  static constexpr coracle_place place{"src/solve.cpp", "solve()", 42, 3};
  const bool by_processor = processor_counts();
  double best_ns = 1e9;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    Room room(16 << 20);
    TraceWriter writer(room.memory());
    Events events(writer.tool(), nullptr, by_processor);
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < kEvents; ++i) {
      coracle_event event = events.event(CORACLE_WAIT_BEGIN);
      event.id = i;
      event.name = "signal";
      event.peer = 1;
      event.place = &place;
      events.tell(event);
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    best_ns = std::min(best_ns, took.count() / kEvents);
    CHECK(room.memory().header().events.load() == kEvents);
  }
  double clock_ns = 1e9;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const auto begin = std::chrono::steady_clock::now();
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < kEvents; ++i) sum += read_ticks(by_processor);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    CHECK(sum != 0);
    clock_ns = std::min(clock_ns, took.count() / kEvents);
  }
  MESSAGE("an event takes ", best_ns, " ns, of which ", clock_ns, " ns are the clock's, ",
          std::string(by_processor ? "the processor's counter" : "CLOCK_MONOTONIC"));
}

}  // namespace trace_test
