// DeviceOwnerProcess: the launcher's view of the process that owns a node's devices (DeviceOwnerRecord): started when a
// rank asks for it, ended when all ranks have ended, or when it does not answer them.
#pragma once

#include <functional>

#include "runtime/core/file_descriptor.hpp"
#include "runtime/job/job.hpp"
#include "runtime/launch/rank_process.hpp"

namespace coracle::internals {

class DeviceOwnerProcess final : public HelperProcess {
 public:
  /// `start` starts it, and throws Error where it can't; `forget` takes back its memory, when no rank looks there any
  /// more. Before any rank is started: they inherit the descriptor by which they ask for it. Throws Error.
  DeviceOwnerProcess(const JobRegion& region, std::function<pid_t()> start, std::function<void(pid_t)> forget);
  ~DeviceOwnerProcess() override;
  DeviceOwnerProcess(const DeviceOwnerProcess&) = delete;
  DeviceOwnerProcess& operator=(const DeviceOwnerProcess&) = delete;

  /// Starts it when a rank calls for it, and kills it when one says so; has no end.
  Task<> serve(Io& io) override;
  bool ended(pid_t pid, const ExitStatus& status) override;
  std::string finish(bool job_failed) override;

 private:
  void answer();
  ExitStatus end(bool at_once);
  void tell_all(const std::string& reason);

  const JobRegion& region_;
  std::function<pid_t()> start_;
  std::function<void(pid_t)> forget_;
  FileDescriptor call_fd_;
  pid_t pid_ = 0;
  bool running_ = false;
  bool asked_ = false;
  bool unanswering_ = false;  // and so killed
};

}  // namespace coracle::internals
