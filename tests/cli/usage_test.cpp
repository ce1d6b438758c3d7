// Bad input gets a clear message: status 2 for wrong usage, 1 for what the world refuses.
#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "runtime/pvas/address_space.hpp"
#include "tests/cli/command.hpp"

namespace {

struct Refusal {
  std::vector<std::string> arguments;
  int status;
  std::string message;
};

}  // namespace

TEST_CASE("coracle: bad input is named in the message, and the exit status tells usage from the world") {
  const std::string missing = "/nonexistent/program";
  const std::vector<Refusal> refusals{
      {{}, 2, "A subcommand is required"},
      {{"sail"}, 2, "there is no command 'sail'; there are run, info"},
      {{"run"}, 2, "the program to run is missing"},
      {{"run", "-n", "0", "true"}, 2, "-n 0: must be from 1"},
      {{"run", "-n", "-3", "true"}, 2, "-n -3: must be from 1"},
      {{"run", "-n", "many", "true"}, 2, "many"},
      {{"run", "--place", "cloud", "true"}, 2, "--place cloud: must be pvas, process, thread or sim"},
      {{"run", "-n", "2", "--nodes", "3", "true"}, 2, "--nodes 3: there are only 2 ranks"},
      {{"run", "--nodes", "0", "true"}, 2, "--nodes 0: must be from 1"},
      {{"run", "--timeout", "soon", "true"}, 2, "--timeout soon: must be a time such as"},
      {{"run", "--timeout", "0s", "true"}, 2, "--timeout 0s: must be a time such as"},
      {{"run", "--segment", "-1G", "true"}, 2, "--segment -1G: must be a size such as"},
      {{"run", "--segment", "1X", "true"}, 2, "--segment 1X: must be a size such as"},
      {{"run", "--bind", "ship", "true"}, 2, "--bind ship: must be core, share or none"},
      {{"run", "--colour", "true"}, 2, "unknown option --colour"},
      {{"run", "--place", "process", "--network", "model", "true"}, 2, "--place sim"},
      {{"run", "--place", "sim", "--network", missing, "true"}, 1, "can't read the network model " + missing},
      {{"run", "--place", "process", "--faults", "random", "true"}, 2, "--place sim"},
      {{"run", "--place", "sim", "--faults", missing, "true"}, 1, "can't read the fault plan " + missing},
      {{"run", "no-such-program"}, 1, "can't find the program 'no-such-program' in PATH"},
      {{"run", missing}, 1, "can't run " + missing + ": No such file or directory"},
      {{"run", "/tmp"}, 1, "can't run /tmp: Is a directory"},
      {{"run", "/etc/passwd"}, 1, "can't run /etc/passwd: Permission denied"},
      {{"info", "--everything"}, 2, "--everything"},
      {{"pages"}, 2, "A subcommand is required"},
      {{"pages", "check"}, 2, "FILE is required"},
      {{"pages", "check", "/nonexistent/file.0"},
       2,
       "opening of /nonexistent/file.0 failed: No such file or directory"},
      {{"pages", "check", "/etc/passwd"}, 2, "/etc/passwd is not a page store"},
      {{"bench", "put", "--place", "sim"}, 2, "--place sim: in its virtual time put has no meaning"},
      {{"bench", "coll", "--sizes", "8,12"}, 2, "--sizes 12: must be a multiple of 8 bytes"},
      {{"bench", "barrier", "--sizes", "8"}, 2, "--sizes: is only for coll, pagetables, pingpong, upa"},
      {{"bench", "upa", "--only", "scan"}, 2, "--only: is only for coll, ddt"},
      {{"bench", "coll", "--only", "cast"}, 2, "--only cast: there are barrier, broadcast"},
      {{"bench", "ddt", "--only", "WRF"}, 2, "--only WRF: there are WRF_x_vec, WRF_x_sa"},
      {{"bench", "ddt", "--ways", "by-sea"}, 2, "--ways by-sea: there are "},
      {{"bench", "ddt", "--bytes-max", "0"}, 2, "--bytes-max 0: must be a size such as 64K"},
      {{"bench", "pagetables", "--rounds", "10001"}, 2, "--rounds 10001: must be from 1 to 10000"},
      {{"bench", "ddt", "--rounds", "-1"}, 2, "--rounds -1: must be from 1 to 10000"},
      {{"bench", "put", "--rounds", "3"}, 2, "--rounds: is only for ddt, pagetables"},
      {{"bench", "put", "--ways", "shm"}, 2, "--ways, --bytes-max: is only for ddt"},
  };
  for (const Refusal& refusal : refusals) {
    Command command(refusal.arguments);
    CAPTURE(refusal.message);
    CHECK(command.wait() == refusal.status);
    CHECK(command.errors().find("coracle: ") == 0);
    CHECK_MESSAGE(command.errors().find(refusal.message) != std::string::npos, command.errors());
    CHECK(command.output().empty());
  }
}

TEST_CASE("coracle run: what can't be executed is refused with the reason, and nothing is left running") {
  char path[] = "/tmp/coracle-test-XXXXXX";
  const int fd = ::mkstemp(path);
  REQUIRE(fd >= 0);
  REQUIRE(::write(fd, "no program\n", 11) == 11);
  REQUIRE(::fchmod(fd, 0700) == 0);
  ::close(fd);
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    Command command({"run", "-n", "2", "--place", placement, path});
    CHECK(command.wait() == 1);
    CHECK_MESSAGE(command.errors().find(path) != std::string::npos, command.errors());
  }
  ::unlink(path);
}

TEST_CASE("coracle run: a program at a fixed address can't run in a shared address space") {
  if (!coracle::pvas::probe().available) return;
  Command command({"run", "-n", "2", "--place", "pvas", test_program("pvas-fixed")});
  CHECK(command.wait() == 1);
  CHECK_MESSAGE(command.errors().find("pvas-fixed") != std::string::npos, command.errors());
  CHECK_MESSAGE(command.errors().find("position-independent") != std::string::npos, command.errors());
}

TEST_CASE("coracle info: tells of every placement, to people and to programs") {
  Command people({"info"});
  CHECK(people.wait() == 0);
  for (const char* word :
       {"kernel", "usable cores", "pvas", "process", "thread", "sim", "io_uring", "userfaultfd", "vm.max_map_count"})
    CHECK_MESSAGE(people.output().find(word) != std::string::npos, word);
  Command programs({"info", "--json"});
  CHECK(programs.wait() == 0);
  const auto json = nlohmann::json::parse(programs.output());
  CHECK(json["placements"].size() == 4);
  CHECK(json["placements"]["pvas"]["available"] == coracle::pvas::probe().available);
  CHECK_FALSE(json["cores"].empty());
}

TEST_CASE("coracle: --help and --version are no errors") {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"--version"}, {"run", "--help"}, {"info", "--help"}}) {
    Command command(arguments);
    CHECK(command.wait() == 0);
    CHECK_FALSE(command.output().empty());
  }
}
