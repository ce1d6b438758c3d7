// Ranks that crash, hang or leave early: what the launcher says of them.
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "runtime/pvas/address_space.hpp"
#include "tests/cli/command.hpp"
#include "tests/sanitized.hpp"

namespace misbehaviour_test {

namespace {

struct Ending {
  std::string what;
  int status;
  std::vector<std::string> messages;
};

std::vector<std::string> real_time_placements() {
  std::vector<std::string> placements = process_placements();
  placements.emplace_back("thread");
  return placements;
}

std::vector<std::string> all_placements() {
  std::vector<std::string> placements = real_time_placements();
  placements.emplace_back("sim");
  return placements;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("coracle run: a rank that crashes is named with its signal, its address and a backtrace") {
  // Sanitizers handle SIGSEGV and SIGFPE themselves.
  std::vector<Ending> endings{
      {"abort", 128 + SIGABRT, {"coracle: rank 2 (pid ", ") was killed by SIGABRT", "misbehave"}},
      {"assert",
       128 + SIGABRT,
       {"coracle: rank 2: assertion failed: what.empty(): this is assert", ") was killed by SIGABRT"}},
      {"throw",
       128 + SIGABRT,
       {"was killed by SIGABRT", "uncaught exception: std::runtime_error: thrown in a thread\n"}},
  };
  if (!coracle::internals::test::kSanitized) {
    endings.push_back({"segv",
                       128 + SIGSEGV,
                       {"coracle: rank 2 (pid ", ") was killed by SIGSEGV (address 0x0, not mapped)", "misbehave"}});
    endings.push_back({"divide", 128 + SIGFPE, {") was killed by SIGFPE (address 0x", "integer division by zero)"}});
  }
  for (const std::string& placement : all_placements()) {
    for (const Ending& ending : endings) {
      CAPTURE(placement);
      CAPTURE(ending.what);
      Command command({"run", "-n", "3", "--place", placement, test_program("misbehave"), ending.what, "2"});
      CHECK(command.wait() == ending.status);
      for (const std::string& message : ending.messages)
        CHECK_MESSAGE(contains(command.errors(), message), command.errors());
      CHECK(contains(command.errors(), "coracle: job ended, exit status " + std::to_string(ending.status) + "\n"));
    }
  }
}

TEST_CASE("coracle run: a rank that ends while others wait for it ends the job") {
  for (const std::string& placement : process_placements()) {
    for (const Ending& ending :
         {Ending{"exit 7", 7, {"coracle: rank 1 (pid ", ") exited with status 7\n"}},
          Ending{"exit 0", 1, {"coracle: rank 1 (pid ", "ended before its coracle::run had returned"}},
          Ending{"error", 1, {"coracle: rank 1: thrown in a rank\n", ") exited with status 1\n"}},
          Ending{"kill", 128 + SIGKILL, {"coracle: rank 1 (pid ", ") was killed by SIGKILL"}},
          Ending{"no coracle", 1, {"coracle: rank 1 (pid ", "ended without calling coracle::run"}}}) {
      CAPTURE(placement);
      CAPTURE(ending.what);
      Command command({"run", "-v", "-n", "3", "--place", placement, test_program("misbehave"), ending.what, "1"});
      CHECK(command.wait() == ending.status);
      for (const std::string& message : ending.messages)
        CHECK_MESSAGE(contains(command.errors(), message), command.errors());
      const auto ranks = command.ranks();
      CHECK(std::none_of(ranks.begin(), ranks.end(), exists));
    }
  }
}

TEST_CASE("coracle run: arguments of collectives that do not fit each other end the job, with both numbers") {
  for (const Ending& ending : {
           Ending{"gather_all: size", 128 + SIGABRT, {"gather_all: a buffer of 32 bytes for blocks of 24 bytes"}},
           Ending{"scatter: size", 128 + SIGABRT, {"scatter: a buffer of 32 bytes for blocks of 24 bytes"}},
           Ending{"scatter: root", 128 + SIGABRT, {"root 3 of a team of 3"}},
           Ending{"all_to_all: size", 128 + SIGABRT, {"all_to_all, target: a buffer of 32 bytes for blocks of 24"}},
           Ending{"reduce_scatter: size", 128 + SIGABRT, {"reduce_scatter: a buffer of 32 bytes for blocks of 24"}},
           Ending{"gather_all_v: counts", 128 + SIGABRT, {"gather_all: 2 counts for 3 members"}},
           Ending{"gather_all_v: around",
                  128 + SIGABRT,
                  {"the count at place 1 is 18446744073709551615, which is more than any memory"}},
           Ending{"gather_v: mine", 128 + SIGABRT, {"gather_v: a buffer of 16 bytes for a block of 8 bytes"}},
       }) {
    CAPTURE(ending.what);
    Command command({"run", "-n", "3", "--place", "process", test_program("misbehave"), ending.what, "1"});
    CHECK(command.wait() == ending.status);
    for (const std::string& message : ending.messages)
      CHECK_MESSAGE(contains(command.errors(), message), command.errors());
  }
}

TEST_CASE("coracle run: with CORACLE_CHECK_SLABS transfers to slabs that are gone are refused, in every placement") {
  for (const std::string& placement : all_placements()) {
    for (const std::string nodes : {"1", "2"}) {
      CAPTURE(placement);
      CAPTURE(nodes);
      const std::vector<std::string> arguments{
          "run", "-n", "3", "--nodes", nodes, "--place", placement, test_program("misbehave"), "gone slab"};
      Command command(arguments, {"CORACLE_CHECK_SLABS=1"});
      CHECK(command.wait() == 0);
      const std::string text = command.output();
      CAPTURE(text);
      int refused = 0;
      // The second is what a layout's transfer to another node ends with.
      for (const std::string why : {"its slab is gone, or ends before", "address outside its segment"})
        for (std::size_t at = 0; (at = text.find(why, at)) != std::string::npos; ++at) ++refused;
      CHECK(refused == 3 * 6);
      CHECK_FALSE(contains(text, "nothing"));
      CHECK_FALSE(contains(text, "was not written"));
      Command unchecked(arguments);  // there each goes through, in silence
      CHECK(unchecked.wait() == 0);
      CHECK_FALSE(contains(unchecked.output(), "slab is gone"));
    }
  }
}

TEST_CASE("coracle run: threads that fail end the job too") {
  for (const Ending& ending : {Ending{"exit 7", 7, {"exited with status 7\n"}},
                               Ending{"exit 0", 1, {"ended before its coracle::run had returned"}},
                               Ending{"error", 1, {"coracle: rank 1: thrown in a rank\n", "exited with status 1\n"}}}) {
    CAPTURE(ending.what);
    Command command({"run", "-n", "3", "--place", "thread", test_program("misbehave"), ending.what, "1"});
    CHECK(command.wait() == ending.status);
    for (const std::string& message : ending.messages)
      CHECK_MESSAGE(contains(command.errors(), message), command.errors());
  }
}

TEST_CASE("coracle run: what a function throws that nobody awaits is told by the rank it ran on, and all go on") {
  for (const std::string& placement : all_placements()) {
    CAPTURE(placement);
    Command command({"run", "-n", "3", "--place", placement, test_program("misbehave"), "tell", "1"});
    CHECK(command.wait() == 0);
    const std::string start = "coracle: rank 2: a function that rank 1 has told it to run failed: ";
    CHECK_MESSAGE(contains(command.errors(), start + "thrown at once\n"), command.errors());
    CHECK_MESSAGE(contains(command.errors(), start + "thrown later\n"), command.errors());
  }
}

TEST_CASE("coracle run: who waits for a distributed object that nobody makes is shown with its name and place") {
  Command command({"run", "-n", "3", "--place", "sim", test_program("misbehave"), "await an object", "1"});
  CHECK(command.wait() == 1);
  CHECK_MESSAGE(contains(command.errors(), "distributed object 'table' to be made from rank 2, for "),
                command.errors());
  CHECK_MESSAGE(contains(command.errors(), "s, at misbehave.cpp:"), command.errors());
}

TEST_CASE(
    "coracle run: a started task that nobody awaits is an assertion while it runs, and reported when it has failed") {
  for (const Ending& ending :
       {Ending{
            "let go running", 128 + SIGABRT, {"the handle of a started task died while the task runs: await done()"}},
        Ending{"let go failed",
               0,
               {"coracle: rank 1: a started task failed, and its handle was let go without done(): "
                "failed in the background\n"}}}) {
    for (const std::string& placement : all_placements()) {
      CAPTURE(ending.what);
      CAPTURE(placement);
      Command command({"run", "-n", "3", "--place", placement, test_program("misbehave"), ending.what, "1"});
      CHECK(command.wait() == ending.status);
      for (const std::string& message : ending.messages)
        CHECK_MESSAGE(contains(command.errors(), message), command.errors());
    }
  }
}

TEST_CASE("coracle run: messages that nobody has received are told of when the program ends") {
  for (const char* placement : {"process", "thread"}) {
    Command command({"run", "-n", "2", "--place", placement, test_program("misbehave"), "unreceived", "1"});
    CHECK(command.wait() == 0);
    CHECK_MESSAGE(contains(command.errors(),
                           "coracle: rank 0: 3 messages were not received; the first came from rank 1, with tag 7 and "
                           "4 bytes\n"),
                  command.errors());
  }
}

TEST_CASE("coracle run: many ranks that crash at once are told of once") {
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    Command command({"run", "-n", "16", "--place", placement, test_program("misbehave"), "all abort"});
    CHECK(command.wait() == 128 + SIGABRT);
    const std::string text = command.errors();
    const std::string mark = ") was killed by SIGABRT";
    CHECK(contains(text, mark));
    CHECK(text.find(mark) == text.rfind(mark));
  }
}

TEST_CASE("coracle run: --timeout tells what every rank awaits") {
  for (const std::string& placement : real_time_placements()) {
    CAPTURE(placement);
    Command command(
        {"run", "-n", "3", "--timeout", "1s", "--place", placement, test_program("misbehave"), "sleep", "1"});
    CHECK(command.wait() == 124);
    for (const char* rank : {"rank 0: ", "rank 1: ", "rank 2: "})
      CHECK_MESSAGE(contains(command.errors(), rank), command.errors());
    CHECK_MESSAGE(contains(command.errors(), "  timer, for "), command.errors());
    CHECK_MESSAGE(contains(command.errors(), "at misbehave.cpp:"), command.errors());
    CHECK_MESSAGE(contains(command.errors(), "main task\n"), command.errors());
  }
}

TEST_CASE("coracle run: a rank that computes for ever is told of with the place where it does") {
  for (const std::string& placement : all_placements()) {
    CAPTURE(placement);
    Command command(
        {"run", "-n", "2", "--timeout", "1s", "--place", placement, test_program("misbehave"), "loop", "0"});
    CHECK(command.wait() == 124);
    CHECK_MESSAGE(contains(command.errors(), "rank 0: 0 waits\n"), command.errors());
    CHECK_MESSAGE(contains(command.errors(), "rank 0 is running at:\n  in "), command.errors());
    CHECK_MESSAGE(contains(command.errors(), "misbehave"), command.errors());
    CHECK_MESSAGE(contains(command.errors(), "rank 1: "), command.errors());
  }
}

TEST_CASE("coracle run: SIGUSR1 makes every rank report, and the job goes on") {
  for (const std::string& placement : real_time_placements()) {
    CAPTURE(placement);
    Command command({"run", "-v", "-n", "3", "--place", placement, test_program("misbehave"), "sleep", "1"});
    REQUIRE(command.says("is process"));
    // Until all ranks have come so far that they have something to tell.
    CHECK(soon([&] {
      command.signal(SIGUSR1);
      ::usleep(100'000);
      const std::string told = command.errors();
      return contains(told, "rank 0: ") && contains(told, "rank 1: ") && contains(told, "rank 2: ") &&
             contains(told, "  timer, for ");
    }));
    CHECK(contains(command.errors(), "as asked by SIGUSR1"));
    CHECK_FALSE(contains(command.errors(), "job ended"));
    command.signal(SIGINT);
    CHECK(command.wait() == 128 + SIGINT);
  }
}

TEST_CASE("coracle run: more ranks than one address space may have mappings for are refused, with the remedy") {
  long limit = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> limit;
  constexpr long kRanks = 4000;
  if (!coracle::internals::pvas::probe().available || limit > kRanks * 20) {
    MESSAGE("skipped: no pvas here, or vm.max_map_count is raised");
    return;
  }
  Command command({"run", "-v", "-n", std::to_string(kRanks), "--segment", "1M", "--place", "pvas",
                   test_program("misbehave"), "sleep"});
  CHECK(command.wait() == 1);
  CHECK_MESSAGE(contains(command.errors(), "vm.max_map_count"), command.errors());
  CHECK(contains(command.errors(), "sysctl vm.max_map_count="));
  CHECK(command.ranks().size() == 1);
}

TEST_CASE("coracle run --place sim --faults: says what went wrong, what came of it, and how to repeat that") {
  std::string plan = "/tmp/coracle-faults-XXXXXX";
  const int fd = ::mkstemp(plan.data());
  REQUIRE(fd >= 0);
  const std::string text = "2 s kill rank 1\n3000 s stop rank 0\n";
  REQUIRE(::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  ::close(fd);
  Command command({"run", "-n", "3", "--place", "sim", "--seed", "7", "--silence", "3s", "--faults", plan,
                   test_program("misbehave"), "sleep", "1"});
  CHECK(command.wait() == 1);
  const std::string errors = command.errors();
  CAPTURE(errors);
  CHECK(errors.find("coracle: fault: 2 s kill rank 1\n") != std::string::npos);
  CHECK(errors.find("stop rank 0") == std::string::npos);  // it did not come to that
  CHECK(errors.find("with rank 1 failed: peer lost (it was killed by the fault plan)") != std::string::npos);
  CHECK(errors.find("--nodes 1 --seed 7 --silence 3000ms --faults " + plan + " ...)") != std::string::npos);
  ::unlink(plan.c_str());
}

}  // namespace misbehaviour_test
