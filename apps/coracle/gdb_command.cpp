// `coracle gdb`: becomes gdb, with the commands for coroutines.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "apps/coracle/commands.hpp"
#include "runtime/core/error.hpp"
#include "runtime/launch/say.hpp"

namespace coracle::internals {
namespace {

constexpr const char* kHelp = R"(Start gdb with commands for coroutines (`help coracle` there lists them).

Usage: coracle gdb PID             a running rank, or the launcher of a job
       coracle gdb PROGRAM CORE    a core file
       coracle gdb WORDS...        as gdb takes them

In gdb: coracle tasks         what each coroutine awaits, and who awaits it
        coracle task NUMBER   its variables
        coracle attach        at a launcher: attaches to its ranks, too
)";

/// Where it was installed, or built.
std::filesystem::path script() {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const char* folder : {"../share/coracle/gdb", "../tools/gdb"}) {
    std::filesystem::path found = (here / folder / "coracle_gdb.py").lexically_normal();
    if (std::filesystem::exists(found)) return found;
  }
  throw_errno(ENOENT, fmt::format("there are no scripts for gdb: neither in {} nor where this command was built; "
                                  "install Coracle once more",
                                  (here / "../share/coracle/gdb").lexically_normal().string()));
}

bool is_number(const std::string& word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

int run_gdb(const std::vector<std::string>& words) {
  if (words.empty()) {
    say("gdb: name a process, or a program and its core file (`coracle gdb --help` explains)");
    return 2;
  }
  if (words.front() == "--help" || words.front() == "-h") {
    std::fputs(kHelp, stdout);
    return 0;
  }
  std::vector<std::string> all{"gdb", "-iex", "source " + script().string()};
  if (is_number(words.front())) all.emplace_back("-p");
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  arguments.reserve(all.size() + 1);
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp("gdb", arguments.data());
  throw_errno(errno, "can't start gdb (install the package gdb)");
}

}  // namespace coracle::internals
