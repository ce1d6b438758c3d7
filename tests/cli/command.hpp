// Running the real `coracle` command in tests: its output, its exit status, and never for longer than a minute.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

/// `coracle` with arguments, as a child with its output going to files. Ends with the object.
class Command {
 public:
  /// `environment`: "NAME=value", added to this process's. `input_fd`: its standard input; -1: nothing.
  explicit Command(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {},
                   int input_fd = -1);
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// Waits for its end: the exit status, 128 + signal, or -1 when it took longer than a minute.
  int wait();
  void signal(int number) const;
  pid_t pid() const noexcept { return pid_; }
  /// True once it has written `text` to standard error; false when it has not within 20 seconds or has ended before.
  bool says(const std::string& text);

  std::string output() const;
  std::string errors() const;
  /// The processes that `run -v` says it has started.
  std::vector<pid_t> ranks() const;

 private:
  bool try_wait();
  int output_fd_;
  int errors_fd_;
  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = -1;
};

/// True once `condition` holds; false when it does not within 20 seconds.
bool soon(const std::function<bool()>& condition);

/// Path of a program of tests/programs.
std::string test_program(const std::string& name);

/// True while a process of that number runs (or is not yet reaped).
bool exists(pid_t pid);

/// True while a process of that number runs. For those whose parent has gone: they are reaped by the machine's init,
/// whenever that may be.
bool runs(pid_t pid);

/// As /proc/PID/stat has it: 'R', 'S', 'T', 'Z', ...; 0 when there is no such process.
char state_of(pid_t pid);
pid_t parent_of(pid_t pid);
/// The guardian of launcher `pid`, which is waited for; 0: it has none after 20 seconds.
pid_t guardian_of(pid_t pid);

/// The placements in which every rank is a process and that work here.
std::vector<std::string> process_placements();
