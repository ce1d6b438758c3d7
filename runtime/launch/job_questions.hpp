// JobQuestions: the launcher's ear for `coracle ps`, `coracle why` and `coracle top` of other terminals; and the
// other end, which asks (JobInquiry).
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/file_descriptor.hpp"
#include "runtime/core/io.hpp"
#include "runtime/core/scope.hpp"

namespace coracle::internals {

/// Listens at an abstract socket that is named by user and process, so that nothing is left behind. Only the same user,
/// and root, is answered, by what the kernel says of who has connected.
class JobQuestions {
 public:
  /// Answers a question of one line. What it throws ends that connection only.
  using Answer = std::function<Task<std::string>(std::string question)>;

  /// Where the name can't be taken nobody is heard: a job does not fail because of that.
  JobQuestions() noexcept;

  /// Has no end. Connections are served in `services`.
  Task<> serve(Io& io, Scope& services, Answer answer);

 private:
  FileDescriptor socket_;
};

/// A question to a job's launcher that is on its way, for who does something else meanwhile.
class JobInquiry {
 public:
  /// Asks. Throws Error where there is no such job, or it is another user's.
  JobInquiry(pid_t launcher, std::string_view question);

  /// Can be read when there is something for receive().
  int fd() const noexcept { return socket_.get(); }
  /// Takes what has come, without waiting. True: that is all.
  bool receive();
  /// Once that is all. Nothing: the launcher has not answered.
  std::optional<std::string> take();

 private:
  FileDescriptor socket_;
  std::string answer_;
  bool is_refused_ = false;
};

/// The launchers of this user's jobs on this machine.
std::vector<pid_t> jobs_here();
/// The answer of a job's launcher. Throws Error where there is no such job, or it is another user's. Nothing: it does
/// not answer.
std::optional<std::string> ask_job(pid_t launcher, std::string_view question);
/// What is to be said of a launcher that does not answer.
Error no_answer(pid_t launcher);

}  // namespace coracle::internals
