// What is added to the launcher's environment, and what is left out of it.
#include "runtime/launch/rank_environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "runtime/core/error.hpp"
#include "runtime/launch/processes.hpp"

namespace coracle::internals {
namespace {

constexpr std::string_view kProgram = "CORACLE_PROGRAM=";
constexpr std::string_view kProgramSize = "CORACLE_PROGRAM_SIZE=";

/// Set for each rank; those of Open MPI too, by which scripts tell ranks apart.
constexpr std::array<std::string_view, 11> kOwn{"CORACLE_JOB=",
                                                "CORACLE_RANK=",
                                                "CORACLE_SIZE=",
                                                "CORACLE_PROGRAM=",
                                                "CORACLE_PROGRAM_SIZE=",
                                                "CORACLE_LIBRARIES=",
                                                "OMPI_COMM_WORLD_RANK=",
                                                "OMPI_COMM_WORLD_SIZE=",
                                                "OMPI_COMM_WORLD_LOCAL_RANK=",
                                                "OMPI_COMM_WORLD_LOCAL_SIZE=",
                                                "OMPI_COMM_WORLD_NODE_RANK="};

bool is_own(std::string_view variable) noexcept {
  return std::any_of(kOwn.begin(), kOwn.end(),
                     [variable](std::string_view name) { return variable.starts_with(name); });
}

/// This process's, and `own`, which prevails.
std::vector<std::string> given_environment(const std::vector<std::string>& own) {
  std::vector<std::string> environment = own_environment();
  const auto is_replaced = [&own](std::string_view variable) {
    const std::string_view name = variable.substr(0, variable.find('=') + 1);
    return std::any_of(own.begin(), own.end(), [name](const std::string& each) { return each.starts_with(name); });
  };
  std::erase_if(environment, is_replaced);
  environment.insert(environment.end(), own.begin(), own.end());
  return environment;
}

/// Adds `words` to the list that a variable of the environment holds, at its head or its end. (An empty folder would be
/// the present one.)
void add_to_list(std::vector<std::string>& environment, std::string_view variable, const std::string& words,
                 bool at_head) {
  if (words.empty()) return;
  const auto place =
      std::ranges::find_if(environment, [variable](const std::string& each) { return each.starts_with(variable); });
  if (place == environment.end())
    environment.push_back(fmt::format("{}{}", variable, words));
  else if (place->size() == variable.size())
    *place += words;
  else if (at_head)
    place->insert(variable.size(), words + ':');
  else
    *place += ':' + words;
}

}  // namespace

void check_is_started_alone() {
  // Of MPICH's and Intel's mpiexec (and srun --mpi=pmi2), and of srun.
  for (const char* name : {"PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* const value = std::getenv(name);
    const int size = value != nullptr ? std::atoi(value) : 0;
    if (size < 2) continue;
    throw Error(
        Errc::unsupported,
        fmt::format("{0}={1} says that this process is one of {1}, and who has started them does not speak PMIx: "
                    "each would be a job of its own. Start the program by 'coracle run -n {1}' (or 'srun "
                    "--mpi=pmix'), or unset {0} to run as one rank",
                    name, size));
  }
}

std::vector<std::string> rank_environment(const JobRegion& region, std::uint32_t rank, const JobOptions& options,
                                          const LoaderWishes& loader) {
  const std::uint32_t program = program_of(options, rank);
  std::vector<std::string> environment = given_environment(options.programs[program].environment);
  std::erase_if(environment, [](const std::string& variable) { return is_own(variable); });
  add_to_list(environment, "LD_LIBRARY_PATH=", loader.folder, true);
  // Tools that the user loads stand between the program and MPI.
  add_to_list(environment, "LD_PRELOAD=", loader.preload, false);
  environment.push_back(region.environment());
  const std::uint32_t size = region.shape().size;
  environment.push_back(fmt::format("CORACLE_RANK={}", rank));
  environment.push_back(fmt::format("CORACLE_SIZE={}", size));
  environment.push_back(fmt::format("{}{}", kProgram, program));
  environment.push_back(fmt::format("{}{}", kProgramSize, options.programs[program].ranks));
  environment.push_back(fmt::format("OMPI_COMM_WORLD_RANK={}", rank));
  environment.push_back(fmt::format("OMPI_COMM_WORLD_SIZE={}", size));
  environment.push_back(fmt::format("OMPI_COMM_WORLD_LOCAL_RANK={}", rank - region.first_rank()));
  environment.push_back(fmt::format("OMPI_COMM_WORLD_LOCAL_SIZE={}", region.ranks()));
  // Open MPI counts the processes of all jobs on the node; here it is of this one.
  environment.push_back(fmt::format("OMPI_COMM_WORLD_NODE_RANK={}", rank - region.first_rank()));
  return environment;
}

namespace {

/// `variable`: with its '='.
std::uint32_t number_of(std::string_view variable) {
  const std::string name(variable.substr(0, variable.size() - 1));
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? 0 : static_cast<std::uint32_t>(std::strtoul(value, nullptr, 10));
}

}  // namespace

std::uint32_t program_from_environment() {
  return number_of(kProgram);
}

std::uint32_t program_size_from_environment() {
  return number_of(kProgramSize);
}

}  // namespace coracle::internals
