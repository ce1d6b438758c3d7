// Guardian: what is left to do when the launcher is killed by kill -9 and can do nothing itself.
#pragma once

#include <sys/types.h>

namespace coracle {

/// A small child process of the launcher. The kernel ends the ranks together with the launcher (PR_SET_PDEATHSIG), but
/// not what ranks have started; the guardian, which sees its socket close, kills those process groups. Where it can't
/// be made the job runs without.
class Guardian {
 public:
  /// Forks. Make it early: what the launcher has open or mapped then, the guardian has until its end, except
  /// descriptors.
  Guardian();
  /// The job has ended in order: sends the guardian away.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  /// `group` is a process group to be killed if the launcher dies ...
  void add(pid_t group) const noexcept { tell(group); }
  /// ... and no longer.
  void remove(pid_t group) const noexcept { tell(-group); }

 private:
  void tell(pid_t word) const noexcept;

  int socket_ = -1;
  pid_t pid_ = -1;
};

}  // namespace coracle
