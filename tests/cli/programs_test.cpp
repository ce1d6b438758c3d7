// `coracle run` and `coracle mpiexec` with several programs in one job, and with programs that start others.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/pvas/address_space.hpp"
#include "tests/cli/command.hpp"
#include "tests/places.hpp"

namespace programs_test {

namespace {

/// The lines of what a command has written, sorted, since ranks write in any order.
std::string sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  std::string sorted;
  for (const std::string& line : lines) sorted += line + "\n";
  return sorted;
}

std::string all_of(const Command& command) {
  return command.output() + command.errors();
}

}  // namespace

TEST_CASE("coracle run: several programs, each with its ranks, arguments, environment and folder") {
  for (const std::string& placement : process_placements()) {
    for (const char* nodes : {"1", "2"}) {
      CAPTURE(placement);
      CAPTURE(nodes);
      Command command({"run",     "-n",        "1",
                       "--nodes", nodes,       "--place",
                       placement, "--env",     "NAME=first",
                       "sh",      "-c",        "echo $CORACLE_RANK of $CORACLE_SIZE $CORACLE_PROGRAM $NAME $0",
                       "x",       ":",         "-np",
                       "2",       "--wdir",    "/tmp",
                       "sh",      "-c",        "echo $CORACLE_RANK $CORACLE_PROGRAM $NAME. $(pwd)",
                       ":",       "/bin/echo", "last"},
                      {"NAME=all"});
      CHECK(command.wait() == 0);
      CHECK_MESSAGE(sorted_lines(command.output()) == "0 of 4 0 first x\n1 1 all. /tmp\n2 1 all. /tmp\nlast\n",
                    all_of(command));
    }
  }
}

TEST_CASE("coracle run: a program's variable stands in for one of the launcher's, once") {
  for (const std::string& placement : process_placements()) {
    Command command({"run", "-n", "1", "--place", placement, "-x", "NAME=mine", "-x", "EMPTY=", "-x", "HOME", "env"},
                    {"NAME=theirs"});
    CHECK(command.wait() == 0);
    CHECK(command.output().find("NAME=mine\n") != std::string::npos);
    CHECK(command.output().find("NAME=theirs") == std::string::npos);
    CHECK(command.output().find("EMPTY=\n") != std::string::npos);
  }
}

TEST_CASE("coracle run: ranks find their numbers under the names of Open MPI, and not those of an outer job") {
  Command command({"run", "-n", "3", "--nodes", "2", "--place", "process", "sh", "-c",
                   "echo $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE "
                   "$OMPI_COMM_WORLD_LOCAL_RANK/$OMPI_COMM_WORLD_LOCAL_SIZE $OMPI_COMM_WORLD_NODE_RANK"},
                  {"OMPI_COMM_WORLD_RANK=9", "OMPI_COMM_WORLD_NODE_RANK=9", "CORACLE_PROGRAM=9"});
  CHECK(command.wait() == 0);
  CHECK(sorted_lines(command.output()) == "0/3 0/2 0\n1/3 1/2 1\n2/3 0/1 0\n");
}

TEST_CASE("coracle mpiexec: several programs, with -env and -wdir of their own") {
  Command command(
      {"mpiexec", "-genv",           "ALL", "both", "-n", "1",     "-env", "NAME", "one", "sh",
       "-c",      "echo $NAME $ALL", ":",   "-n",   "1",  "-wdir", "/usr", "sh",   "-c",  "echo $NAME$ALL $(pwd)"});
  CHECK(command.wait() == 0);
  CHECK_MESSAGE(sorted_lines(command.output()) == "both /usr\none both\n", all_of(command));
}

TEST_CASE("coracle run: a relative program is looked for in its own folder") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "coracle-programs-test";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file("/bin/echo", folder / "speak", std::filesystem::copy_options::overwrite_existing);
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    Command there({"run", "-n", "1", "--place", placement, "--wdir", folder.string(), "./speak", "here"});
    CHECK(there.wait() == 0);
    CHECK_MESSAGE(there.output() == "here\n", there.errors());
    Command nowhere({"run", "-n", "1", "--place", placement, "--wdir", "/nonexistent", "./speak", "here"});
    CHECK(nowhere.wait() == 1);
    CHECK_MESSAGE(
        nowhere.errors().find("can't go to the folder /nonexistent of the ranks (--wdir)") != std::string::npos,
        nowhere.errors());
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("coracle run: ranks of a relative program copy as those of one that is named whole") {
  const std::filesystem::path program = test_program("tells_copies");
  Command whole({"run", "-n", "2", "--place", "process", program.string()});
  CHECK(whole.wait() == 0);
  CHECK_MESSAGE(whole.output().find("by the kernel\n") != std::string::npos, all_of(whole));
  Command relative({"run", "-n", "2", "--place", "process", "--wdir", program.parent_path().string(),
                    "./" + program.filename().string()});
  CHECK(relative.wait() == 0);
  CHECK_MESSAGE(relative.output() == whole.output(), all_of(relative));
  Command by_memory({"run", "-n", "2", "--place", "process", "--intranode", "shm", program.string()});
  CHECK(by_memory.wait() == 0);
  CHECK_MESSAGE(by_memory.output() == "not by the kernel\n", all_of(by_memory));
}

TEST_CASE("coracle run: the same program of Coracle's own may be several of a job's, and different ones are refused") {
  const std::string hello = coracle::internals::test::in_build("apps/hello");
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    Command same({"run", "-n", "1", "--place", placement, hello, ":", "-n", "2", hello});
    CHECK(same.wait() == 0);
    CHECK_MESSAGE(same.output().find("of 3") != std::string::npos, all_of(same));
    Command different({"run", "-n", "1", "--place", placement, "--timeout", "30s", hello, ":", "-n", "1",
                       test_program("misbehave"), "nothing"});
    CHECK(different.wait() == 1);
    CHECK_MESSAGE(different.errors().find("hold different builds of Coracle's library") != std::string::npos,
                  different.errors());
  }
}

TEST_CASE("coracle run: what can't be meant of several programs is told with how to mend it") {
  struct Refusal {
    std::vector<std::string> arguments;
    std::string message;
  };
  const std::vector<Refusal> refusals{
      {{"run", "-n", "1", "true", ":", "-n", "2"}, "the program behind ':' number 1 is missing"},
      {{"run", ":", "true"}, "the program to run is missing"},
      {{"run", "-n", "1", "true", ":", "--place", "process", "true"},
       "--place: it is for the whole job; give it before the first program"},
      {{"run", "-n", "1", "true", ":", "-v", "true"}, "-v: it is for the whole job"},
      {{"run", "-n", "1", "true", ":", "--colour", "true"},
       "unknown option --colour (options of the program go after its name; behind a ':' there are -n, --env and "
       "--wdir)"},
      {{"run", "-n", "1", "true", ":", "-n", "none", "true"}, "-n none"},
      {{"run", "-n", "1", "true", ":", "-n", "1", "-n", "2", "true"}, "is given 2 times; give it once"},
      {{"run", "-n", "1", "--env", "=x", "true"}, "--env =x: the name is missing: NAME=VALUE"},
      {{"run", "--place", "thread", "true", ":", "true"}, "--place thread: all ranks are in one process"},
      {{"run", "--place", "sim", "true", ":", "true"}, "several programs need --place pvas or process"},
      {{"run", "--hosts", "a:2,b:2", "-n", "1", "true", ":", "-n", "4", "true"}, "-n 5: the hosts have 4 ranks"},
  };
  for (const Refusal& refusal : refusals) {
    Command command(refusal.arguments);
    CAPTURE(refusal.message);
    CHECK(command.wait() == 2);
    CHECK_MESSAGE(command.errors().find(refusal.message) != std::string::npos, command.errors());
    CHECK(command.output().empty());
  }
}

TEST_CASE("coracle run: what a shell or a script starts in its own place is a rank") {
  if (!coracle::internals::pvas::probe().available) return;
  const std::string hello = coracle::internals::test::in_build("apps/hello");
  const std::string script = std::filesystem::temp_directory_path() / "coracle-programs-test.sh";
  std::ofstream(script) << "#!/bin/sh\nexec \"$@\"\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const std::vector<std::vector<std::string>> commands{
      {"sh", "-c", "exec " + hello},
      {"sh", "-c", hello + "; exit"},
      {script, hello},
      {"env", "NAME=x", hello},
      {test_program("gives_place"), hello}};  // known by what it imports
  for (const std::vector<std::string>& words : commands) {
    CAPTURE(words.back());
    std::vector<std::string> arguments{"run", "-n", "2", "--timeout", "50s"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    Command command(arguments);
    CHECK(command.wait() == 0);
    CHECK_MESSAGE(command.output().find("of 2") != std::string::npos, all_of(command));
    const std::string notice = words[0] +
                               " can't share an address space, since what it starts would not be in there: "
                               "the ranks are processes (--place process)\n";
    CHECK_MESSAGE(command.errors() == "coracle: " + notice, command.errors());
  }
  std::filesystem::remove(script);
}

}  // namespace programs_test
