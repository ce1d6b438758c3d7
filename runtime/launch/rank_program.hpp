// Where the programs of ranks are looked for and started: in their own folder, if they have one.
#pragma once

#include <string>
#include <vector>

#include "runtime/launch/job_options.hpp"

namespace coracle::internals {

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
  int former_ = -1;
};

/// The path of the part's program, as its ranks start it in their folder. Throws Error when it can't be run.
std::string find_program(const ProgramPart& part);

}  // namespace coracle::internals
