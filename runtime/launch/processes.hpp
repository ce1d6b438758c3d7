// Starting an ordinary process: the `process` placement's counterpart of pvas::AddressSpace::spawn; where the programs
// of ranks are looked for and started; and ProcessState, what the kernel tells of a process in /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/file_descriptor.hpp"
#include "runtime/job/process.hpp"
#include "runtime/launch/job_options.hpp"

namespace coracle::internals {

/// Starts options.program and returns once it runs (exec has succeeded). The caller reaps it. Throws Error when it
/// can't be started: then no child is left.
pid_t spawn_process(const SpawnOptions& options);

/// The path of `program`: itself if it contains a '/', else the first executable of that name in PATH. Throws Error,
/// which says what is wrong, when there is none, or when it is a folder or may not be executed.
std::string find_program(const std::string& program);

/// While it lives this process is in another folder: what it starts begins there, and relative paths are meant from
/// there. For a process of one thread.
class InDirectory {
 public:
  /// "": stays where it is. Throws Error where the folder can't be entered.
  explicit InDirectory(const std::string& directory);
  ~InDirectory();
  InDirectory(const InDirectory&) = delete;
  InDirectory& operator=(const InDirectory&) = delete;

 private:
  FileDescriptor former_;
};

/// The path of the part's program, as its ranks start it in their folder. Throws Error when it can't be run.
std::string find_program(const ProgramPart& part);

/// This process's: "NAME=value" each.
std::vector<std::string> own_environment();

struct ProcessState {
  char letter = 0;                   ///< 'R', 'S', 'D', 'T', 'Z', ... as ps shows it; 0: it is gone.
  std::uint32_t flags = 0;           ///< The kernel's PF_...
  std::uint64_t processor_ms = 0;    ///< It has run for so long, user and system.
  std::uint64_t resident_bytes = 0;  ///< Of its address space, others' copies included.

  static ProcessState of(pid_t pid);
  /// As a line of /proc/PID/stat tells it; gone, if that is none.
  static ProcessState from(std::string_view stat) noexcept;
  /// The same of one of its threads, of which only the memory is all threads'.
  static ProcessState of_thread(pid_t pid, pid_t thread);

  /// Its fate is sealed: it exits, or a signal has killed it, also when it has not been reaped or closed its files yet.
  bool is_ending() const noexcept;
  /// "sleeping", "running", "stopped", ...; a zombie is "ending".
  const char* text() const noexcept;
};

/// How long a thread has had a processor, exactly. 0: it is gone, or the kernel does not count that.
std::uint64_t processor_ns_of(pid_t pid, pid_t thread);

/// For a process that should have ended: "in an uninterruptible system call (in the kernel's folio_wait_bit_common)".
std::string whereabouts(pid_t pid);

}  // namespace coracle::internals
