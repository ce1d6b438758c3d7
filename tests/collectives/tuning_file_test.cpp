// The file of measured costs: what is read, what is refused, and what a launcher makes of a stale or damaged one.
#include "collectives/choice/tuning_file.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>

#include "collectives/choice/model.hpp"
#include "runtime/core/error.hpp"
#include "tests/seeds.hpp"
#include "tests/sim/mutate.hpp"

namespace tuning_file_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

const std::string kText =
    "coracle-tuning 1\n"
    "# by hand\n"
    "\n"
    "host=node7 cores=2 level=pvas crowded=no inside.latency_ns=80 inside.bandwidth_bytes_per_ns=9.5\n"
    "host=node7 cores=2 level=pvas crowded=yes inside.latency_ns=9000\n"
    "host=node7 cores=2 level=tcp crowded=no between.latency_ns=12000\n"
    "host=node8 cores=64 level=pvas crowded=no inside.latency_ns=40\n";

const TuningQuery kQuery{"node7", 2, "pvas", "", false};

std::string refusal(const std::string& text) {
  try {
    parse_tuning(text, "tuning");
  } catch (const Error& error) {
    CHECK(error.code() == Errc::bad_input);
    return error.what();
  }
  return "";
}

/// A file that $CORACLE_TUNING names, for as long as this lives.
class TuningFile {
 public:
  explicit TuningFile(const std::string& text)
      : folder_(std::filesystem::temp_directory_path() / ("coracle-tuning-" + std::to_string(::getpid()))) {
    if (!text.empty()) {
      std::filesystem::create_directories(folder_);
      std::ofstream(path()) << text;
    }
    ::setenv("CORACLE_TUNING", path().c_str(), 1);
  }
  ~TuningFile() {
    ::unsetenv("CORACLE_TUNING");
    std::filesystem::remove_all(folder_);
  }
  TuningFile(const TuningFile&) = delete;
  TuningFile& operator=(const TuningFile&) = delete;
  std::string path() const { return folder_ / "tuning"; }

 private:
  std::filesystem::path folder_;
};

}  // namespace

TEST_CASE("tuning file: what is written is read again") {
  const std::vector<TuningRecord> records = parse_tuning(kText, "tuning");
  REQUIRE(records.size() == 4);
  CHECK(records[0].host == "node7");
  CHECK(records[0].costs.size() == 2);
  CHECK(records[1].crowded);
  CHECK(parse_tuning(tuning_text(records), "text") == records);
}

TEST_CASE("tuning file: a record takes the place of one for the same host, level and crowdedness") {
  std::vector<TuningRecord> records = parse_tuning(kText, "tuning");
  put_record(records, {"node7", 4, "pvas", false, {{"inside.latency_ns", 70}}});
  CHECK(records.size() == 4);
  CHECK(records[0].cores == 4);
  put_record(records, {"node9", 4, "pvas", false, {}});
  CHECK(records.size() == 5);
}

TEST_CASE("tuning file: what is wrong is told with its line") {
  CHECK(refusal("coracle-tuning 2\n").rfind("tuning:1: expected \"coracle-tuning 1\"", 0) == 0);
  CHECK(refusal("coracle-tuning 1\nhost=a cores=1\n") == "tuning:2: a record needs host=, cores= and level=");
  CHECK(refusal("coracle-tuning 1\n\nhost=a cores=0 level=tcp\n") ==
        "tuning:3: cores=\"0\": expected a number from 1 on");
  CHECK(refusal("coracle-tuning 1\nhost=a cores=1 level=tcp crowded=maybe\n") ==
        "tuning:2: crowded=\"maybe\": expected yes or no");
  CHECK(refusal("coracle-tuning 1\nhost=a cores=1 level=tcp speed=1\n").rfind("tuning:2: unknown name \"speed\"", 0) ==
        0);
  CHECK(refusal("coracle-tuning 1\nhost=a cores=1 level=tcp between.gap_ns=x\n")
            .rfind("tuning:2: between.gap_ns=\"x\": expected a number", 0) == 0);
}

TEST_CASE("tuning file: the records of a job's levels are its costs") {
  const TuningFile file(kText);
  std::vector<std::string> warnings;
  CHECK(measured_costs(kQuery, warnings) == "inside.latency_ns=80 inside.bandwidth_bytes_per_ns=9.5");
  TuningQuery query = kQuery;
  query.link = "tcp";
  CHECK(measured_costs(query, warnings) ==
        "inside.latency_ns=80 inside.bandwidth_bytes_per_ns=9.5 between.latency_ns=12000");
  query.crowded = true;
  CHECK(measured_costs(query, warnings) == "inside.latency_ns=9000");
  query.host = "elsewhere";
  CHECK(measured_costs(query, warnings) == "");
  CHECK(warnings.empty());
}

TEST_CASE("tuning file: a link under the name of a draft leads to nothing being written") {
  const TuningFile file(kText);
  const std::string draft = file.path() + "." + std::to_string(::getpid());
  const std::string target = file.path() + "-of-somebody";
  std::ofstream(target) << "of somebody";
  std::filesystem::create_symlink(target, draft);
  write_tuning(file.path(), parse_tuning(kText, "tuning"));
  std::string seen;
  std::getline(std::ifstream(target), seen);
  CHECK(seen == "of somebody");
  CHECK(read_tuning(file.path()).size() == 4);
  CHECK(!std::filesystem::is_symlink(file.path()));
  CHECK(!std::filesystem::exists(draft));
}

TEST_CASE("tuning file: one that is stale, damaged or missing is told of, and the built-in costs are taken") {
  std::vector<std::string> warnings;
  SUBCASE("stale") {
    const TuningFile file(kText);
    TuningQuery query = kQuery;
    query.cores = 4;
    CHECK(measured_costs(query, warnings) == "");
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].find("stale: they were measured with 2 cores, and node7 has 4 now") != std::string::npos);
  }
  SUBCASE("damaged") {
    const TuningFile file(kText + "host=node7 cores=two level=x\n");
    CHECK(measured_costs(kQuery, warnings) == "");
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].find(":8: cores=\"two\"") != std::string::npos);
    CHECK(warnings[0].find("`coracle bench tune` measures anew") != std::string::npos);
  }
  SUBCASE("missing") {
    const TuningFile file("");
    CHECK(measured_costs(kQuery, warnings) == "");
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].find("holds nothing") != std::string::npos);
  }
}

TEST_CASE("tuning file: it is written with its folder, and replaced as a whole") {
  const TuningFile file("");
  const std::vector<TuningRecord> records = parse_tuning(kText, "tuning");
  write_tuning(file.path(), records);
  CHECK(read_tuning(file.path()) == records);
  write_tuning(file.path(), {records[0]});
  CHECK(read_tuning(file.path()) == std::vector<TuningRecord>{records[0]});
}

TEST_CASE("tuning file: damaged texts are read or refused, and what is read are sensible costs") {
  const test::Seeds seeds("CORACLE_TUNING_FILE_SEEDS", 5000);
  int read = 0;
  for (const std::uint64_t seed : seeds) {
    INFO(seeds.repeat(seed));
    sim::Random random(seed);
    const std::string text = test::mutate(kText, random, " =\n#.0123456789einsdy");
    try {
      const std::vector<TuningRecord> records = parse_tuning(text, "text");
      CHECK(parse_tuning(tuning_text(records), "again").size() == records.size());
      read += static_cast<int>(records.size());
    } catch (const Error& error) {
      CHECK(error.code() == Errc::bad_input);
    }
  }
  CHECK((read > 0 || !seeds.are_many()));
}

}  // namespace tuning_file_test
