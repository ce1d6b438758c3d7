// MemoryGroup: a limit on the memory of processes, page cache included: a control group of the kernel's (version 1 or
// 2).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace coracle::internals::bench {

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
