// Verdicts of states that are made by hand: what is named, and who must not be accused.
#include "runtime/insight/verdict.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/insight/job_states.hpp"

namespace verdict_test {

using namespace coracle::internals;
using namespace coracle::internals::insight;
using namespace coracle::internals::insight::test;
using Kind = HangVerdict::Kind;
using Ranks = std::vector<std::uint32_t>;

namespace {

std::vector<HangVerdict> verdicts_of(const Job& job) {
  return find_verdicts(job.states(), kStallMs);
}

HangVerdict only_verdict_of(const Job& job) {
  const std::vector<HangVerdict> verdicts = verdicts_of(job);
  CAPTURE(text_of(verdicts));
  REQUIRE(verdicts.size() == 1);
  return verdicts.front();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("verdicts: two ranks that receive from each other are a cycle") {
  Job job(2);
  job.message(0, WaitKind::receive, 1, 7, "a.cpp:10");
  job.message(1, WaitKind::receive, 0, 7, "a.cpp:11");
  const HangVerdict verdict = only_verdict_of(job);
  CHECK(verdict.kind == Kind::cycle);
  CHECK(verdict.culprits == Ranks{0, 1});
  CHECK(verdict.places == std::vector<std::string>{"a.cpp:10", "a.cpp:11"});
  CHECK(verdict.sentence == "rank 0 waits for rank 1 waits for rank 0, both in receive, tag 7");
}

TEST_CASE("verdicts: a ring of sends, and who waits for it is not a part of it") {
  Job job(4);
  for (const std::uint32_t rank : {0U, 1U, 2U})
    job.message(rank, WaitKind::send, static_cast<int>((rank + 1) % 3), rank, "ring.cpp:5");
  job.message(3, WaitKind::receive, 1, 9, "other.cpp:1");
  const HangVerdict verdict = only_verdict_of(job);
  CHECK(verdict.kind == Kind::cycle);
  CHECK(verdict.culprits == Ranks{0, 1, 2});
  CHECK(verdict.waiting == Ranks{3});
}

TEST_CASE("verdicts: a receive that another message has come for") {
  Job job(2);
  job.message(0, WaitKind::receive, 1, 5, "a.cpp:10");
  job.message(1, WaitKind::send, 0, 4, "a.cpp:20");
  job.rank(0).waits.unreceived.push_back({0, 1, 4, 100});
  const HangVerdict verdict = only_verdict_of(job);
  CHECK(verdict.kind == Kind::mismatch);
  CHECK(verdict.culprits == Ranks{1});
  CHECK(verdict.sentence ==
        "rank 0 waits to receive from rank 1, tag 5 at a.cpp:10, but rank 1 sends with tag 4 at a.cpp:20");
}

TEST_CASE("verdicts: of many in a collective the one that is elsewhere is named") {
  Job job(32);
  for (std::uint32_t rank = 0; rank < 32; ++rank)
    if (rank != 17) job.collective(rank, 0, 12, true, "cg.cpp:88");
  job.collective(17, 0, 11, false, "cg.cpp:88");
  job.message(17, WaitKind::receive, 3, 1, "solver.cpp:301");
  const HangVerdict verdict = only_verdict_of(job);
  CHECK(verdict.kind == Kind::missing_member);
  CHECK(verdict.culprits == Ranks{17});
  CHECK(verdict.waiting.size() == 31);
  CHECK(verdict.sentence ==
        "31 of 32 are in barrier #12 of all ranks at cg.cpp:88; rank 17 waits to receive from rank "
        "3, tag 1 at solver.cpp:301");
}

TEST_CASE("verdicts: whoever computes is told of, but is not to blame") {
  Job job(3);
  job.collective(0, 0, 4, true, "cg.cpp:88");
  job.collective(2, 0, 4, true, "cg.cpp:88");
  job.collective(1, 0, 3, false, "cg.cpp:88");
  job.runs(1, "solver.cpp:301", 40'000);
  const HangVerdict verdict = only_verdict_of(job);
  CHECK(verdict.kind == Kind::running_rank);
  CHECK_FALSE(verdict.is_certain());
  CHECK(verdict.culprits == Ranks{1});
  CHECK(verdict.sentence == "ranks 0 and 2 wait for rank 1, which computes at solver.cpp:301 for 40 s");
}

TEST_CASE("verdicts: two teams whose collectives are called in different orders") {
  Job job(2);
  job.collective(0, 2, 1, true, "a.cpp:1", {0, 1});
  job.collective(0, 4, 0, false, "", {0, 1});
  job.collective(1, 2, 0, false, "", {0, 1});
  job.collective(1, 4, 1, true, "a.cpp:2", {0, 1});
  const HangVerdict verdict = only_verdict_of(job);
  CHECK(verdict.kind == Kind::cycle);
  CHECK(verdict.culprits == Ranks{0, 1});
  CHECK(verdict.places == std::vector<std::string>{"a.cpp:1", "a.cpp:2"});
}

TEST_CASE("verdicts: a rank that has left its function while another waits for it") {
  Job job(2);
  job.message(0, WaitKind::receive, 1, 9, "a.cpp:3");
  job.collective(0, 0, 0, false, "");
  job.collective(1, 0, 1, true, "");
  job.rank(1).waits.teams.back().finalizes = true;
  const HangVerdict verdict = only_verdict_of(job);
  CHECK(verdict.kind == Kind::ended_rank);
  CHECK(verdict.culprits == Ranks{1});
  CHECK(verdict.waiting == Ranks{0});
  CHECK(has(verdict.sentence, "has left its function"));
}

TEST_CASE("verdicts: a stopped rank that others wait for") {
  Job job(2);
  job.collective(0, 0, 2, true, "a.cpp:3");
  job.collective(1, 0, 1, false, "");
  job.rank(1).doing = Doing::stopped;
  const HangVerdict verdict = only_verdict_of(job);
  CHECK(verdict.kind == Kind::stopped_rank);
  CHECK(verdict.culprits == Ranks{1});
  CHECK(verdict.waiting == Ranks{0});
}

TEST_CASE("verdicts: a signal that nobody is left to raise, and a rank that could") {
  Job job(2);
  job.waits(0, WaitKind::signal, -1, "a.cpp:7");
  job.message(1, WaitKind::receive, 0, 1, "a.cpp:9");
  const HangVerdict verdict = only_verdict_of(job);
  CHECK(verdict.kind == Kind::nobody);
  CHECK(has(verdict.sentence, "rank 0 waits for a signal at a.cpp:7"));
  job.waits(1, WaitKind::timer, -1, "a.cpp:12");
  CHECK(verdicts_of(job).empty());
}

TEST_CASE("verdicts: nobody is accused while time, the kernel, a device or a peer's runtime may help") {
  for (const WaitKind kind : {WaitKind::timer, WaitKind::io, WaitKind::readiness, WaitKind::device, WaitKind::operation,
                              WaitKind::transfer}) {
    CAPTURE(static_cast<int>(kind));
    Job job(2);
    job.message(0, WaitKind::receive, 1, 7, "a.cpp:10");
    job.message(1, WaitKind::receive, 0, 7, "a.cpp:11");
    CHECK(verdicts_of(job).size() == 1);
    job.waits(1, kind, kind == WaitKind::operation ? 0 : -1, "a.cpp:12");
    CHECK(verdicts_of(job).empty());
  }
}

TEST_CASE("verdicts: nobody is accused who has moved, or of whom not all is known") {
  Job job(2);
  job.message(0, WaitKind::receive, 1, 7, "a.cpp:10");
  job.message(1, WaitKind::receive, 0, 7, "a.cpp:11");
  SUBCASE("a short while ago") {
    job.rank(1).still_ms = kMomentMs;
  }
  SUBCASE("it is still starting") {
    job.rank(1).doing = Doing::starting;
  }
  SUBCASE("some waits are not told") {
    job.rank(1).waits.left_out = 1;
  }
  SUBCASE("it computes, and not for long") {
    job.runs(1, "", kMomentMs);
  }
  CHECK(verdicts_of(job).empty());
}

TEST_CASE("verdicts: timers and descriptors of the library's own services help nobody") {
  Job job(2);
  job.message(0, WaitKind::receive, 1, 7, "a.cpp:10");
  job.message(1, WaitKind::receive, 0, 7, "a.cpp:11");
  job.waits(0, WaitKind::timer, -1, "").of_library = true;
  job.waits(1, WaitKind::readiness, -1, "").of_library = true;
  CHECK(verdicts_of(job).size() == 1);
}

TEST_CASE("verdicts: a message that any rank may send is awaited as long as one goes on") {
  Job job(3);
  job.message(0, WaitKind::receive, -1, 7, "a.cpp:10");
  job.message(1, WaitKind::receive, 0, 7, "a.cpp:11");
  job.runs(2, "", kMomentMs);
  CHECK(verdicts_of(job).empty());
  job.rank(2).doing = Doing::waiting;
  job.rank(2).still_ms = kLongMs;
  job.message(2, WaitKind::receive, 0, 7, "a.cpp:12");
  CHECK_FALSE(verdicts_of(job).empty());
}

TEST_CASE("verdicts: what waits for its own children waits for what these wait for") {
  Job job(1);
  job.waits(0, WaitKind::children, -1, "a.cpp:1");
  job.waits(0, WaitKind::inside, -1, "a.cpp:2");
  const HangVerdict verdict = only_verdict_of(job);
  CHECK(verdict.kind == Kind::nobody);
  CHECK(has(verdict.sentence, "a.cpp:2"));
}

TEST_CASE("verdicts: whom to locate are those that run, or wait in functions of an interface, for long") {
  Job job(4);
  job.message(0, WaitKind::receive, 1, 7, "");
  job.rank(0).waits.call = "MPI_Recv\n";
  job.runs(1, "");
  job.runs(2, "");
  job.message(3, WaitKind::receive, 1, 7, "a.cpp:1");
  CHECK(ranks_to_locate(job.states(), kStallMs) == Ranks{0, 1});
  job.rank(1).place = "solver.c:8";
  job.rank(0).function = "MPI_Recv";
  CHECK(ranks_to_locate(job.states(), kStallMs).empty());
}

TEST_CASE("verdicts: states travel as bytes, and what is none is refused") {
  Job job(3);
  job.message(0, WaitKind::receive, 1, 7, "a.cpp:10");
  job.collective(1, 2, 9, true, "b.cpp:4", {1, 2});
  job.rank(1).waits.waits.front().callers = {"c.cpp:1", "d.cpp:2"};
  job.runs(2, "e.cpp:5");
  job.rank(0).waits.unreceived.push_back({0, 1, 4, 100});
  const std::vector<std::byte> bytes = encode(job.states());
  const std::vector<RankState> back = decode_states(bytes);
  CHECK(encode(back) == bytes);
  CHECK(json_of(find_verdicts(back, kStallMs), back) == json_of(verdicts_of(job), job.states()));
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_THROWS_AS(decode_states(std::span(bytes).first(length)), Error);
}

TEST_CASE("verdicts: what has no room is left out, and that is said") {
  RankWaits waits;
  for (int i = 0; i < 200; ++i) waits.waits.emplace_back().place = "some_file.cpp:" + std::to_string(i);
  constexpr std::size_t kRoom = 4096;
  const std::vector<std::byte> bytes = encode(waits, kRoom);
  CHECK(bytes.size() <= kRoom);
  const RankWaits back = decode_waits(bytes);
  CHECK_FALSE(back.waits.empty());
  CHECK(back.waits.size() + back.left_out == 200);
}

TEST_CASE("verdicts: a thousand ranks in a ring take no time worth speaking of") {
  constexpr std::uint32_t kRanks = 1000;
  Job job(kRanks);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    job.message(rank, WaitKind::receive, static_cast<int>((rank + 1) % kRanks), 7, "a.cpp:10");
  CHECK(only_verdict_of(job).culprits.size() == kRanks);
}

}  // namespace verdict_test
