// What scripts say to mpiexec, as words of `coracle run`.
#include "apps/coracle/mpiexec_words.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/core/error.hpp"

namespace mpiexec_words_test {

using namespace coracle::internals;
using Words = std::vector<std::string>;

TEST_CASE("mpiexec: numbers of ranks, hosts, bindings and limits become options of run") {
  CHECK(translate_mpiexec({"-np", "4", "./app", "-n", "5"}).run_words == Words{"-n", "4", "./app", "-n", "5"});
  CHECK(translate_mpiexec({"--host", "a:2,b:2", "-n", "4", "x"}).run_words ==
        Words{"--hosts", "a:2,b:2", "-n", "4", "x"});
  CHECK(translate_mpiexec({"--bind-to", "core:overload-allowed", "x"}).run_words == Words{"--bind", "share", "x"});
  CHECK(translate_mpiexec({"-bind-to", "none", "--timeout", "30", "x"}).run_words ==
        Words{"--bind", "none", "--timeout", "30", "x"});
  CHECK(translate_mpiexec({"--oversubscribe", "--allow-run-as-root", "-v", "x"}).run_words == Words{"-v", "x"});
  CHECK(translate_mpiexec({}).run_words.empty());
}

TEST_CASE("mpiexec: a limit in the environment is one of the job, unless an option has given another") {
  CHECK(translate_mpiexec({"-n", "2", "x", "--timeout", "3"}, "10").run_words ==
        Words{"--timeout", "10", "-n", "2", "x", "--timeout", "3"});
  CHECK(translate_mpiexec({"--timeout", "5", "x"}, "10").run_words == Words{"--timeout", "5", "x"});
  for (const char* none : {"0", "-1"}) CHECK(translate_mpiexec({"x"}, none).run_words == Words{"x"});
  CHECK(translate_mpiexec({"--version"}, "1h").wants_version);
  for (const char* wrong : {"1h", " "})
    CHECK_THROWS_WITH_AS(translate_mpiexec({"x"}, wrong),
                         (std::string("MPIEXEC_TIMEOUT=") + wrong + ": must be a whole number of seconds").c_str(),
                         Error);
}

TEST_CASE("mpiexec: the environment and the folder of ranks") {
  CHECK(translate_mpiexec({"-x", "A=1", "-x", "PATH", "--wdir", "/tmp", "x"}).run_words ==
        Words{"--env", "A=1", "--env", "PATH", "--wdir", "/tmp", "x"});
  const MpiexecCommand mpich = translate_mpiexec({"-genv", "B", "two words", "-genvall", "-env", "C", "", "x"});
  CHECK(mpich.environment == std::vector<std::pair<std::string, std::string>>{{"B", "two words"}});
  CHECK(mpich.run_words == Words{"--env", "C=", "x"});
  CHECK(translate_mpiexec({"-gwdir", "/tmp", "x"}).directory == "/tmp");
}

TEST_CASE("mpiexec: several programs keep what each has of its own") {
  const Words words{"--timeout", "30",  "-n", "1",      "-x",   "A=1", "./a", "-v",
                    ":",         "-np", "3",  "--wdir", "/tmp", "./b", "x"};
  CHECK(translate_mpiexec(words).run_words ==
        Words{"--timeout", "30", "-n", "1", "--env", "A=1", "./a", "-v", ":", "-n", "3", "--wdir", "/tmp", "./b", "x"});
  CHECK(translate_mpiexec({"a", ":", "--mca", "btl", "self", "b"}).ignored == Words{"--mca btl self"});
  for (const Words& wrong : {Words{"a", ":", "--host", "h", "b"}, Words{"a", ":", "-genv", "A", "1", "b"},
                             Words{"a", ":", "--bind-to", "none", "b"}, Words{"a", ":", "-l", "b"}}) {
    CAPTURE(wrong[2]);
    CHECK_THROWS_WITH_AS(
        translate_mpiexec(wrong),
        ("mpiexec: " + wrong[2] + ": it is for the whole job; give it before the first program").c_str(), Error);
  }
}

TEST_CASE("mpiexec: labels, files of output, and who reads input") {
  for (const char* option : {"--tag-output", "-tag-output", "-l", "-prepend-rank"})
    CHECK(translate_mpiexec({"-n", "2", option, "x"}).run_words == Words{"--label", "-n", "2", "x"});
  CHECK(translate_mpiexec({"-l", "-prepend-rank", "x"}).run_words == Words{"--label", "x"});
  CHECK(translate_mpiexec({"--output-filename", "out/log:nocopy", "x"}).run_words ==
        Words{"--output", "out/log.%r", "x"});
  const MpiexecCommand hydra = translate_mpiexec({"-l", "-outfile-pattern", "log-%r", "x"});
  CHECK(hydra.run_words == Words{"--output", "log-%r", "x"});
  CHECK(hydra.ignored == Words{"-l"});
  CHECK(translate_mpiexec({"-stdin", "none", "x"}).run_words == Words{"--stdin", "none", "x"});
}

TEST_CASE("mpiexec: what means nothing here is told with its values, and what nobody knows is refused") {
  const MpiexecCommand command = translate_mpiexec({"--mca", "btl", "self,vader", "--map-by", "core", "-nolocal", "x"});
  CHECK(command.ignored == Words{"--mca btl self,vader", "--map-by core", "-nolocal"});
  CHECK(command.run_words == Words{"x"});
  CHECK_THROWS_AS(translate_mpiexec({"--colour", "x"}), Error);
  CHECK_THROWS_AS(translate_mpiexec({"-"}), Error);
  CHECK_THROWS_AS(translate_mpiexec({"--"}), Error);
  CHECK_THROWS_AS(translate_mpiexec({"-n"}), Error);
  CHECK_THROWS_AS(translate_mpiexec({"--mca", "btl"}), Error);
  CHECK(translate_mpiexec({"--version"}).wants_version);
  CHECK_FALSE(translate_mpiexec({"x", "--version"}).wants_version);
}

struct Row {
  std::size_t values;
  const char* options;
};

// As `mpirun --help full` of Open MPI 4.1, `mpiexec.hydra --help` of MPICH 4.0, and Intel's reference of 2021 have
// them.
constexpr Row kRows[] = {
    {0,
     "--allow-run-as-root --bind-to-core --bind-to-socket -bycore -bynode -byslot -continuous -d --debug "
     "--debug-daemons --debug-daemons-file --disable-recovery --display-allocation --display-devel-allocation "
     "--display-devel-map --display-diffable-map --display-map --display-topo --do-not-launch --do-not-resolve "
     "--dvm --enable-instant-on-support --enable-recovery --get-stack-traces --index-argv-by-rank "
     "--leave-session-attached --merge-stderr-to-stdout --nolocal --nooversubscribe --noprefix --novm "
     "--output-proctable --oversubscribe --pernode -q --quiet --report-bindings --report-child-jobs-separately "
     "--report-state-on-timeout --preload-binary --set-cwd-to-session-dir --show-progress --tag-output "
     "--timestamp-output -tv --use-hwthread-cpus --use-regexp -v --verbose --xml"},
    {0,
     "-genvnone -genvall -envnone -envall -enable-x -disable-x -info -print-all-exitcodes -profile -prepend-rank "
     "-l -disable-auto-cleanup -enable-auto-cleanup -disable-hostname-propagation -enable-hostname-propagation "
     "-pmi-port -skip-launch-node -rr -ilp64 -noconf -ordered-output -print-rank-map -silent-abort -gdb -cleanup "
     "-check_mpi"},
    {1,
     "-am --bind-to -c -np -n --cartofile --cpu-list --cpu-set --cpus-per-proc --cpus-per-rank --debugger -H "
     "--host --hnp --launch-agent --map-by --max-restarts --max-vm-size -N --npernode --npersocket --ompi-server "
     "--output-filename --path --personality --ppr --prefix --preload-files --rank-by --report-events --report-pid "
     "--report-uri -rf --rankfile --stdin --timeout -tune --wd --wdir -x --xml-file --xterm"},
    {1,
     "-genvlist -envlist -hosts -launcher -launcher-exec -rmk -topolib -membind -demux -iface -ppn -perhost -grr "
     "-prepend-pattern -outfile-pattern -errfile-pattern -nameserver -order-nodes -localhost -usize -gpus-per-proc "
     "-output-from -bootstrap -bootstrap-exec -bootstrap-exec-args -branch-count -hosts-group -genvexcl -gpath "
     "-gwdir -umask -gumask -use-app-topology -tmpdir -gdba -gtool -gtoolfile -s"},
    {2, "-mca --mca -gmca -env -genv"},
};

/// `values` words belong to the option, and the program comes behind them.
void check_option(const std::string& option, std::size_t values) {
  CAPTURE(option);
  Words words{option};
  words.insert(words.end(), values, "7");
  words.insert(words.end(), {"program", "argument"});
  const Words run_words = translate_mpiexec(words).run_words;
  REQUIRE(run_words.size() >= 2);
  CHECK(Words(run_words.end() - 2, run_words.end()) == Words{"program", "argument"});
  CHECK(std::count(run_words.begin(), run_words.end(), "program") == 1);
  // No value of the option passes for the program.
  CHECK((run_words.size() == 2 || run_words[0].starts_with("-")));
  if (values > 0) CHECK_THROWS_AS(translate_mpiexec({option}), Error);
}

TEST_CASE("mpiexec: each option takes as many words as with those who have it") {
  for (const Row& row : kRows) {
    std::istringstream options(row.options);
    for (std::string option; options >> option;) check_option(option, row.values);
  }
}

TEST_CASE("mpiexec: a file of programs stands for all words") {
  const std::string path = std::filesystem::temp_directory_path() / "mpiexec-words-programs";
  std::ofstream(path) << "# two programs\n-n 1 ./a x\n\n-np 3 -env A 1 ./b\n";
  for (const char* option : {"-configfile", "--app"})
    CHECK(translate_mpiexec({"-n", "9", option, path}).run_words ==
          Words{"-n", "1", "./a", "x", ":", "-n", "3", "--env", "A=1", "./b"});
  std::ofstream(path) << "# nothing\n";
  CHECK_THROWS_AS(translate_mpiexec({"-configfile", path}), Error);
  std::filesystem::remove(path);
  CHECK_THROWS_AS(translate_mpiexec({"-configfile", path}), Error);
}

TEST_CASE("mpiexec: files of hosts in both forms") {
  const std::string path = std::filesystem::temp_directory_path() / "mpiexec-words-hosts";
  std::ofstream(path) << "# machines\nalpha slots=2\n\nbeta slots=3 max_slots=4\n";
  CHECK(translate_mpiexec({"--hostfile", path, "x"}).run_words == Words{"--hosts", "alpha:2,beta:3", "x"});
  std::ofstream(path) << "alpha:2\nbeta\n";
  CHECK(translate_mpiexec({"-f", path, "x"}).run_words == Words{"--hosts", "alpha,beta", "x"});
  std::ofstream(path) << "# nothing\n";
  CHECK_THROWS_AS(translate_mpiexec({"-machinefile", path, "x"}), Error);
  std::filesystem::remove(path);
  CHECK_THROWS_AS(translate_mpiexec({"-machinefile", path, "x"}), Error);
}

}  // namespace mpiexec_words_test
