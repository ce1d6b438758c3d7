// What scripts say to mpiexec, as words of `coracle run`.
#include "apps/coracle/mpiexec_words.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
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

TEST_CASE("mpiexec: the environment and the folder of ranks") {
  const MpiexecCommand open_mpi = translate_mpiexec({"-x", "A=1", "-x", "PATH", "--wdir", "/tmp", "x"});
  CHECK(open_mpi.environment == std::vector<std::pair<std::string, std::string>>{{"A", "1"}});
  CHECK(open_mpi.directory == "/tmp");
  const MpiexecCommand mpich = translate_mpiexec({"-genv", "B", "two words", "-genvall", "-n", "1", "x"});
  CHECK(mpich.environment == std::vector<std::pair<std::string, std::string>>{{"B", "two words"}});
  CHECK(mpich.run_words == Words{"-n", "1", "x"});
}

TEST_CASE("mpiexec: what means nothing here is told with its values, and what nobody knows is refused") {
  const MpiexecCommand command = translate_mpiexec({"--mca", "btl", "self,vader", "--map-by", "core", "-l", "x"});
  CHECK(command.ignored == Words{"--mca btl self,vader", "--map-by core", "-l"});
  CHECK(command.run_words == Words{"x"});
  CHECK_THROWS_AS(translate_mpiexec({"--colour", "x"}), Error);
  CHECK_THROWS_AS(translate_mpiexec({"-n"}), Error);
  CHECK_THROWS_AS(translate_mpiexec({"-n", "1", "a", ":", "-n", "2", "b"}), Error);
  CHECK_THROWS_AS(translate_mpiexec({"--mca", "btl"}), Error);
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
