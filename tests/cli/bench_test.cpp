// Every benchmark runs, in every placement that has real time, and gives figures beside limits; none is judged here.
#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/brief.hpp"
#include "tests/cli/command.hpp"
#include "tests/places.hpp"
#include "tests/sanitized.hpp"
#include "tests/storage/temporary_folder.hpp"

namespace bench_test {

namespace {

/// A name for a file that is gone with this object.
class TemporaryFile {
 public:
  TemporaryFile() { ::close(::mkstemp(path_)); }
  ~TemporaryFile() { ::unlink(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_; }

 private:
  char path_[32] = "/tmp/coracle-test-XXXXXX";
};

void check_row(const nlohmann::json& row, const std::string& printed) {
  const auto name = row.at("name").get<std::string>();
  CAPTURE(name);
  CHECK(printed.find(name) != std::string::npos);
  CHECK_FALSE(row.at("unit").get<std::string>().empty());
  CHECK(row.at("min").get<double>() <= row.at("median").get<double>());
  CHECK(row.at("median").get<double>() <= row.at("max").get<double>());
  if (row.contains("limit")) CHECK_FALSE(row.at("limit").at("name").get<std::string>().empty());
}

/// Runs a benchmark, checks what it prints against its JSON, and gives the tables.
nlohmann::json tables_of(const std::string& benchmark, const std::vector<std::string>& options) {
  TemporaryFile file;
  std::vector<std::string> arguments{"bench", benchmark, "--quick", "--json", file.path()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  Command command(arguments);
  CAPTURE(benchmark);
  const int status = command.wait();
  REQUIRE_MESSAGE(status == 0, command.errors());
  std::ifstream stream(file.path());
  const nlohmann::json json = nlohmann::json::parse(stream);
  for (const char* key : {"version", "compiler", "processor", "kernel", "cores"}) CHECK(json.contains(key));
  CHECK(json.at("quick") == true);
  const nlohmann::json tables = json.at("benchmarks").at(benchmark);
  REQUIRE_FALSE(tables.empty());
  const std::string printed = command.output();
  for (const auto& table : tables) {
    CHECK(printed.find(table.at("title").get<std::string>()) != std::string::npos);
    REQUIRE_FALSE(table.at("rows").empty());
    for (const auto& row : table.at("rows")) check_row(row, printed);
  }
  return tables;
}

/// In a brief run one of them.
std::vector<std::string> placements() {
  std::vector<std::string> all =
      coracle::internals::test::kSanitized ? std::vector<std::string>{} : process_placements();
  if (coracle::internals::test::is_brief() && !all.empty()) return {all.back()};
  all.push_back("thread");
  return all;
}

}  // namespace

TEST_CASE("coracle bench: each benchmark prints its rows, and the same as JSON") {
  for (const std::string& placement : placements()) {
    CAPTURE(placement);
    tables_of("loop", {"--place", placement});
    tables_of("am", {"--place", placement});
    tables_of("atomics", {"--place", placement});
    tables_of("get", {"--place", placement});
    CHECK(tables_of("pack", {"--place", placement}).size() == 5);
    CHECK(tables_of("vis", {"--place", placement}).size() == 2);
    CHECK(tables_of("vis", {"--place", placement, "--nodes", "2", "-n", "3"}).at(1).at("rows").size() == 15);
    tables_of("idle", {"--place", placement, "-n", "3"});
    tables_of("spawn", {"--place", placement, "-n", "3"});
    tables_of("tune", {"--place", placement, "-n", "3"});
  }
}

TEST_CASE("coracle bench --nodes: puts, gets, messages, atomics and the start, beside plain sockets") {
  for (const std::string& placement : placements()) {
    CAPTURE(placement);
    const std::vector<std::string> options{"--nodes", "2", "--transport", "tcp", "--place", placement};
    for (const char* benchmark : {"put", "get", "am", "atomics", "tune"}) {
      const nlohmann::json tables = tables_of(benchmark, options);
      for (const auto& table : tables) {
        CHECK(table.at("title").get<std::string>().find("between nodes by tcp") != std::string::npos);
        for (const auto& row : table.at("rows"))
          CHECK(row.at("limit").at("name").get<std::string>().find("sockets") != std::string::npos);
      }
    }
    const nlohmann::json rows = tables_of("spawn", {"--nodes", "3", "-n", "5", "--place", placement}).at(0).at("rows");
    REQUIRE(rows.size() == 2);
    CHECK(rows.at(0).at("name") == "5 ranks on 3 nodes, " + placement + ", until all have attached");
    CHECK(rows.at(0).at("median").get<double>() <= rows.at(1).at("median").get<double>());
  }
}

TEST_CASE("coracle bench --nodes: ranks that the benchmark does not use rest meanwhile") {
  const nlohmann::json tables = tables_of("atomics", {"--nodes", "3", "-n", "7", "--place", "thread"});
  CHECK(tables.at(0).at("rows").size() == 4);
}

TEST_CASE("coracle bench --transport verbs: measures by RDMA, or says what RDMA lacks here") {
  for (const std::string& placement : placements()) {
    Command command({"bench", "atomics", "--quick", "--nodes", "2", "--transport", "verbs", "--place", placement});
    const int status = command.wait();
    if (status == 0) {
      CHECK(command.output().find("between nodes by verbs") != std::string::npos);
      continue;
    }
    CHECK(status == 1);
    CHECK_MESSAGE(command.errors().find(": verbs: ") != std::string::npos, command.errors());
    CHECK_MESSAGE(command.errors().find("assertion") == std::string::npos, command.errors());
  }
}

TEST_CASE("coracle bench barrier: a row for each number of ranks asked for") {
  const nlohmann::json tables = tables_of("barrier", {"-n", "2,5", "--place", "thread"});
  REQUIRE(tables.size() == 1);
  const nlohmann::json rows = tables.at(0).at("rows");
  REQUIRE(rows.size() == 2);
  CHECK(rows.at(0).at("name") == "2 ranks");
  CHECK(rows.at(1).at("name") == "5 ranks");
}

namespace {

/// Of a collective between nodes: the row is one of all ways, and the best of them is its limit.
void check_ways(const nlohmann::json& row) {
  const nlohmann::json& ways = row.at("details");
  CHECK(ways.size() >= 2);
  bool found = false;
  double least = 1e18;
  for (const auto& median : ways) {
    found = found || median == row.at("median");
    least = std::min(least, median.get<double>());
  }
  CHECK(found);
  CHECK(row.at("limit").at("median") == least);
  CHECK(row.at("limit").at("name").get<std::string>().rfind("the best way, ", 0) == 0);
}

}  // namespace

TEST_CASE("coracle bench ddt: the patterns and ways asked for, each beside the others") {
  for (const std::string& placement : placements()) {
    CAPTURE(placement);
    const nlohmann::json tables = tables_of("ddt", {"--place", placement, "--only", "NAS_MG_x,LAMMPS_atomic", "--ways",
                                                    "automatic,shm,by-hand", "--bytes-max", "11K", "--rounds", "2"});
    REQUIRE(tables.size() == 2);
    const nlohmann::json& rows = tables.at(0).at("rows");
    std::vector<std::string> names;
    for (const auto& row : rows) {
      names.push_back(row.at("name"));
      CHECK(row.at("details").at("way") == "automatic");
      REQUIRE(row.at("others").size() == 2);
      CHECK(row.at("others").at(0).at("name") == "shm");
      CHECK(row.at("others").at(1).at("name") == "by-hand");
      for (const auto& other : row.at("others"))
        CHECK(row.at("limit").at("median").get<double>() <= other.at("median").get<double>());
      CHECK(row.at("details").at("send").at("bytes") == row.at("bytes"));
    }
    CHECK(names == std::vector<std::string>{"NAS_MG_x 34x18x18, 2048 B", "LAMMPS_atomic 145of2157, 6960 B",
                                            "LAMMPS_atomic 114of1217, 5472 B"});
    CHECK(tables.at(1).at("title") == "Over all patterns and sizes");
  }
}

TEST_CASE("coracle bench pagetables: what each placement takes, how it grows, and what one address space saves") {
  if (coracle::internals::test::kSanitized || process_placements().size() < 2) return;
  const nlohmann::json tables = tables_of("pagetables", {"-n", "2,6", "--sizes", "2K", "--rounds", "3"});
  REQUIRE(tables.size() == 2);
  CHECK(tables.at(0).at("rows").size() == 2 * 2 * 6);
  double saved = 0;
  for (const auto& row : tables.at(1).at("rows")) {
    const auto& details = row.at("details");
    if (details.contains("saved") && details.at("saved") == "page tables") saved = details.at("value").get<double>();
  }
  CHECK(saved > 0);  // five address spaces
  CHECK(tables_of("pagetables", {"--place", "thread", "-n", "3"}).size() == 2);
}

TEST_CASE("coracle bench coll: a table for each collective, a row for each number of ranks and each size") {
  std::vector<std::vector<std::string>> ways{{"--place", "sim", "-n", "4", "--nodes", "2"}};
  for (const std::string& placement : placements()) {
    ways.push_back({"--place", placement, "-n", "3,4"});
    ways.push_back({"--place", placement, "-n", "3", "--nodes", "2", "--transport", "tcp"});
  }
  for (std::vector<std::string>& way : ways) {
    CAPTURE(way.at(1));
    way.insert(way.end(), {"--sizes", "8,32K"});
    const std::size_t numbers = way.at(3) == "3,4" ? 2 : 1;
    const nlohmann::json tables = tables_of("coll", way);
    CHECK(tables.size() >= 10);
    int choices = 0;
    for (const auto& table : tables) {
      const std::string title = table.at("title");
      CAPTURE(title);
      const bool chosen = title.rfind("broadcast as chosen", 0) == 0;
      const bool sized = title.rfind("barrier", 0) != 0;
      const bool has_ways = sized && title.rfind("broadcast", 0) != 0 && title.rfind("scan", 0) != 0;
      const auto& row = table.at("rows").at(0);
      CHECK(table.at("rows").size() == numbers * (sized ? 2 : 1));
      CHECK(row.contains("limit") == (way.at(4) != "--nodes" || chosen || has_ways));
      choices += chosen ? 1 : 0;
      if (way.at(4) == "--nodes" && has_ways) check_ways(row);
    }
    CHECK(choices == (way.at(4) == "--nodes" ? 1 : 0));
  }
  CHECK(tables_of("coll", {"--only", "barrier", "-n", "2", "--place", "thread"}).size() == 1);
}

TEST_CASE("coracle bench put: sizes from 8 B to 64 MiB, and no put allocates") {
  for (const std::string& placement : placements()) {
    CAPTURE(placement);
    const nlohmann::json tables = tables_of("put", {"--place", placement});
    double least = 1e9;
    double most = 0;
    for (const auto& row : tables.at(0).at("rows")) {
      CAPTURE(row.at("name").get<std::string>());
      CHECK(row.at("allocations").get<double>() == 0);
      least = std::min(least, row.at("bytes").get<double>());
      most = std::max(most, row.at("bytes").get<double>());
    }
    CHECK(least == 8);
    CHECK(most == 64 << 20);
  }
}

namespace {

/// How often each part stands in the rows' details; and the last row of each.
struct Parts {
  std::map<std::string, int> rows;
  std::map<std::string, nlohmann::json> last;
};

Parts parts_of(const nlohmann::json& tables) {
  Parts parts;
  for (const auto& table : tables)
    for (const auto& row : table.at("rows")) {
      if (!row.contains("details")) continue;
      const auto part = row.at("details").at("part").get<std::string>();
      ++parts.rows[part];
      parts.last[part] = row;
    }
  return parts;
}

/// Of `coracle bench pages`, on small files in a folder of their own, which is empty again afterwards.
Parts pages_parts(std::vector<std::string> options) {
  const coracle::internals::test::TemporaryFolder folder;
  const std::string path = std::filesystem::path(folder.file("x")).parent_path();
  options.insert(options.end(), {"--path", path, "--file-bytes", "32M", "--cache-bytes", "8M"});
  const nlohmann::json tables = tables_of("pages", options);
  CHECK(std::filesystem::is_empty(path));
  return parts_of(tables);
}

}  // namespace

TEST_CASE("coracle bench pages: hits and misses; other caches; and what cooperation saves") {
  for (const std::string& placement : placements()) {
    CAPTURE(placement);
    Parts one = pages_parts({"--place", placement, "-n", "1"});
    CHECK(one.rows == std::map<std::string, int>{
                          {"hits", 8}, {"above memcpy", 8}, {"misses", 3 + 4 * 2}, {"of the limit", 3 + 4 * 2}});
    CHECK(one.last["misses"].at("limit").at("name") == "io_uring, O_DIRECT, depth 4");
    CHECK(one.last["misses"].at("details").at("counts").at("ssd_reads").get<int>() > 0);
    for (const char* nodes : {"1", "2"}) {
      Parts two = pages_parts({"--place", placement, "-n", "2", "--nodes", nodes});
      CHECK(two.rows == std::map<std::string, int>{{"peers", 4 * 2}});
      const nlohmann::json& details = two.last["peers"].at("details");
      CHECK(details.at("peer").at("from_peers") == details.at("peer").at("operations"));
      CHECK(details.at("peer").at("ssd_reads") == 0);
      CHECK(details.at("file").at("ssd_reads") == details.at("file").at("operations"));
    }
    Parts four = pages_parts({"--place", placement, "-n", "4"});
    CHECK(four.rows == std::map<std::string, int>{{"cooperation", 2}});
    CHECK(four.last["cooperation"].at("ratio").get<double>() < 1);
  }
}

TEST_CASE("coracle bench pages: the paper's experiments in virtual time") {
  const nlohmann::json tables = tables_of(
      "pages",
      {"--place", "sim", "-n", "1,3", "--network", coracle::internals::test::in_source("networks/fdr-infiniband.txt")});
  REQUIRE(tables.size() == 9);
  for (const auto& table : tables) {
    REQUIRE(table.at("rows").size() == 2);
    CHECK(table.at("rows").at(1).at("name") == "3 nodes");
  }
  const Parts parts = parts_of(tables);
  CHECK(parts.rows == std::map<std::string, int>{{"sequential", 8}, {"random", 8}, {"false sharing", 2}});
  CHECK(tables == tables_of("pages", {"--place", "sim", "-n", "1,3", "--network",
                                      coracle::internals::test::in_source("networks/fdr-infiniband.txt")}));
}

TEST_CASE("coracle bench pages: sizes and folders that can't be are refused") {
  const auto complaint = [](std::vector<std::string> options) {
    options.insert(options.begin(), {"bench", "pages", "--quick", "-n", "1"});
    Command command(options);
    CHECK(command.wait() != 0);
    return command.errors();
  };
  CHECK(complaint({"--file-bytes", "1M"}).find("--file-bytes 1M: must be a multiple of 4M") != std::string::npos);
  CHECK(complaint({"--cache-bytes", "200M"}).find("--cache-bytes 200M: must be") != std::string::npos);
  CHECK(complaint({"--path", "/does/not/exist"}).find("/does/not/exist") != std::string::npos);
}

TEST_CASE("bench: PEACH2's model has its published plateaus and four channels gain most at 8 KiB") {
  std::map<int, double> plateaus;         // by channel: bytes per nanosecond, of the longest transfer
  std::map<std::uint64_t, double> gains;  // of four channels over one, by bytes
  for (const auto& table : tables_of("dma", {})) {
    for (const auto& row : table.at("rows")) {
      const auto& details = row.at("details");
      const double value = row.at("median").get<double>();
      const double limit = row.at("limit").at("median").get<double>();
      if (details.at("figure") == 1)
        plateaus[details.at("channel").get<int>()] = row.at("bytes").get<double>() / value;
      else if (details.at("figure") == 5)
        gains[details.at("bytes").get<std::uint64_t>()] = limit / value;
      else
        CHECK(value <= limit * 1.001);  // what was learned is no worse than one channel
    }
  }
  REQUIRE(plateaus.size() == 4);
  CHECK(plateaus[0] == doctest::Approx(2.9).epsilon(0.05));
  CHECK(plateaus[1] == doctest::Approx(1.3).epsilon(0.05));
  CHECK(plateaus[2] == doctest::Approx(0.7).epsilon(0.05));
  CHECK(plateaus[3] == doctest::Approx(0.7).epsilon(0.05));
  CHECK(gains[8192] > 1.3);
  CHECK(gains[8192] < 1.5);
  CHECK(gains[4096] > 1.15);
  CHECK(gains[1 << 20] < 1.1);
  for (const auto& [bytes, gain] : gains) CHECK(gain <= gains[8192]);
}

namespace {

struct MappedRows {
  std::map<std::string, int> rows;  ///< By part and way.
  nlohmann::json all = nlohmann::json::array();
};

MappedRows mapped_rows(std::vector<std::string> options) {
  const coracle::internals::test::TemporaryFolder folder;
  const std::string path = std::filesystem::path(folder.file("x")).parent_path();
  options.insert(options.end(), {"--path", path, "--memory-bytes", "16M"});
  MappedRows found;
  for (const auto& table : tables_of("mapped", options)) {
    for (const auto& row : table.at("rows")) {
      const auto& details = row.at("details");
      std::string kind = details.at("part").get<std::string>();
      if (details.contains("way")) kind.append(" ").append(details.at("way").get<std::string>());
      ++found.rows[kind];
      found.all.push_back(row);
    }
  }
  CHECK(std::filesystem::is_empty(path));
  return found;
}

}  // namespace

TEST_CASE("coracle bench dma --device cuda: measures a GPU, or says why there is none and what to do") {
  Command info({"info", "--json"});
  REQUIRE(info.wait() == 0);
  const auto gpus = nlohmann::json::parse(info.output()).at("gpus").at("cuda");
  if (gpus.at("available") == true) {
    std::map<std::string, int> figures;
    for (const auto& table : tables_of("dma", {"--device", "cuda"}))
      for (const auto& row : table.at("rows")) ++figures[row.at("details").at("figure").get<std::string>()];
    for (const char* figure : {"bandwidth", "latency", "rows", "chains"}) CHECK(figures[figure] > 0);
    return;
  }
  Command command({"bench", "dma", "--quick", "--device", "cuda"});
  CHECK(command.wait() == 1);
  for (const std::string& part : {std::string("bench dma --device cuda: no GPU can be used: "),
                                  gpus.at("detail").get<std::string>(), gpus.at("remedy").get<std::string>()})
    CHECK_MESSAGE(command.errors().find(part) != std::string::npos, command.errors());
}

TEST_CASE("coracle bench mapped: gets and windows beside mmap in as much memory") {
  for (const std::string& placement : placements()) {
    CAPTURE(placement);
    MappedRows found = mapped_rows({"--place", placement});
    const auto& details = found.all.at(0).at("details");
    CHECK(found.rows["random get"] == 3);
    CHECK(found.rows["sequential get of 4 MiB"] == 4);
    if (details.contains("why_no_window")) {
      MESSAGE("SKIPPED: no window: " << details.at("why_no_window").get<std::string>());
    } else {
      CHECK(found.rows["random window"] == 2);
      CHECK(found.rows["random window, one core"] == 2);
      CHECK(found.rows["sequential window"] == 4);
    }
    if (details.contains("why_not_limited")) {
      MESSAGE("SKIPPED: " << details.at("why_not_limited").get<std::string>());
      CHECK(found.rows["memory"] == 0);
      continue;
    }
    CHECK(found.rows["memory"] == 2);
    for (const auto& row : found.all) {
      if (row.at("details").at("part") != "memory") continue;
      CHECK(row.at("median").get<double>() > 0);
      CHECK(row.at("median").get<double>() <= row.at("limit").at("median").get<double>());
    }
  }
}

TEST_CASE("coracle bench mapped: what makes no sense is refused") {
  const auto complaint = [](std::vector<std::string> options) {
    options.insert(options.begin(), {"bench", "mapped", "--quick"});
    Command command(options);
    CHECK(command.wait() != 0);
    return command.errors();
  };
  CHECK(complaint({"--memory-bytes", "1M"}).find("--memory-bytes 1M: must be a multiple of 4M") != std::string::npos);
  CHECK(complaint({"-n", "2"}).find("is about one rank") != std::string::npos);
  const std::string no_rival = complaint({"--memory-bytes", "16M", "--rival", "/does/not/exist"});
  CHECK(no_rival.find("can't run /does/not/exist") != std::string::npos);
  const std::string ended = complaint({"--memory-bytes", "16M", "--rival", "/bin/true"});
  CHECK(ended.find("the process /bin/true that reads a file has ended") != std::string::npos);
}

TEST_CASE("coracle bench: what can't be measured is refused") {
  struct Refusal {
    std::vector<std::string> arguments;
    int status;
    std::string message;
  };
  const std::vector<Refusal> refusals{
      {{"bench"}, 2, "NAME is required"},
      {{"bench", "luck"}, 2, "no benchmark is named 'luck'; there are loop, put"},
      {{"bench", "put", "-n", "1"}, 2, "-n 1: put needs at least 2 ranks"},
      {{"bench", "loop", "-n", "0"}, 2, "-n 0: must be from 1"},
      {{"bench", "loop", "--place", "sim"}, 2, "virtual time"},
      {{"bench", "loop", "--place", "moon"}, 2, "--place moon: must be pvas, process, thread or sim"},
      {{"bench", "loop", "--nodes", "2"}, 2, "--nodes 2: loop is about one node"},
      {{"bench", "put", "--nodes", "0"}, 2, "--nodes 0: must be from 1"},
      {{"bench", "put", "--nodes", "3", "-n", "2"}, 2, "--nodes 3: there are only 2 ranks"},
      {{"bench", "put", "--transport", "tcp"}, 2, "--transport: only --nodes 2 and more use one"},
      {{"bench", "put", "--nodes", "2", "--transport", "pigeon"}, 2, "--transport pigeon: must be auto, tcp or verbs"},
      {{"bench", "put", "--device", "cuda"}, 2, "--device: is only for dma"},
      {{"bench", "dma", "--device", "cuda:x"}, 2, "--device cuda:x: must be peach2 (its model), cuda or cuda:N"},
      {{"bench", "all", "--device", "cuda"}, 2, "--device cuda: measure dma by itself"},
      {{"bench", "dma", "--device", "cuda:1", "--place", "pvas"}, 2, "leave out --place, -n and --nodes"},
      {{"bench", "loop", "--json", "/nonexistent/file"}, 1, "can't write /nonexistent/file"},
  };
  for (const Refusal& refusal : refusals) {
    Command command(refusal.arguments);
    CAPTURE(refusal.message);
    CHECK(command.wait() == refusal.status);
    CHECK_MESSAGE(command.errors().find(refusal.message) != std::string::npos, command.errors());
  }
}

TEST_CASE("coracle bench arrival: every method, in real and in virtual time") {
  std::vector<std::string> all = placements();
  all.push_back("sim");
  for (const std::string& placement : all) {
    CAPTURE(placement);
    const nlohmann::json tables = tables_of("arrival", {"--place", placement, "-n", "5", "--sizes", "64,20K"});
    REQUIRE(tables.size() == 2);
    CHECK(tables.at(0).at("rows").size() == 12);
    for (const auto& row : tables.at(0).at("rows")) CHECK(row.contains("limit"));
    const nlohmann::json nodes = tables_of("arrival", {"--place", placement, "-n", "6", "--nodes", "3", "--trees",
                                                       "ring,binomial", "--methods", "competitive"});
    REQUIRE(nodes.size() == 3);
    CHECK(nodes.at(1).at("rows").size() == 8);
  }
}

TEST_CASE("coracle bench arrival: words that mean nothing are refused") {
  const auto complaint = [](std::vector<std::string> options) {
    options.insert(options.begin(), {"bench", "arrival", "--quick"});
    Command command(options);
    const int status = command.wait();
    CHECK(status != 0);
    return command.errors();
  };
  CHECK(complaint({"--delays", "-1"}).find("--delays -1: must be 0, or times") != std::string::npos);
  CHECK(complaint({"--methods", "quick"}).find("there are auto, plain, pipelined, competitive") != std::string::npos);
  CHECK(complaint({"--trees", "oak"}).find("there are auto, binomial") != std::string::npos);
  CHECK(complaint({"--arrival", "/does/not/exist"}).find("/does/not/exist") != std::string::npos);
  CHECK(complaint({"--iterations", "-3"}).find("--iterations: -3") != std::string::npos);
  CHECK(complaint({"--network", "x"}).find("--network: only the simulated network") != std::string::npos);
  Command command({"bench", "am", "--quick", "--place", "sim"});
  CHECK(command.wait() == 2);
  CHECK(command.errors().find("am has no meaning") != std::string::npos);
}

}  // namespace bench_test
