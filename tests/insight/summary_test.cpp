// Summaries without a job: what a writer adds up, what becomes of it on its way, and sums over ranks.
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/own_module.hpp"
#include "runtime/insight/clock_alignment.hpp"
#include "runtime/insight/job_summary.hpp"
#include "runtime/insight/summary_writer.hpp"
#include "runtime/job/backtrace_text.hpp"
#include "runtime/launch/call_sites.hpp"

namespace summary_test {

extern "C" [[gnu::noinline, gnu::used]] int coracle_test_calling_function(int value) {
  return value + 2;
}

namespace {

using namespace coracle::internals;

[[gnu::noinline, gnu::used]] int calls_with(int (*function)(int)) {
  return function(1) + 1;
}

constexpr coracle_place kPlace{"src/program.cpp", "work", 42, 1};
constexpr coracle_place kOther{"src/program.cpp", "work", 43, 1};

/// A rank's writer, and what it has left.
struct Written {
  SummaryMemory memory() { return SummaryMemory({reinterpret_cast<std::byte*>(layout.get()), SummaryMemory::kBytes}); }
  RankSummary read(std::uint32_t rank = 0, std::uint32_t node = 0) { return read_summary(memory(), rank, node); }

  coracle_event& tell(std::uint64_t ticks, int kind, std::uint64_t task = 0, std::uint64_t id = 0) {
    event = {};
    event.ticks = ticks;
    event.kind = static_cast<std::uint16_t>(kind);
    event.peer = CORACLE_NOBODY;
    event.task = task;
    event.id = id;
    return event;
  }
  void write() { writer.write(event); }
  void wait(std::uint64_t begin, std::uint64_t end, const coracle_place& place, std::uint64_t task = 1,
            coracle_wait_kind kind = CORACLE_WAIT_RECEIVE) {
    begin_wait(begin, place, task, task, kind);
    tell(end, CORACLE_WAIT_END, task, task), write();
  }
  void begin_wait(std::uint64_t ticks, const coracle_place& place, std::uint64_t task, std::uint64_t id,
                  coracle_wait_kind kind = CORACLE_WAIT_RECEIVE) {
    tell(ticks, CORACLE_WAIT_BEGIN, task, id);
    event.place = &place;
    event.name = "receive";
    event.what = static_cast<std::uint16_t>(kind);
    write();
  }
  void call(std::uint64_t begin, std::uint64_t end, std::uint64_t number, std::uint64_t team = 0) {
    tell(begin, CORACLE_COLLECTIVE_BEGIN, 1, team << 32 | number).name = "barrier";
    write();
    tell(end, CORACLE_COLLECTIVE_END, 1, team << 32 | number), write();
  }

  std::unique_ptr<SummaryMemory::Layout> layout = std::make_unique<SummaryMemory::Layout>();
  SummaryWriter writer{memory()};
  coracle_event event{};
};

std::uint64_t waited(const RankSummary& rank, WaitGroup group) {
  return rank.facts.groups[static_cast<std::size_t>(group)].time;
}

JobSummaries job_of(std::vector<RankSummary> ranks) {
  JobSummaries job;
  job.size = static_cast<std::uint32_t>(ranks.size());
  job.ranks = std::move(ranks);
  return job;
}

}  // namespace

TEST_CASE("summary: a rank's time is computing or waiting, and waiting is of the line that awaited") {
  Written rank;
  rank.tell(100, CORACLE_RANK_BEGIN), rank.write();
  rank.wait(110, 150, kPlace);
  rank.wait(160, 161, kOther, 1, CORACLE_WAIT_TIMER);
  rank.tell(200, CORACLE_RANK_END), rank.write();
  const RankSummary read = rank.read();
  CHECK(read.facts.computing == 10 + 10 + 39);
  CHECK(read.facts.waiting == 41);
  CHECK(read.facts.has_ended == 1);
  CHECK(waited(read, WaitGroup::receive) == 40);
  CHECK(waited(read, WaitGroup::timer) == 1);
  REQUIRE(read.lines.size() == 2);
  CHECK(std::string(read.lines[0].file.data()) == "program.cpp");
  CHECK(read.lines[0].line == 42);
  CHECK(read.lines[0].waited.time == 40);
  CHECK(lifetime_of(read) == read.facts.computing + read.facts.waiting);
}

TEST_CASE("summary: while one task can run no other's wait counts, and no moment counts twice") {
  Written rank;
  rank.tell(1, CORACLE_RANK_BEGIN), rank.write();
  rank.begin_wait(10, kPlace, 1, 1);
  rank.begin_wait(20, kOther, 2, 2);  // it was started before, and has run since
  rank.tell(50, CORACLE_WAIT_END, 1, 1), rank.write();
  rank.begin_wait(80, kPlace, 1, 1);
  rank.tell(100, CORACLE_WAIT_END, 2, 2), rank.write();
  rank.tell(110, CORACLE_RANK_END), rank.write();
  const RankSummary read = rank.read();
  CHECK(read.facts.waiting == 30 + 20);
  CHECK(read.facts.computing == 109 - 50);
  CHECK(read.lines[0].waited.time == 30);
  CHECK(read.lines[1].waited.time == 20);
  CHECK(unexplained_of(read) == 0);
}

TEST_CASE("summary: a rank that was idle has waited until then, though a call that came in has begun something first") {
  Written rank;
  rank.tell(1, CORACLE_RANK_BEGIN), rank.write();
  rank.begin_wait(10, kPlace, 1, 1);
  rank.tell(15, CORACLE_SLEEP_BEGIN), rank.write();
  rank.tell(40, CORACLE_OPERATION_BEGIN, 2, 7), rank.write();
  rank.tell(41, CORACLE_SLEEP_END), rank.write();
  rank.tell(50, CORACLE_OPERATION_BEGIN, 2, 8), rank.write();  // its time is that of who works
  rank.tell(60, CORACLE_WAIT_END, 1, 1), rank.write();
  rank.tell(61, CORACLE_RANK_END), rank.write();
  const RankSummary read = rank.read();
  CHECK(read.facts.waiting == 30 + 1 + 10);
  CHECK(read.facts.computing == 9 + 9 + 1);
}

TEST_CASE("summary: tasks that can run still do when another begins to wait") {
  Written rank;
  rank.tell(1, CORACLE_RANK_BEGIN), rank.write();
  rank.begin_wait(10, kPlace, 1, 1);
  rank.begin_wait(10, kOther, 2, 2);
  rank.tell(20, CORACLE_WAIT_END, 1, 1), rank.write();
  rank.tell(20, CORACLE_WAIT_END, 2, 2), rank.write();
  rank.begin_wait(30, kPlace, 1, 1);
  rank.tell(60, CORACLE_WAIT_END, 1, 1), rank.write();  // by the other, which runs
  rank.tell(60, CORACLE_RANK_END), rank.write();
  CHECK(rank.read().facts.waiting == 10);
  CHECK(rank.read().facts.computing == 49);
}

TEST_CASE("summary: a wait in a function of MPI is of the place of its call, which the launcher finds") {
  constexpr coracle_place kCall{"/usr/bin/solver", "relax", 0x1234, CORACLE_IN_MODULE};
  Written rank;
  const auto wait_in_span = [&rank](const char* name, const coracle_place* place, std::uint64_t begin) {
    rank.tell(begin, CORACLE_SPAN_BEGIN, 1, 7).name = name;
    rank.event.place = place;
    rank.write();
    rank.begin_wait(begin + 1, coracle_place{}, 1, 1);
    rank.tell(begin + 5, CORACLE_WAIT_END, 1, 1), rank.write();
    rank.tell(begin + 6, CORACLE_SPAN_END, 1, 7), rank.write();
  };
  wait_in_span("MPI_Recv", &kCall, 10);
  wait_in_span("MPI_Recv", &kCall, 20);
  wait_in_span("MPI_Wait", nullptr, 30);
  wait_in_span("halo", &kPlace, 40);
  wait_in_span("inner", &kPlace, 50);
  const RankSummary read = rank.read();
  REQUIRE(read.modules == std::vector<std::string>{"/usr/bin/solver"});
  REQUIRE(read.lines.size() == 4);
  CHECK(read.lines[0].module == 1);
  CHECK(read.lines[0].address == 0x1234);
  CHECK(read.lines[0].line == 0);
  CHECK(read.lines[0].waited.waits == 2);
  const auto place_and_call = [&read](std::size_t at) {
    return std::string(read.lines[at].file.data()) + " " + read.lines[at].call.data();
  };
  CHECK(place_and_call(0) == " MPI_Recv");
  CHECK(place_and_call(1) == " MPI_Wait");
  CHECK(place_and_call(2) == "program.cpp halo");
  CHECK(place_and_call(3) == "program.cpp inner");
  CHECK(read.lines[3].line == 42);
}

TEST_CASE("summary: calls that stand at one place are one line, once their places are found") {
  const auto address = reinterpret_cast<std::uintptr_t>(&coracle_test_calling_function) -
                       reinterpret_cast<std::uintptr_t>(kOwnModule.start);
  RankSummary rank;
  rank.modules = {std::filesystem::read_symlink("/proc/self/exe").string(), "/no/such/file"};
  for (const std::uint32_t module : {1U, 1U, 2U, 3U}) {
    WaitLine& line = rank.lines.emplace_back();
    std::memcpy(line.call.data(), "MPI_Recv", 8);
    line.module = module;
    line.address = static_cast<std::uint32_t>(address) + (rank.lines.size() == 2 ? 1 : 0);
    line.waited = {100 * rank.lines.size(), 1, 10 * rank.lines.size()};
  }
  std::vector<RankSummary> ranks{rank};
  find_call_sites(ranks);
  const std::vector<WaitLine>& lines = ranks[0].lines;
  REQUIRE(lines.size() == 3);
  const std::string place = lines[0].file.data();
  CHECK((lines[0].line != 0 || place.starts_with("coracle_test_calling_function in ")));
  CHECK(lines[0].waited.time == 300);
  CHECK(lines[0].waited.waits == 2);
  CHECK(lines[0].waited.longest == 20);
  CHECK(std::string(lines[1].file.data()).starts_with("file+0x"));
  CHECK(lines[2].file[0] == '\0');  // of no module
}

TEST_CASE("summary: a function of C++ is told without its arguments") {
  const auto address =
      reinterpret_cast<std::uintptr_t>(&calls_with) - reinterpret_cast<std::uintptr_t>(kOwnModule.start);
  const std::uint64_t addresses[] = {address + 1};
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const SourcePlace place = places_in_source(program, addresses, std::chrono::milliseconds(0)).at(0);
  const std::string short_name = program.substr(program.rfind('/') + 1);
  CHECK(place.file == "summary_test::(anonymous namespace)::calls_with in " + short_name);
  CHECK(place.line == 0);
}

TEST_CASE("summary: of more modules than there is room for calls have no places") {
  Written rank;
  std::vector<std::string> names;
  for (std::size_t i = 0; i <= SummaryMemory::kModulesMax; ++i) names.push_back("/lib/lib" + std::to_string(i) + ".so");
  names.push_back(std::string(600, 'x'));
  std::vector<coracle_place> places;  // which are known by where they lie
  for (const std::string& name : names) places.push_back({name.c_str(), "", 1, CORACLE_IN_MODULE});
  for (const coracle_place& place : places) {
    rank.tell(10, CORACLE_SPAN_BEGIN, 1, 7).name = "MPI_Recv";
    rank.event.place = &place;
    rank.write();
    rank.begin_wait(11, coracle_place{}, 1, 1);
    rank.tell(12, CORACLE_WAIT_END, 1, 1), rank.write();
    rank.tell(13, CORACLE_SPAN_END, 1, 7), rank.write();
  }
  const RankSummary read = rank.read();
  CHECK(read.modules.size() == SummaryMemory::kModulesMax);
  CHECK(read.lines.back().module == 0);
  CHECK(std::string(read.lines.back().call.data()) == "MPI_Recv");
}

TEST_CASE("summary: what a table has no room for is counted") {
  Written rank;
  std::vector<coracle_place> places(SummaryMemory::kLinesMax + 3, kPlace);
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    places[i].line = i + 1;
    rank.wait(10 * i + 10, 10 * i + 15, places[i]);
  }
  const std::uint32_t ranks = SummaryMemory::kPeersMax + 2;
  for (std::uint32_t peer = 0; peer < ranks; ++peer) {
    rank.tell(1'000'000, CORACLE_SEND_BEGIN).peer = peer;
    rank.event.bytes = 7;
    rank.write();
  }
  for (std::uint64_t call = 0; call < SummaryMemory::kEntriesMax + 5; ++call) rank.call(2'000'000, 2'000'001, call);
  const RankSummary read = rank.read();
  CHECK(read.lines.size() == SummaryMemory::kLinesMax);
  CHECK(read.facts.other_lines.waits == 3);
  CHECK(read.facts.other_lines.time == 15);
  CHECK(read.peers.size() == SummaryMemory::kPeersMax);
  CHECK(read.facts.other_peers.count[0] == 2);
  CHECK(read.facts.other_peers.bytes[0] == 14);
  CHECK(read.entries.size() == SummaryMemory::kEntriesMax);
  CHECK(read.facts.other_entries == 5);
  REQUIRE(read.calls.size() == 1);
  CHECK(read.calls[0].calls == SummaryMemory::kEntriesMax + 5);
  CHECK(add_up(job_of({read})).totals.count[0] == ranks);
}

TEST_CASE("summary: who came last to collectives, and how long others waited") {
  Written first;
  Written second;
  first.call(100, 210, 1);
  second.call(200, 211, 1);
  first.call(300, 310, 2);  // it has left before the other came
  second.call(400, 401, 2);
  first.call(500, 510, 3, 9);  // a team of its own
  const LateRanks late = late_ranks_of(job_of({first.read(0), second.read(1)}));
  CHECK(late.judged == 2);
  REQUIRE(late.ranks.size() == 1);
  CHECK(late.ranks[0].rank == 1);
  CHECK(late.ranks[0].name == "barrier");
  CHECK(late.ranks[0].times == 2);
  CHECK(late.ranks[0].others_ns == 100);
}

TEST_CASE("summary: between nodes nobody is called late by less than their clocks may differ") {
  Written first;
  Written second;
  first.call(100, 210, 1);
  second.call(200, 211, 1);
  first.call(1'000, 2'100, 2);
  second.call(2'000, 2'110, 2);
  JobSummaries job = job_of({first.read(0, 0), second.read(1, 1)});
  job.uncertainty_ns = 150;
  CHECK(late_ranks_of(job).undecided == 1);
  CHECK(late_ranks_of(job).judged == 1);
  job.ranks[1].node = 0;
  CHECK(late_ranks_of(job).judged == 2);
}

TEST_CASE("summary: bytes on their way are the same at the end, and what is none is refused") {
  Written rank;
  rank.tell(5, CORACLE_RANK_BEGIN), rank.write();
  rank.wait(10, 30, kPlace);
  rank.tell(31, CORACLE_SEND_BEGIN).peer = 2;
  rank.event.bytes = 100;
  rank.write();
  rank.call(40, 50, 1);
  const RankSummary read = rank.read(1);
  std::vector<std::byte> bytes = bytes_of(read);
  const RankSummary again = summary_of(bytes, 3);
  CHECK(bytes_of(again) == bytes);
  CHECK(again.rank == 1);
  CHECK(again.peers.at(0).bytes[0] == 100);
  CHECK_THROWS_AS(summary_of(bytes, 2), Error);  // no rank 2 there
  bytes.pop_back();
  CHECK_THROWS_AS(summary_of(bytes, 3), Error);
  CHECK_THROWS_AS(summary_of({}, 3), Error);
}

TEST_CASE(
    "summary: a lifetime on another node is as long as what it consists of, though that node's clock seems to run "
    "slower") {
  Written written;
  written.tell(1'000, CORACLE_RANK_BEGIN), written.write();
  written.wait(2'000, 9'002'000'000, kPlace);
  written.tell(9'003'000'000, CORACLE_SEND_BEGIN), written.write();
  RankSummary rank = written.read(0);
  NodeClock clock;
  clock.add(NodeClock::When::beginning, 0, 1'000, 2'000);
  clock.add(NodeClock::When::end, 9'000'010'000, 9'000'000'000, 9'000'012'000);
  set_clock(rank, clock);
  CHECK(clock.on_head(9'003'000'000) - clock.on_head(1'000) != 9'002'000'000);
  CHECK(rank.facts.begin == clock.on_head(1'000));
  CHECK(lifetime_of(rank) == rank.facts.computing + rank.facts.waiting);
}

TEST_CASE("summary: the screen, the file and the picture have what was counted") {
  Written rank;
  rank.tell(1'000, CORACLE_RANK_BEGIN), rank.write();
  rank.wait(2'000, 9'002'000, kPlace);
  rank.tell(9'002'000, CORACLE_SEND_BEGIN).peer = 1;
  rank.event.bytes = 1500;
  rank.write();
  JobSummaries ranks = job_of({rank.read(0), {}});
  ranks.ranks[1].rank = 1;
  const JobSummary job = add_up(ranks);
  const std::string screen = screen_of(job);
  CHECK(screen.find("of 1 rank nothing is known") != std::string::npos);
  CHECK(screen.find("program.cpp:42") != std::string::npos);
  CHECK(screen.find("1 message (1.5 kB)") != std::string::npos);
  CHECK(json_of(job, ranks).find("\"ns\": 9000000") != std::string::npos);
  CHECK(picture_of(job).find("<title>0 to 1: 1500 bytes</title>") != std::string::npos);
  CHECK(picture_of(add_up(job_of({RankSummary()}))).find("nothing was sent") != std::string::npos);
}

}  // namespace summary_test
