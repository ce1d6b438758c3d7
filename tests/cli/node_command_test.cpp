// `coracle node` as the head of a job sees it: frames go in, frames come out.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/file_descriptor.hpp"
#include "runtime/launch/control_stream.hpp"
#include "runtime/launch/job_failure.hpp"
#include "tests/cli/command.hpp"
#include "tests/places.hpp"

namespace node_command_test {

namespace {

using coracle::internals::ControlFrame;
using coracle::internals::ControlFrameType;
using coracle::internals::ControlStream;

/// The launcher of a job of one rank, with this process at the head.
class Node {
 public:
  Node() {
    coracle::internals::catch_broken_pipes();  // one that has ended is told by what does not come
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    const std::string program = coracle::internals::test::in_build("apps/coracle");
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      ::dup2(ends[1], STDIN_FILENO);
      ::dup2(ends[1], STDOUT_FILENO);
      ::execl(program.c_str(), "coracle", "node", nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    head_ = std::make_unique<ControlStream>(coracle::internals::FileDescriptor(ends[0]));
  }
  ~Node() {
    head_.reset();
    if (!soon([&] { return ::waitpid(pid_, nullptr, WNOHANG) == pid_; })) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// All of it is there before the launcher sees any.
  void send_at_once(const std::vector<ControlFrame>& frames) {
    ::kill(pid_, SIGSTOP);
    for (const ControlFrame& frame : frames) head_->send(frame.type, frame.payload);
    ::kill(pid_, SIGCONT);
  }
  void signal(int number) const { ::kill(pid_, number); }
  pid_t guardian() const { return guardian_of(pid_); }
  /// Whether a frame of that type comes.
  bool says(ControlFrameType type) {
    return soon([&] {
             while (std::optional<ControlFrame> frame = head_->receive())
               said_.insert_or_assign(frame->type, frame->payload);
             return said_.count(type) > 0 || head_->ended();
           }) &&
           said_.count(type) > 0;
  }
  template <class T>
  T said(ControlFrameType type) {
    return coracle::internals::decode<T>(said_.at(type));
  }

 private:
  pid_t pid_;
  std::unique_ptr<ControlStream> head_;
  std::map<ControlFrameType, std::vector<std::byte>> said_;
};

ControlFrame describe(std::string program, std::vector<std::string> arguments) {
  coracle::internals::NodeDescription description;
  description.options.shape.placement = coracle::internals::Placement::process;
  coracle::internals::ProgramPart& part = description.options.programs.emplace_back();
  part.program = std::move(program);
  part.arguments = std::move(arguments);
  part.ranks = 1;
  return {ControlFrameType::describe, encode(description)};
}

ControlFrame directory(Node& node) {
  coracle::internals::JobDirectory directory;
  directory.cards.push_back(node.said<coracle::internals::NodeCard>(ControlFrameType::card));
  directory.ranks_on_machine = 1;
  return {ControlFrameType::directory, encode(directory)};
}

}  // namespace

TEST_CASE("coracle node: what the head asks for along with the directory is obeyed") {
  for (const ControlFrameType how : {ControlFrameType::end, ControlFrameType::kill}) {
    Node node;
    node.send_at_once({describe("sleep", {"1000"})});
    REQUIRE(node.says(ControlFrameType::card));
    node.send_at_once({directory(node), {how, {}}});
    CHECK(node.says(ControlFrameType::ended));
  }
  Node node;
  node.send_at_once({describe("sleep", {"1000"})});
  REQUIRE(node.says(ControlFrameType::card));
  node.send_at_once({directory(node), {ControlFrameType::report, {}}});
  CHECK(node.says(ControlFrameType::reported));
  node.send_at_once({{ControlFrameType::end, {}}});
  CHECK(node.says(ControlFrameType::ended));
}

TEST_CASE("coracle node: its guardian's death and signals that order nothing do not end it before its ranks run") {
  const auto kill_guardian = [](const Node& node) {
    const pid_t guardian = node.guardian();
    REQUIRE(guardian > 1);
    ::kill(guardian, SIGKILL);
    REQUIRE(soon([&] { return !exists(guardian); }));  // reaped
  };
  for (const int signal : {0, SIGUSR1, SIGCHLD}) {
    for (const bool described : {false, true}) {
      CAPTURE(signal);
      CAPTURE(described);
      Node node;
      REQUIRE(node.says(ControlFrameType::hello));
      if (described) {
        node.send_at_once({describe("sleep", {"1000"})});
        REQUIRE(node.says(ControlFrameType::card));
      }
      if (signal != 0)
        node.signal(signal);
      else
        kill_guardian(node);
      if (!described) {
        node.send_at_once({describe("sleep", {"1000"})});
        REQUIRE(node.says(ControlFrameType::card));
      }
      node.send_at_once({directory(node), {ControlFrameType::report, {}}});
      CHECK(node.says(ControlFrameType::reported));
      node.send_at_once({{ControlFrameType::end, {}}});
      CHECK(node.says(ControlFrameType::ended));
    }
  }
}

TEST_CASE("coracle node: one that is told to end before its ranks run says so, and by which signal") {
  for (const int signal : {SIGTERM, SIGHUP}) {
    Node node;
    REQUIRE(node.says(ControlFrameType::hello));
    node.signal(signal);
    REQUIRE(node.says(ControlFrameType::failed));
    const auto failure = node.said<coracle::internals::JobFailure>(ControlFrameType::failed);
    CHECK(failure.exit_status == 128 + signal);
    CHECK(failure.asked);
    CHECK_MESSAGE(
        failure.text.find(signal == SIGTERM ? "got SIGTERM before its ranks" : "got SIGHUP") != std::string::npos,
        failure.text);
  }
}

}  // namespace node_command_test
