// From what the user names to what can be started: the PATH search, scripts' interpreters, the program's dynamic
// linker. Parsed files are kept, because a job starts the same program hundreds of times.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/job/process.hpp"
#include "runtime/pvas/elf_file.hpp"

namespace coracle::internals::pvas {

/// An open, checked ELF file. Closes its descriptor (close-on-exec) at its end.
struct ProgramFile {
  ProgramFile(std::string path_, int fd_, ElfFile elf_) : path(std::move(path_)), fd(fd_), elf(std::move(elf_)) {}
  ProgramFile(const ProgramFile&) = delete;
  ProgramFile& operator=(const ProgramFile&) = delete;
  ~ProgramFile();

  std::string path;  ///< Absolute.
  int fd;
  ElfFile elf;
  dev_t device = 0;
  ino_t inode = 0;
  timespec changed{};
};

/// What the root maps into a partition, and the arguments to start it with.
struct ProgramLaunch {
  std::shared_ptr<const ProgramFile> program;
  std::shared_ptr<const ProgramFile> image;  ///< The dynamic linker; for static-pie the program itself.
  std::vector<std::string> arguments;        ///< argv of the image.
};

/// Not thread-safe; owned by the AddressSpace.
class ProgramCache {
 public:
  /// Throws Error, naming the program and how to mend it: missing, not executable, not position-independent, damaged,
  /// ...
  ProgramLaunch resolve(const SpawnOptions& options);

  /// The file at `path`, from the cache while device, inode and change time are the same.
  std::shared_ptr<const ProgramFile> open(const std::string& path);

 private:
  std::shared_ptr<const ProgramFile> known(const std::string& path, const struct stat& status) const;

  std::map<std::string, std::shared_ptr<const ProgramFile>> files_;
};

}  // namespace coracle::internals::pvas
