// What is added to the launcher's environment, and what is left out of it.
#include "runtime/launch/rank_environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "runtime/core/error.hpp"
#include "runtime/launch/processes.hpp"

namespace coracle::internals {
namespace {

constexpr std::string_view kProgram = "CORACLE_PROGRAM=";
constexpr std::string_view kLibraryPath = "LD_LIBRARY_PATH=";

/// Set for each rank; those of Open MPI too, by which scripts tell ranks apart.
constexpr std::array<std::string_view, 10> kOwn{"CORACLE_JOB=",
                                                "CORACLE_RANK=",
                                                "CORACLE_SIZE=",
                                                "CORACLE_PROGRAM=",
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

std::string interface_folders() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path command = fs::read_symlink("/proc/self/exe", error);
  if (error) return "";
  // As it is built, and as it is installed.
  const fs::path above = command.parent_path().parent_path();
  for (const fs::path& folder : {above / "interfaces/mpi/openmpi", above / CORACLE_LIBRARY_FOLDER / "coracle/openmpi"})
    if (fs::is_directory(folder, error)) return folder.string();
  return "";
}

std::vector<std::string> rank_environment(const JobRegion& region, std::uint32_t rank, const JobOptions& options,
                                          const std::string& folders) {
  const std::uint32_t program = program_of(options, rank);
  std::vector<std::string> environment;
  std::string library_path = folders;
  for (const std::string& variable : given_environment(options.programs[program].environment)) {
    const std::string_view text(variable);
    // (An empty folder would be the present one.)
    if (!folders.empty() && text.starts_with(kLibraryPath)) {
      if (text.size() > kLibraryPath.size()) library_path += fmt::format(":{}", text.substr(kLibraryPath.size()));
    } else if (!is_own(text)) {
      environment.push_back(variable);
    }
  }
  if (!folders.empty()) environment.push_back(fmt::format("{}{}", kLibraryPath, library_path));
  environment.push_back(region.environment());
  const std::uint32_t size = region.shape().size;
  environment.push_back(fmt::format("CORACLE_RANK={}", rank));
  environment.push_back(fmt::format("CORACLE_SIZE={}", size));
  environment.push_back(fmt::format("{}{}", kProgram, program));
  environment.push_back(fmt::format("OMPI_COMM_WORLD_RANK={}", rank));
  environment.push_back(fmt::format("OMPI_COMM_WORLD_SIZE={}", size));
  environment.push_back(fmt::format("OMPI_COMM_WORLD_LOCAL_RANK={}", rank - region.first_rank()));
  environment.push_back(fmt::format("OMPI_COMM_WORLD_LOCAL_SIZE={}", region.ranks()));
  // Open MPI counts the processes of all jobs on the node; here it is of this one.
  environment.push_back(fmt::format("OMPI_COMM_WORLD_NODE_RANK={}", rank - region.first_rank()));
  return environment;
}

std::uint32_t program_from_environment() noexcept {
  const std::string name(kProgram.substr(0, kProgram.size() - 1));
  const char* const variable = std::getenv(name.c_str());
  return variable == nullptr ? 0 : static_cast<std::uint32_t>(std::strtoul(variable, nullptr, 10));
}

}  // namespace coracle::internals
