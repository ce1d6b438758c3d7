// Resolving names to programs, as execvp does it.
#include "runtime/pvas/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "runtime/core/error.hpp"

namespace coracle::internals::pvas {
namespace {

constexpr int kScriptDepthMax = 4;
constexpr std::size_t kScriptLineMax = 256;

bool is_executable_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string absolute(const std::string& path) {
  if (path.starts_with('/')) return path;
  std::array<char, PATH_MAX> folder;
  if (::getcwd(folder.data(), folder.size()) == nullptr) throw_errno(errno, "cannot tell the current folder");
  return fmt::format("{}/{}", folder.data(), path);
}

std::string find_in_path(const std::string& name) {
  const char* variable = std::getenv("PATH");
  std::string_view folders = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    const std::size_t colon = folders.find(':');
    const std::string_view folder = folders.substr(0, colon);
    std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (is_executable_file(candidate)) return candidate;
    if (colon == std::string_view::npos) break;
    folders.remove_prefix(colon + 1);
  }
  throw Error(std::make_error_code(std::errc::no_such_file_or_directory),
              fmt::format("cannot run {}: no such program in PATH; give its path, as in ./{}", name, name));
}

/// The file's status; throws Error when it can't be executed.
struct stat check_executable(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw_errno(errno, fmt::format("cannot run {}", path));
  if (S_ISDIR(status.st_mode)) {
    throw Error(std::make_error_code(std::errc::is_a_directory), fmt::format("cannot run {}: it is a folder", path));
  }
  if (!S_ISREG(status.st_mode) || ::access(path.c_str(), X_OK) != 0) {
    throw Error(std::make_error_code(std::errc::permission_denied),
                fmt::format("cannot run {}: it is not executable; chmod +x {}", path, path));
  }
  return status;
}

/// The words after "#!" (an interpreter and at most one argument), or nothing when `path` is no script.
std::vector<std::string> script_interpreter(const std::string& path) {
  std::array<char, kScriptLineMax> line;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw_errno(errno, fmt::format("cannot run {}", path));
  const ssize_t got = ::read(fd, line.data(), line.size());
  ::close(fd);
  std::string_view text(line.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  if (!text.starts_with("#!")) return {};
  text = text.substr(2, text.find('\n') == std::string_view::npos ? text.size() : text.find('\n') - 2);
  const auto trim = [](std::string_view word) {
    const std::size_t first = word.find_first_not_of(" \t");
    if (first == std::string_view::npos) return std::string_view{};
    return word.substr(first, word.find_last_not_of(" \t\r") - first + 1);
  };
  text = trim(text);
  const std::size_t space = text.find_first_of(" \t");
  std::vector<std::string> words;
  if (!text.empty()) words.emplace_back(text.substr(0, space));
  if (space != std::string_view::npos) words.emplace_back(trim(text.substr(space)));
  if (words.empty()) {
    throw Error(make_error_code(Errc::bad_input), fmt::format("cannot run {}: its #! line names nothing", path));
  }
  return words;
}

}  // namespace

ProgramFile::~ProgramFile() {
  ::close(fd);
}

std::shared_ptr<const ProgramFile> ProgramCache::known(const std::string& path, const struct stat& status) const {
  const auto entry = files_.find(path);
  if (entry == files_.end()) return nullptr;
  const ProgramFile& file = *entry->second;
  const bool same = file.device == status.st_dev && file.inode == status.st_ino &&
                    file.changed.tv_sec == status.st_ctim.tv_sec && file.changed.tv_nsec == status.st_ctim.tv_nsec;
  return same ? entry->second : nullptr;
}

std::shared_ptr<const ProgramFile> ProgramCache::open(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw_errno(errno, fmt::format("cannot open {}", path));
  if (auto file = known(path, status)) return file;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw_errno(errno, fmt::format("cannot open {}", path));
  auto file = std::make_shared<ProgramFile>(path, fd, ElfFile{});
  file->elf = read_elf(fd, path);
  file->device = status.st_dev;
  file->inode = status.st_ino;
  file->changed = status.st_ctim;
  files_[path] = file;
  return file;
}

ProgramLaunch ProgramCache::resolve(const SpawnOptions& options) {
  if (options.program.empty()) throw Error(make_error_code(Errc::bad_input), "cannot run a program without a name");
  std::string path = options.program.find('/') == std::string::npos ? find_in_path(options.program) : options.program;
  std::vector<std::string> arguments = options.arguments;
  if (arguments.empty()) arguments.push_back(options.program);
  path = absolute(path);
  for (int depth = 0;; ++depth) {
    if (known(path, check_executable(path)) != nullptr) break;
    std::vector<std::string> words = script_interpreter(path);
    if (words.empty()) break;
    if (depth == kScriptDepthMax) {
      throw Error(std::make_error_code(std::errc::too_many_symbolic_link_levels),
                  fmt::format("cannot run {}: scripts run by scripts, more than {} deep", path, kScriptDepthMax));
    }
    arguments.front() = path;
    arguments.insert(arguments.begin(), words.begin(), words.end());
    path = absolute(words.front());
  }
  ProgramLaunch launch;
  launch.program = open(path);
  if (launch.program->elf.interpreter.empty()) {
    launch.image = launch.program;
    launch.arguments = std::move(arguments);
    return launch;
  }
  // The dynamic linker is started as a command and maps the program itself. Were the root to map both, $ORIGIN and a
  // relative RUNPATH would be taken from /proc/self/exe, which is the root's file.
  const std::string& interpreter = launch.program->elf.interpreter;
  try {
    launch.image = open(interpreter);
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("cannot run {}: its dynamic linker {} is unusable ({})", path, interpreter, error.what()));
  }
  launch.arguments = {interpreter, "--argv0", arguments.front(), path};
  launch.arguments.insert(launch.arguments.end(), arguments.begin() + 1, arguments.end());
  return launch;
}

}  // namespace coracle::internals::pvas
