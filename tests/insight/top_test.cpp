// What `coracle top` makes of pictures: rates, folding, sorting, text; and what it makes of keys.
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "apps/coracle/top/terminal_screen.hpp"
#include "apps/coracle/top/top_lines.hpp"
#include "apps/coracle/top/top_rows.hpp"
#include "runtime/core/error.hpp"
#include "runtime/insight/job_picture.hpp"
#include "tests/insight/job_states.hpp"

namespace top_test {

using namespace coracle::internals;
using namespace coracle::internals::insight;
using Ranks = std::vector<std::uint32_t>;

namespace {

JobPicture picture_of(const test::Job& job, std::uint64_t age_ms = 10'000) {
  JobPicture picture;
  picture.program = "./solver";
  picture.placement = "process";
  picture.size = static_cast<std::uint32_t>(job.states().size());
  picture.nodes = 1;
  picture.age_ms = age_ms;
  picture.ranks = insight::picture_of(job.states());
  return picture;
}

/// All but rank 1 are in a collective.
test::Job missing_member(std::uint32_t size) {
  test::Job job(size);
  for (std::uint32_t rank = 0; rank < size; ++rank)
    if (rank != 1) job.collective(rank, 0, 12, true, "cg.cpp:88");
  job.collective(1, 0, 11, false, "cg.cpp:88");
  job.message(1, WaitKind::receive, 0, 3, "cg.cpp:60");
  return job;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("top: a picture says of each rank what it does, where, and since when") {
  test::Job job = missing_member(4);
  job.rank(1).waits.waits.front().waited_ms = 2500;
  job.rank(1).processor_ms = 77;
  job.runs(3, "", 1200);
  const JobPicture picture = picture_of(job);
  CHECK(picture.ranks[0].does == "is in barrier #12 of all ranks at cg.cpp:88");
  CHECK(picture.ranks[0].collectives == 12);
  CHECK(picture.ranks[1].does == "waits to receive from rank 0, tag 3 at cg.cpp:60");
  CHECK(picture.ranks[1].does_alike == "waits to receive from another rank, tag 3 at cg.cpp:60");
  CHECK(picture.ranks[1].for_ms == 2500);
  CHECK(picture.ranks[1].processor_ms == 77);
  CHECK(picture.ranks[3].does == "computes");
  CHECK(picture.ranks[3].for_ms == 1200);
}

TEST_CASE("top: a picture is the same at its other end, and what is none is refused") {
  JobPicture picture = picture_of(missing_member(3));
  picture.hangs = {"rank 1 waits"};
  picture.ranks[2].doing = Doing::ended;
  picture.ranks[2].memory_bytes = std::uint64_t{5} << 40;
  const JobPicture same = parse_picture(json_of(picture));
  CHECK(json_of(same) == json_of(picture));
  CHECK(same.ranks[2].doing == Doing::ended);
  CHECK(same.ranks[2].memory_bytes == std::uint64_t{5} << 40);
  CHECK(same.hangs == picture.hangs);
  CHECK_THROWS_AS(parse_picture("{"), Error);
  CHECK_THROWS_AS(parse_picture(R"({"program": "x"})"), Error);
  std::string wrong = json_of(picture);
  wrong.replace(wrong.find(R"("doing":)") + 8, 1, "9");
  CHECK_THROWS_AS(parse_picture(wrong), Error);
}

TEST_CASE("top: rates are those between two pictures") {
  test::Job job = missing_member(2);
  const JobPicture before = picture_of(job, 1000);
  CHECK_FALSE(rows_of(before, nullptr)[0].processor.has_value());
  job.rank(0).processor_ms += 1000;
  job.rank(0).sleeps += 50;
  job.rank(0).waits.teams.front().number += 8;
  job.rank(1).waits.teams.clear();  // it counts less than before
  const std::vector<TopRow> rows = rows_of(picture_of(job, 3000), &before);
  CHECK(rows[0].processor.value() == doctest::Approx(0.5));
  CHECK(rows[0].sleeps_s.value() == doctest::Approx(25));
  CHECK(rows[0].collectives_s.value() == doctest::Approx(4));
  CHECK(rows[1].collectives_s.value() == 0);
}

TEST_CASE("top: ranks that do the same are one row") {
  const JobPicture picture = picture_of(missing_member(100));
  const std::vector<TopRow> rows = folded(rows_of(picture, nullptr));
  REQUIRE(rows.size() == 2);
  CHECK(ranges_text(rows[0].ranks) == "0,2-99");
  CHECK(rows[0].does == "is in barrier #12 of all ranks at cg.cpp:88");
  CHECK(rows[1].ranks == Ranks{1});
  CHECK(rows[1].does == "waits to receive from rank 0, tag 3 at cg.cpp:60");
}

TEST_CASE("top: so are those that do the same with different peers, with their means and their longest wait") {
  test::Job job(3);
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    job.message(rank, WaitKind::receive, static_cast<int>((rank + 1) % 3), 7, "ring.cpp:5");
    job.rank(rank).waits.waits.front().waited_ms = 100 * (rank + 1);
    job.rank(rank).memory_bytes = 1000 * (rank + 1);
  }
  const std::vector<TopRow> rows = folded(rows_of(picture_of(job), nullptr));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].does == "waits to receive from another rank, tag 7 at ring.cpp:5");
  CHECK(rows[0].for_ms == 300);
  CHECK(rows[0].memory_bytes == doctest::Approx(2000));
  CHECK(rows[0].nodes == Ranks{0});
}

TEST_CASE("top: rows are sorted by rank, by the longest wait, by processor time") {
  test::Job job = missing_member(4);
  const JobPicture before = picture_of(job, 0);
  job.runs(0, "", 90'000);
  job.rank(0).processor_ms = 10;
  job.rank(3).processor_ms = 900;
  job.rank(2).waits.waits.front().waited_ms = 5000;
  std::vector<TopRow> rows = rows_of(picture_of(job, 1000), &before);
  const auto order = [&rows](TopOrder by) {
    sort_rows(rows, by);
    Ranks ranks;
    for (const TopRow& row : rows) ranks.push_back(row.ranks.front());
    return ranks;
  };
  CHECK(order(TopOrder::wait) == Ranks{2, 1, 3, 0});  // one that computes does not wait
  CHECK(order(TopOrder::processor) == Ranks{3, 0, 1, 2});
  CHECK(order(TopOrder::rank) == Ranks{0, 1, 2, 3});
  for (const TopOrder each : {TopOrder::wait, TopOrder::processor, TopOrder::rank})
    CHECK(parse_order(to_string(each)) == each);
  CHECK_FALSE(parse_order("").has_value());
}

TEST_CASE("top: titles say which job, how its ranks are, and why it can't go on") {
  test::Job job = missing_member(4);
  job.runs(3, "");
  JobPicture picture = picture_of(job, 3'725'000);
  picture.hangs = {"first", "second"};
  const std::vector<TopRow> rows = rows_of(picture, nullptr);
  const TopText text = text_of(4711, picture, rows, rows);
  CHECK(text.titles[0] == "job 4711: ./solver, 4 ranks on 1 node, process, for 1:02:05");
  CHECK(text.titles[1] == "3 wait, 1 computes");
  CHECK(text.alarms == std::vector<std::string>{"deadlock (and 1 more): first"});
  REQUIRE(text.rows.size() == 4);
  CHECK(has(text.rows[1], "waits to receive from rank 0, tag 3 at cg.cpp:60"));
  CHECK(text.header.find("DOES") == text.rows[1].find("waits to"));
  picture.ranks.clear();
  CHECK(has(title_lines(4711, picture, {})[1], "no rank answers"));
}

TEST_CASE("top: memory that ranks share is told once for each node, and nodes have a column") {
  test::Job job = missing_member(4);
  for (const std::uint32_t rank : {0U, 1U, 2U, 3U}) job.rank(rank).memory_bytes = 100 << 20;
  JobPicture picture = picture_of(job);
  CHECK(has(text_of(1, picture, rows_of(picture, nullptr), {}).header, "MEMORY"));
  picture.placement = "thread";
  picture.nodes = 2;
  picture.ranks[2].node = picture.ranks[3].node = 1;
  const TopText text = text_of(1, picture, rows_of(picture, nullptr), {});
  CHECK(has(text.titles[1], "; memory 200 MiB, shared"));
  CHECK(has(text.header, "NODE"));
  CHECK_FALSE(has(text.header, "MEMORY"));
}

TEST_CASE("top: text is cut by characters, and gives a terminal no orders") {
  CHECK(cut("abc", 2) == "ab");
  CHECK(cut("abc", 9) == "abc");
  CHECK(cut("a\u00e4\u20acz", 3) == "a\u00e4\u20ac");
  CHECK(cut("abc", 0).empty());
  CHECK(harmless("a\x1b[2Jb\n\x7f") == "a?[2Jb??");
  CHECK(harmless("\xc2\x9b\u00e4") == "?\u00e4");
}

TEST_CASE("top: times and sizes as people read them") {
  CHECK(age_text(0) == "0.0 s");
  CHECK(age_text(59'999) == "59.9 s");
  CHECK(age_text(125'000) == "2:05");
  CHECK(memory_text(812 * 1024) == "812 KiB");
  CHECK(memory_text(1.5 * 1024 * 1024 * 1024) == "1.5 GiB");
  CHECK(memory_text(100.0 * 1024 * 1024) == "100 MiB");
}

TEST_CASE("top: keys come whole, also in pieces") {
  std::string bytes = "q\x1b[A\x1b[6~\x1bOH\x1b[1;5";
  const auto is_next = [&bytes](Key key) {
    const auto press = next_key(bytes);
    return press && press->key == key;
  };
  const auto letter = next_key(bytes);
  REQUIRE(letter.has_value());
  CHECK(letter->character == 'q');
  CHECK(is_next(Key::up));
  CHECK(is_next(Key::page_down));
  CHECK(is_next(Key::home));
  CHECK_FALSE(next_key(bytes).has_value());
  bytes += "Bx";
  CHECK(is_next(Key::down));
  CHECK(is_next(Key::character));
  CHECK(bytes.empty());
}

}  // namespace top_test
