// LD_LIBRARY_PATH comes before DT_RUNPATH, but after DT_RPATH; and a library that is loaded already is found before
// all, by its name. What a process has loaded stands in /proc/PID/maps.
#include "runtime/launch/mpi_libraries.hpp"

#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/job/elf_contents.hpp"

namespace coracle::internals {
namespace {

namespace fs = std::filesystem;

std::string find_folder() {
  std::error_code error;
  const fs::path command = fs::read_symlink("/proc/self/exe", error);
  if (error) return "";
  const fs::path above = command.parent_path().parent_path();
  for (const fs::path& folder : {above / "interfaces/mpi/openmpi", above / CORACLE_LIBRARY_FOLDER / "coracle/openmpi"})
    if (fs::is_directory(folder, error)) return folder.string();
  return "";
}

bool starts_with_any(std::string_view text, const auto& beginnings) {
  return std::ranges::any_of(beginnings, [text](std::string_view each) { return text.starts_with(each); });
}

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// All of Coracle's name one of it as theirs, or are that.
bool is_coracle(const std::string& file) {
  ElfContents contents(file);
  std::vector<std::string> names = contents.loader_texts(DT_NEEDED);
  std::ranges::move(contents.loader_texts(DT_SONAME), std::back_inserter(names));
  if (names.empty()) return true;  // one that can't be read is not accused
  return std::ranges::any_of(names, [](const std::string& name) { return name.starts_with("libcoracle"); });
}

/// What was loaded beside Coracle's is not called.
std::optional<OtherMpi> other_mpi_in(pid_t process) {
  constexpr std::array<std::string_view, 3> kMains{"libmpi.so", "libmpich.so", "libmpi_cray.so"};
  OtherMpi other;
  std::set<std::string> mains;
  std::ifstream maps(fmt::format("/proc/{}/maps", process));
  for (std::string line; std::getline(maps, line);) {
    const std::size_t begin = line.find('/');
    if (begin == std::string::npos) continue;
    const std::string_view file = std::string_view(line).substr(begin);
    const std::string_view name = file_name(file);
    other.is_started |= name.starts_with("mca_pml_");
    other.is_fortran |= name.starts_with("libmpi_mpifh.so");
    if (starts_with_any(name, kMains)) mains.emplace(file);
  }
  // (As the process itself sees them, in a container perhaps.)
  if (mains.empty() || std::ranges::any_of(mains, [process](const std::string& file) {
        return is_coracle(fmt::format("/proc/{}/root{}", process, file));
      }))
    return std::nullopt;
  other.library = *mains.begin();
  return other;
}

/// Those whom it has started, and who have not been left behind by them.
std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  std::error_code error;
  for (fs::directory_iterator thread(fmt::format("/proc/{}/task", process), error), end; !error && thread != end;
       thread.increment(error)) {
    std::ifstream file(thread->path() / "children");
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
  return children;
}

/// Its processes are ranks of its own.
bool is_launcher(pid_t process) {
  constexpr std::array<std::string_view, 16> kLaunchers{
      "mpirun", "mpiexec", "mpirun_rsh", "orterun", "orted", "prte", "prted",           "prterun",
      "prun",   "srun",    "jsrun",      "aprun",   "palsd", "flux", "hydra_pmi_proxy", "coracle"};
  std::string name;
  std::ifstream(fmt::format("/proc/{}/comm", process)) >> name;
  return std::ranges::find(kLaunchers, std::string_view(name).substr(0, name.find('.'))) != kLaunchers.end();
}

}  // namespace

MpiLibraries::MpiLibraries() : folder_(find_folder()) {}

std::string MpiLibraries::preload_for(const std::string& program) const {
  if (folder_.empty()) return "";
  ElfContents file(program);
  bool wants_mpi = false;
  bool wants_fortran = false;
  bool has_asan = false;
  for (const std::string& needed : file.loader_texts(DT_NEEDED)) {
    has_asan |= needed.starts_with("libasan.so");
    if (!needed.starts_with("libmpi") || !needed.ends_with(".so.40")) continue;
    wants_mpi = true;
    wants_fortran |= needed.starts_with("libmpi_mpifh") || needed.starts_with("libmpi_usempi");
  }
  if (!wants_mpi) return "";
  if (!are_built())
    throw Error(Errc::unsupported, fmt::format("{} is a program of MPI, but {}", program, how_to_build()));
  const bool is_looked_for_elsewhere = !file.loader_texts(DT_RPATH).empty() && file.loader_texts(DT_RUNPATH).empty();
  // Either character would end a name in LD_PRELOAD; ASan refuses to start behind another library.
  const bool can_be_preloaded = folder_.find_first_of(" :") == std::string::npos && !has_asan;
  return is_looked_for_elsewhere && can_be_preloaded ? libraries(wants_fortran) : "";
}

bool MpiLibraries::are_built() const {
  std::error_code error;
  return fs::exists(folder_ + "/libmpi.so.40", error);
}

std::string MpiLibraries::how_to_build() const {
  constexpr std::string_view kInBuild = "/interfaces/mpi/openmpi";
  const std::string remedy =
      folder_.ends_with(kInBuild)
          ? fmt::format("'ninja -C {}' builds it", folder_.substr(0, folder_.size() - kInBuild.size()))
          : "install Coracle anew";
  return fmt::format("Coracle's library for these, {}/libmpi.so.40, is not there: {}", folder_, remedy);
}

std::string MpiLibraries::libraries(bool with_fortran) const {
  const std::string fortran = with_fortran ? fmt::format(":{}/libmpi_mpifh.so.40", folder_) : "";
  return fmt::format("{}/libmpi.so.40{}", folder_, fortran);
}

std::string MpiLibraries::words_of(const std::string& rank, const OtherMpi& other) const {
  const std::string what = rank + (other.is_of_child ? " has started a process that" : "") +
                           (other.is_started ? " runs over " : " has loaded ") + other.library +
                           ", which is not Coracle's: " +
                           (other.is_started ? "by that MPI each rank is a job of its own"
                                             : "should it call that MPI, each rank is a job of its own");
  if (!file_name(other.library).starts_with("libmpi.so.40"))
    return what +
           ". What was compiled for Open MPI 4 (libmpi.so.40) runs over Coracle; compile it anew, by coracle-mpicc";
  if (!are_built()) return what + ". " + how_to_build();
  return fmt::format(
      "{}. Coracle's is found by LD_LIBRARY_PATH, but DT_RPATH in a file comes before that, and a script "
      "may set it anew: 'coracle run -x LD_PRELOAD={} ...' puts it first (with --place process, where a "
      "script starts the program)",
      what, libraries(other.is_fortran));
}

std::optional<OtherMpi> other_mpi_of(pid_t process) {
  constexpr std::size_t kMost = 64;
  std::vector<pid_t> family{process};
  for (std::size_t i = 0; i < std::min(family.size(), kMost); ++i) {
    if (is_launcher(family[i])) continue;
    if (std::optional<OtherMpi> other = other_mpi_in(family[i])) {
      other->is_of_child = i > 0;
      return other;
    }
    const std::vector<pid_t> children = children_of(family[i]);
    family.insert(family.end(), children.begin(), children.end());
  }
  return std::nullopt;
}

}  // namespace coracle::internals
