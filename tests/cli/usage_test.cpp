// Bad input gets a clear message: status 2 for wrong usage, 1 for what the world refuses.
#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "runtime/pvas/address_space.hpp"
#include "tests/cli/command.hpp"

namespace usage_test {

namespace {

struct Refusal {
  std::vector<std::string> arguments;
  int status;
  std::string message;
};

/// Nothing is printed but the complaint, in one line that begins with the command's name.
void check_refusals(const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    Command command(refusal.arguments);
    CAPTURE(refusal.message);
    CHECK(command.wait() == refusal.status);
    CHECK(command.errors().find("coracle: ") == 0);
    CHECK_MESSAGE(command.errors().find(refusal.message) != std::string::npos, command.errors());
    CHECK(command.output().empty());
  }
}

}  // namespace

TEST_CASE("coracle run: words that can't be meant are refused, and the exit status tells usage from the world") {
  const std::string missing = "/nonexistent/program";
  check_refusals({
      {{"run"}, 2, "the program to run is missing"},
      {{"run", "-n", "many", "true"}, 2, "many"},
      {{"run", "--place", "cloud", "true"}, 2, "--place cloud: must be pvas, process, thread or sim"},
      {{"run", "-n", "2", "--nodes", "3", "true"}, 2, "--nodes 3: there are only 2 ranks"},
      {{"run", "--colour", "true"}, 2, "unknown option --colour"},
      {{"run", "-n", "2", "--ranks", "3", "true"}, 2, "--ranks: is given 2 times; give it once"},
      {{"run", "--place", "sim", "--seed", "1", "--seed", "1", "true"}, 2, "--seed: is given 2 times; give it once"},
      {{"run", "--survive", "--survive", "true"}, 2, "--survive: is given 2 times; give it once"},
      {{"run", "-v", "-v", "true"}, 2, "--verbose: is given 2 times; give it once"},
      {{"run", "--nodes"}, 2, "--nodes: its value is missing; write one behind it"},
      {{"run", "--hosts", "a,b:4", "true"}, 2, "--hosts a,b:4: give all hosts a number of ranks, or none"},
      {{"run", "--hosts", "a,b", "true"}, 2, "--hosts: say how many ranks, by -n or as in a:4,b:4"},
      {{"run", "--hosts", "a:2,b:2", "-n", "5", "true"}, 2, "-n 5: the hosts have 4 ranks; leave -n out"},
      {{"run", "--hosts", "a,b", "-n", "4", "--nodes", "3", "true"},
       2,
       "--nodes 3: --hosts names 2; leave --nodes out"},
      {{"run", "--place", "sim", "--hosts", "a,b", "-n", "4", "true"}, 2, "--hosts: --place sim runs in one process"},
      {{"run", "--ssh", "rsh", "true"}, 2, "--ssh rsh: it is for reaching hosts; name them by --hosts"},
      {{"run", "--interface", "eth0", "true"}, 2, "--interface eth0: this job has no other nodes"},
      {{"run", "--seed", "5", "true"}, 2, "--seed 5: only --place sim has a schedule to repeat"},
      {{"run", "--place", "process", "--network", "model", "true"}, 2, "--place sim"},
      {{"run", "--place", "sim", "--network", missing, "true"}, 1, "can't read the network model " + missing},
      {{"run", "--place", "process", "--faults", "random", "true"}, 2, "--place sim"},
      {{"run", "--place", "sim", "--faults", missing, "true"}, 1, "can't read the fault plan " + missing},
      {{"run", "no-such-program"}, 1, "can't find the program 'no-such-program' in PATH"},
      {{"run", missing}, 1, "can't run " + missing + ": No such file or directory"},
      {{"run", "/tmp"}, 1, "can't run /tmp: Is a directory"},
      {{"run", "/etc/passwd"}, 1, "can't run /etc/passwd: Permission denied"},
      {{"run", "--hosts=", "true"}, 2, "--hosts: the value behind = is missing: write one, or leave --hosts out"},
  });
}

TEST_CASE("coracle run: numbers, sizes and times outside their limits are refused with these") {
  check_refusals({
      {{"run", "-n", "0", "true"}, 2, "-n 0: must be from 1"},
      {{"run", "-n", "-3", "true"}, 2, "-n -3: must be from 1"},
      {{"run", "--nodes", "0", "true"}, 2, "--nodes 0: must be from 1"},
      {{"run", "--timeout", "soon", "true"}, 2, "--timeout soon: must be a time such as"},
      {{"run", "--timeout", "0s", "true"}, 2, "--timeout 0s: must be a time such as"},
      {{"run", "--segment", "-1G", "true"}, 2, "--segment -1G: must be a size such as"},
      {{"run", "--segment", "1X", "true"}, 2, "--segment 1X: must be a size such as"},
      {{"run", "--bind", "ship", "true"}, 2, "--bind ship: must be core, share or none"},
      {{"run", "-n", "p", "true"}, 2, "-n p: must be from 1 to 1048576"},
      {{"run", "-n", "1e3", "true"}, 2, "-n 1e3: must be from 1 to 1048576"},
      {{"run", "-n", "99999999999999999999", "true"}, 2, "-n 99999999999999999999: must be from 1 to 1048576"},
      {{"run", "-np", "0", "true"}, 2, "-n 0: must be from 1"},
      {{"run", "-np0", "true"}, 2, "-n 0: must be from 1"},
      {{"run", "--np=0", "true"}, 2, "-n 0: must be from 1"},
      {{"run", "--nodes", "two", "true"}, 2, "--nodes two: must be from 1 to 1048576"},
      {{"run", "--connections", "0", "true"}, 2, "--connections 0: must be from 1 to 1048576"},
      {{"run", "--hosts", "a:4294967295,b:1", "true"}, 2, "--hosts a:4294967295,b:1: must be names"},
      {{"run", "--hosts", "a,,b", "-n", "4", "true"}, 2, "--hosts a,,b: must be names"},
      {{"run", "--segment", "1K", "true"}, 2, "--segment 1K: must be at least 128K, of which the library itself takes"},
      {{"run", "--segment", "nan", "true"}, 2, "--segment nan: must be a size such as"},
      {{"run", "--segment", "8388608T", "true"}, 2, "--segment 8388608T: must be a size such as"},
      {{"run", "--silence", "99ms", "true"}, 2, "--silence 99ms: must be at least 100ms"},
      {{"run", "--silence", "11y", "true"}, 2, "--silence 11y: must be a time such as 500ms, 30s or 5m (30: seconds)"},
      {{"run", "--timeout", "-5", "true"}, 2, "--timeout -5: must be a time such as"},
      {{"run", "--timeout", "inf", "true"}, 2, "--timeout inf: must be a time such as"},
      {{"run", "--eager", "2M", "true"}, 2, "--eager 2M: must be a size from 1 to 1048576 bytes"},
      {{"run", "--unexpected", "0", "true"}, 2, "--unexpected 0: must be a size from 1 to"},
      {{"run", "--place", "sim", "--seed", "-1", "true"}, 2, "--seed -1: must be from 0 to 18446744073709551615"},
      {{"run", "--place", "sim", "--seed", "18446744073709551616", "true"}, 2, "--seed 18446744073709551616: must be"},
  });
}

TEST_CASE("coracle: bad input is named in the message of every command") {
  check_refusals({
      {{}, 2, "A subcommand is required"},
      {{"sail"}, 2, "there is no command 'sail'; there are run, info"},
      {{"info", "--json=x"}, 2, "--json: it does not take x (`coracle info --help` explains)"},
      {{"info", "--everything"}, 2, "--everything"},
      {{"gdb"}, 2, "gdb: name a process, or a program and its core file (`coracle gdb --help` explains)"},
      {{"pages"}, 2, "A subcommand is required"},
      {{"pages", "check"}, 2, "FILE is required"},
      {{"pages", "check", "/nonexistent/file.0"},
       2,
       "opening of /nonexistent/file.0 failed: No such file or directory"},
      {{"pages", "check", "/etc/passwd"}, 2, "/etc/passwd is not a page store"},
      {{"bench", "put", "--place", "sim"}, 2, "--place sim: in its virtual time put has no meaning"},
      {{"bench", "coll", "--sizes", "8,12"}, 2, "--sizes 12: must be a multiple of 8 bytes"},
      {{"bench", "barrier", "--sizes", "8"}, 2, "--sizes: is only for arrival, coll, pagetables, pingpong"},
      {{"bench", "arrival", "--only", "scan"}, 2, "--only: is only for coll, ddt"},
      {{"bench", "coll", "--only", "cast"}, 2, "--only cast: there are barrier, broadcast"},
      {{"bench", "ddt", "--only", "WRF"}, 2, "--only WRF: there are WRF_x_vec, WRF_x_sa"},
      {{"bench", "ddt", "--ways", "by-sea"}, 2, "--ways by-sea: there are "},
      {{"bench", "ddt", "--bytes-max", "0"}, 2, "--bytes-max 0: must be a size such as 64K"},
      {{"bench", "pagetables", "--rounds", "10001"}, 2, "--rounds: 10001 is no whole number from 1 to 10000"},
      {{"bench", "ddt", "--rounds", "-1"}, 2, "--rounds: -1 is no whole number from 1 to 10000"},
      {{"bench", "ddt", "--rounds", "0"}, 2, "--rounds: 0 is no whole number from 1 to 10000"},
      {{"bench", "arrival", "--iterations", "0"}, 2, "--iterations: 0 is no whole number from 1 to 10000000"},
      {{"bench", "arrival", "--fan-out", "few"}, 2, "--fan-out: few is no whole number from 1 to 1048576"},
      {{"bench", "arrival", "--arrival-seed", "-1"}, 2, "--arrival-seed: -1 is no whole number from 0"},
      {{"bench", "barrier", "-n", "2,many"}, 2, "-n many: must be from 1 to 1048576"},
      {{"bench", "-n", "1", "put", "get"}, 2, "-n 1: put needs at least 2 ranks"},
      {{"bench", "barrier", "--nodes", "-1"}, 2, "--nodes -1: must be from 1 to 1048576"},
      {{"bench", "barrier", "--seed", "5"}, 2, "--seed: only --place sim has a schedule to repeat"},
      {{"bench", "coll", "--place", "sim", "--seed", "-1"}, 2, "--seed -1: must be from 0 to"},
      {{"bench", "loop", "--json", ""}, 2, "--json: the value is empty: write one, or leave the option out"},
      {{"pages", "check", ""}, 2, "FILE: the value is empty"},
      {{"info", "all"}, 2, "The following argument was not expected: all"},
      {{"bench", "put", "--rounds", "3"}, 2, "--rounds: is only for ddt, pagetables"},
      {{"bench", "put", "--ways", "shm"}, 2, "--ways, --bytes-max: is only for ddt"},
  });
}

TEST_CASE("coracle run: no option takes an empty value for none") {
  for (const std::string option : {"-n", "--ranks", "--place", "--nodes", "--hosts", "--ssh", "--interface",
                                   "--transport", "--silence", "--connections", "--segment", "--timeout", "--seed",
                                   "--network", "--faults", "--intranode", "--eager", "--unexpected", "--bind"}) {
    CAPTURE(option);
    Command separate({"run", option, "", "true"});
    CHECK(separate.wait() == 2);
    CHECK_MESSAGE(separate.errors().find(": the value is empty: write one") != std::string::npos, separate.errors());
    if (option == "-n") continue;
    // The program must not be taken for the value.
    Command joined({"run", option + "=", "true"});
    CHECK(joined.wait() == 2);
    CHECK_MESSAGE(joined.errors().find(option + ": the value behind = is missing") != std::string::npos,
                  joined.errors());
  }
}

TEST_CASE("coracle run: segments that no process could address are refused, also where their sum would wrap") {
  for (const char* placement : {"pvas", "process", "thread", "sim"}) {
    if (placement == std::string("pvas") && !coracle::internals::pvas::probe().available) continue;
    for (const char* segment : {"4194304T", "4194303T", "32T"}) {
      CAPTURE(placement);
      CAPTURE(segment);
      Command command({"run", "-n", "8", "--place", placement, "--segment", segment, "true"});
      CHECK(command.wait() == 1);
      CHECK_MESSAGE(command.errors().find("coracle: ") == 0, command.errors());
      CHECK_MESSAGE(command.errors().find("smaller --segment") != std::string::npos, command.errors());
    }
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
  if (!coracle::internals::pvas::probe().available) return;
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
  CHECK(json["placements"]["pvas"]["available"] == coracle::internals::pvas::probe().available);
  CHECK_FALSE(json["cores"].empty());
}

TEST_CASE("coracle: --help and --version are no errors") {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"--version"}, {"run", "--help"}, {"info", "--help"}, {"gdb", "--help"}}) {
    Command command(arguments);
    CHECK(command.wait() == 0);
    CHECK_FALSE(command.output().empty());
  }
}

}  // namespace usage_test
