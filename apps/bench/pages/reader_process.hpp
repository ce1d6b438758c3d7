// Processes that read a file through their memory, each in a memory group of its own, when told to: by mmap, or as the
// program does that is beside `coracle bench mapped`. A memory group is a limit on the memory of processes, page cache
// included: a control group of the kernel's (version 1 or 2).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/bench/pages/numbered_pages.hpp"
#include "runtime/core/file_descriptor.hpp"

namespace coracle::internals::bench {

class ReaderProcess {
 public:
  /// Starts program `words[0]` with these words; its standard input is a socket for ReaderRequest. `group`: folder of
  /// the memory group that it is put into; empty: none. Throws Error.
  ReaderProcess(std::vector<std::string> words, const std::string& group);
  ~ReaderProcess();
  ReaderProcess(const ReaderProcess&) = delete;
  ReaderProcess& operator=(const ReaderProcess&) = delete;

  /// Returns when it has done it. Throws Error, also when a page was wrong.
  void run(const ReaderRequest& request);

 private:
  void end() const;

  std::string name_;
  pid_t pid_ = -1;
  FileDescriptor socket_;
};

/// Word for a reader whose pages are dropped before each request.
inline constexpr const char* kCold = "--cold";

/// `words`: the file, and kCold or nothing. Answers on its standard input until that is closed; gives its exit status.
int read_by_mmap(std::span<const char* const> words);

/// A new group below (version 1) or beside (version 2) that of this process; goes with this object, once it is empty.
class MemoryGroup {
 public:
  /// Throws Error (unsupported) where the kernel or the user's rights don't allow it; says why. First removes what dead
  /// processes have left behind.
  MemoryGroup(const std::string& name, std::uint64_t limit_bytes);
  ~MemoryGroup();
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;

  /// A folder, by which other processes can enter.
  const std::string& folder() const noexcept { return folder_; }

  /// The process counts in the group in this folder from now on, for memory that it does not have yet. Throws Error.
  static void enter(const std::string& folder, pid_t process);
  /// The most that has been counted at once, in bytes. Throws Error.
  static std::uint64_t peak(const std::string& folder);

  /// This process is in the group while this lives.
  class Stay {
   public:
    explicit Stay(const MemoryGroup& group);
    ~Stay();
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

   private:
    std::string before_;
  };

 private:
  std::string folder_;
};

}  // namespace coracle::internals::bench
