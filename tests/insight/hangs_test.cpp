// Real jobs that hang, in all placements: the verdict names the right ranks and lines of the program; and those that
// only take their time, of which nothing is told.
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/brief.hpp"
#include "tests/cli/command.hpp"
#include "tests/places.hpp"

namespace hangs_test {

namespace {

using Words = std::vector<std::string>;

struct Shape {
  Words options;
  bool simulated = false;
};

/// As many as there is time for: jobs of several nodes, and threads, share most of what is tested here.
std::vector<Shape> shapes() {
  std::vector<Shape> shapes;
  for (const std::string& place : process_placements()) shapes.push_back({{"--place", place}});
  shapes.push_back({{"--place", "process", "--nodes", "2"}});
  shapes.push_back({{"--place", "thread"}});
  shapes.push_back({{"--place", "sim"}, true});
  return shapes;
}

/// "hangs.cpp:12", where the program has the mark at a line's end.
std::string place_of(const std::string& mark) {
  std::ifstream source(coracle::internals::test::in_source("tests/programs/hangs.cpp"));
  std::string line;
  for (int number = 1; std::getline(source, line); ++number)
    if (line.ends_with("// " + mark)) return "hangs.cpp:" + std::to_string(number);
  return "no line of hangs.cpp ends with " + mark;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// The file of a paged segment, which is gone with this.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("hangs-" + std::to_string(::getpid()))) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file() const { return path_ / "pages"; }

 private:
  std::filesystem::path path_;
};

struct Hang {
  std::string how;
  int ranks;
  Words told;                      // parts of what is said; of those that begin with '@' the place of the mark
  bool only_of_processes = false;  // a thread, or a simulated rank, can't
  bool but_not_simulated = false;
};

const std::vector<Hang>& hangs() {
  static const std::vector<Hang> kAll{
      {"receives",
       2,
       {"deadlock: rank 0 waits for rank 1 waits for rank 0, both in receive, tag 7", "@CYCLE OF RECEIVES"}},
      {"receives", 3, {"deadlock: rank 0 waits for rank 1 waits for rank 2 waits for rank 0, all in receive, tag 7"}},
      {"sends", 2, {"deadlock: rank 0 waits for rank 1 waits for rank 0, both in send, tag 7", "@CYCLE OF SENDS"}},
      {"wrong tag",
       3,
       {"deadlock: rank 0 waits to receive from rank 1, tag 5", "@WRONG TAG", "rank 1 sends with tag 4"}},
      {"wrong tag of long",
       2,
       {"rank 0 waits to receive from rank 1, tag 5", "@WRONG TAG OF LONG", "rank 1 sends with tag 4 at",
        "@SENDS ANOTHER TAG"}},
      {"wrong source",
       3,
       {"rank 0 waits to receive from rank 2, tag 5", "@WRONG SOURCE", "but rank 1 sends to it with tag 5"}},
      {"left",
       3,
       {"deadlock: rank 0 waits to receive from rank 1, tag 9", "@WAITS FOR ONE THAT HAS LEFT",
        "but rank 1 has left its function"}},
      {"missing member",
       4,
       {"deadlock: 3 of 4 are in all_reduce", "#1 of all ranks", "@MEMBERS WAIT",
        "rank 1 waits to receive from rank 0, tag 3", "@MISSING MEMBER"}},
      {"two teams",
       2,
       {"deadlock: rank 0 waits for rank 1 waits for rank 0", "@FIRST TEAM FIRST", "@OTHER TEAM FIRST"}},
      {"lost signal", 3, {"deadlock: rank 0 waits for a signal", "@LOST SIGNAL", "nobody is left"}},
      {"scope", 2, {"deadlock: rank 0 waits (event)", "@NEVER SET", "nobody is left"}},
      {"mutexes", 2, {"deadlock: rank 0 waits (mutex)", "@LOCKED BY THE OTHER", "nobody is left"}},
      {"handlers", 2, {"deadlock: ", "@CALLS"}},
      {"computes",
       3,
       {"slow, or for ever: ranks 0 and 2 wait for rank 1, which computes at", "@COMPUTES",
        "@WAITS FOR ONE THAT COMPUTES"},
       false,
       true},
      {"stopped", 3, {"deadlock: rank 1 is stopped by a signal", "ranks 0 and 2 wait for it"}, true},
      {"page", 2, {"deadlock: ", "@HOLDS A PAGE", "@WAITS FOR A PAGE"}},
  };
  return kAll;
}

void check_told(const Hang& hang, const Shape& shape, const Folder& folder) {
  Words arguments{"run", "-n", std::to_string(hang.ranks), "--stall", "1s"};
  arguments.insert(arguments.end(), shape.options.begin(), shape.options.end());
  arguments.insert(arguments.end(), {test_program("hangs"), hang.how, folder.file()});
  Command command(arguments);
  CAPTURE(hang.how);
  CAPTURE(shape.options);
  const std::string first = hang.told.front();
  CHECK(command.says(first));
  if (!shape.simulated) command.signal(SIGTERM);
  const int status = command.wait();
  CAPTURE(status);
  const std::string text = command.errors();
  CAPTURE(text);
  for (const std::string& part : hang.told) {
    const std::string wanted = part.starts_with("@") ? place_of(part.substr(1)) : part;
    CAPTURE(wanted);
    CHECK(text.find(wanted) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("verdicts of jobs: whoever hangs is told why, with the lines of the program") {
  const Folder folder;
  std::size_t turn = 0;
  for (const Hang& hang : hangs()) {
    for (const Shape& shape : shapes()) {
      const std::string& place = shape.options[1];
      if (hang.only_of_processes && (place == "thread" || shape.simulated)) continue;
      if (hang.but_not_simulated && shape.simulated) continue;
      // In brief each in some of the shapes, and together in all.
      if (coracle::internals::test::is_brief() && turn++ % 3 != 0) continue;
      check_told(hang, shape, folder);
    }
  }
}

TEST_CASE("verdicts of jobs: whoever only takes his time is not accused") {
  for (const std::string how : {"slow timer", "slow steps", "slow pipe", "slow chain"}) {
    for (const Shape& shape : shapes()) {
      if (coracle::internals::test::is_brief() && shape.options.size() > 2) continue;
      if (how == "slow pipe" && shape.simulated) continue;
      Words arguments{"run", "-n", "3", "--stall", "500ms"};
      arguments.insert(arguments.end(), shape.options.begin(), shape.options.end());
      arguments.insert(arguments.end(), {test_program("hangs"), how});
      Command command(arguments);
      CAPTURE(arguments);
      CHECK(command.wait() == 0);
      const std::string text = command.errors();
      CAPTURE(text);
      CHECK(text.find("deadlock") == std::string::npos);
    }
  }
}

TEST_CASE("verdicts of jobs: another terminal asks which jobs there are, and why one waits") {
  Command job({"run", "-n", "2", "--place", "process", "--stall", "1s", test_program("hangs"), "receives"});
  REQUIRE(job.says("deadlock: rank 0"));
  Command list({"ps"});
  CHECK(list.wait() == 0);
  const std::string jobs = list.output();
  CAPTURE(jobs);
  const std::string number = std::to_string(job.pid());
  REQUIRE(jobs.find(number + " ") != std::string::npos);
  Command why({"why", number});
  CHECK(why.wait() == 0);
  CHECK(why.output().starts_with("deadlock: rank 0 waits for rank 1 waits for rank 0, both in receive, tag 7\n"));
  Command json({"why", number, "--json"});
  CHECK(json.wait() == 0);
  CHECK(json.output().find(R"("kind":"cycle")") != std::string::npos);
  CHECK(json.output().find('"' + place_of("CYCLE OF RECEIVES") + '"') != std::string::npos);
  job.signal(SIGTERM);
  job.wait();
  Command gone({"why", number});
  CHECK(gone.wait() == 1);
  CHECK(gone.errors().find("is no job of yours") != std::string::npos);
}

TEST_CASE("verdicts of jobs: what is told is appended to a log, a line of JSON each time") {
  const Folder folder;
  const std::string log = folder.file() + ".log";
  for (int i = 1; i <= 2; ++i) {
    Command job({"run", "-n", "2", "--place", "process", "--stall", "1s", test_program("hangs"), "receives"},
                {"CORACLE_STALL_LOG=" + log});
    REQUIRE(job.says("deadlock: rank 0"));
    CHECK(soon([&] { return lines_of(log).size() == static_cast<std::size_t>(i); }));
    job.signal(SIGTERM);
    job.wait();
    const nlohmann::json told = nlohmann::json::parse(lines_of(log).back());
    CHECK(told["job"] == job.pid());
    CHECK(told["command"].get<std::string>().ends_with("hangs receives"));
    CHECK(told["explanation"]["verdicts"][0]["kind"] == "cycle");
  }
  Command nowhere({"run", "-n", "2", "--place", "process", "--stall", "1s", "--stall-log", folder.file() + "/no/log",
                   test_program("hangs"), "receives"});
  CHECK(nowhere.says("can't write to the stall log " + folder.file() + "/no/log: No such file"));
  nowhere.signal(SIGTERM);
  nowhere.wait();
}

TEST_CASE("verdicts of jobs: the time limit's report begins with it") {
  Command job(
      {"run", "-n", "2", "--place", "process", "--stall", "0", "--timeout", "1s", test_program("hangs"), "receives"});
  CHECK(job.wait() == 124);
  const std::string text = job.errors();
  CAPTURE(text);
  const std::size_t verdict = text.find("deadlock: rank 0 waits for rank 1 waits for rank 0");
  REQUIRE(verdict != std::string::npos);
  CHECK(verdict < text.find("rank 0: 1 wait"));
}

TEST_CASE("verdicts of jobs: what no stall time can be is refused") {
  Command shorter({"run", "--stall", "1ms", test_program("hangs"), "receives"});
  CHECK(shorter.wait() == 2);
  CHECK(shorter.errors().find("--stall 1ms: must be at least 100ms, or 0 for never") != std::string::npos);
  Command word({"run", test_program("hangs"), "receives"}, {"CORACLE_STALL=soon"});
  CHECK(word.wait() == 2);
  CHECK(word.errors().find("CORACLE_STALL soon: must be a time") != std::string::npos);
}

}  // namespace hangs_test
