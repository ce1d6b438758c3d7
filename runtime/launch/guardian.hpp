// Guardian: what is left to do when the launcher is killed by kill -9 and can do nothing itself.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "runtime/core/file_descriptor.hpp"
#include "runtime/launch/rank_process.hpp"

namespace coracle::internals {

/// A small child process of the launcher. The kernel ends the ranks together with the launcher (PR_SET_PDEATHSIG), but
/// not what ranks have started; the guardian, which sees its socket close, kills those process groups. Where it can't
/// be made the job runs without, and so it does, with a warning, when the guardian dies.
class Guardian final : public HelperProcess {
 public:
  /// Forks. Make it early: what the launcher has open or mapped then, the guardian has until its end, except
  /// descriptors.
  Guardian();
  /// The job has ended in order: ends the guardian, also one that is stopped.
  ~Guardian() override;
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  /// `group` is a process group to be killed if the launcher dies ...
  void add(pid_t group) const noexcept;
  /// ... and no longer.
  void remove(pid_t group) const noexcept;

  /// For SpawnOptions::group_table; null where there is no guardian.
  std::uint64_t* table() const noexcept { return table_; }

  /// Of the guardian's process; -1: there is none, or none any more.
  pid_t pid() const noexcept { return pid_; }
  /// SIGCHLD has come while no Supervisor reaps: looks whether it was the guardian's.
  void look();

  bool ended(pid_t pid, const ExitStatus& status) override;
  /// It goes with this object, not with the ranks: they may have left something behind.
  std::string finish(bool) override { return {}; }

 private:
  std::uint64_t* table_ = nullptr;
  FileDescriptor socket_;
  pid_t pid_ = -1;
};

}  // namespace coracle::internals
