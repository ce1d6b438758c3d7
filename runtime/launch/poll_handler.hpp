// PollHandler: something of a launcher's that waits on descriptors beside the ranks and signals it looks after.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "runtime/job/exit_status.hpp"

namespace coracle::internals {

/// Called from the launcher's one loop.
class PollHandler {
 public:
  virtual ~PollHandler() = default;
  /// Appends what it waits for.
  virtual void want(std::vector<pollfd>& set) const = 0;
  /// Does what can be done without waiting; called after every wait, whatever has happened.
  virtual void handle() = 0;
  /// Wants to be called after so long even if nothing happens; -1: does not.
  virtual int patience_ms() const { return -1; }
};

/// A process beside the ranks, which ends with them.
class HelperProcess : public PollHandler {
 public:
  /// A child that is no rank has ended; true when it is this one.
  virtual bool ended(pid_t pid, const ExitStatus& status) = 0;
  /// All ranks have ended, well or not: ends the process, and waits for that. Returns how it has failed, or "".
  virtual std::string finish(bool job_failed) = 0;
};

/// Waits until `signal_fd` or a poll handler has something to do, at most `timeout_ms` (-1: for ever).
inline void wait_for(int signal_fd, std::span<PollHandler* const> poll_handlers, int timeout_ms) {
  std::vector<pollfd> set{{signal_fd, POLLIN, 0}};
  for (const PollHandler* handler : poll_handlers) {
    handler->want(set);
    const int patience = handler->patience_ms();
    if (patience >= 0 && (timeout_ms < 0 || patience < timeout_ms)) timeout_ms = patience;
  }
  ::poll(set.data(), set.size(), timeout_ms);  // EINTR: a signal, which is in its pipe too
}

}  // namespace coracle::internals
