// Names that are known, and functions of the C library.
#include "runtime/launch/starters.hpp"

#include <link.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "runtime/job/elf_contents.hpp"

namespace coracle::internals {
namespace {

bool is_of_mpi(const std::vector<std::string>& libraries) {
  return std::ranges::any_of(libraries, [](const std::string& name) { return name.starts_with("libmpi"); });
}

/// Gives its place to another program, and does nothing else with one: it can, and can't make a process for it.
bool gives_its_place(const std::vector<std::string>& imports) {
  constexpr std::array<std::string_view, 9> kInPlace{"execl",  "execle",  "execlp",   "execv",  "execve",
                                                     "execvp", "execvpe", "execveat", "fexecve"};
  constexpr std::array<std::string_view, 7> kBeside{"fork",         "vfork",  "clone", "posix_spawn",
                                                    "posix_spawnp", "system", "popen"};
  const auto has_any = [&imports](const auto& names) {
    return std::ranges::any_of(imports, [&](const std::string& each) {
      return std::ranges::find(names, std::string_view(each)) != names.end();
    });
  };
  return has_any(kInPlace) && !has_any(kBeside);
}

}  // namespace

bool is_named_as_starter(const std::string& path) {
  constexpr std::array<std::string_view, 27> kNames{
      "sh",      "dash", "bash",    "ash",    "ksh",  "mksh",  "zsh",     "csh",    "tcsh",
      "fish",    "env",  "nice",    "ionice", "time", "nohup", "timeout", "chrt",   "numactl",
      "taskset", "perf", "setarch", "setsid", "gdb",  "xterm", "stdbuf",  "strace", "valgrind"};
  return std::ranges::find(kNames, std::filesystem::path(path).filename().string()) != kNames.end();
}

bool starts_others(const std::string& path) {
  ElfContents file(path);
  return (is_named_as_starter(path) && !is_of_mpi(file.loader_texts(DT_NEEDED))) || gives_its_place(file.imports());
}

}  // namespace coracle::internals
