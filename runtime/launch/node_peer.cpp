// Starting a node's launcher, here or there.
#include "runtime/launch/node_peer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <sstream>

#include "runtime/core/error.hpp"
#include "runtime/launch/node_share.hpp"
#include "runtime/launch/processes.hpp"
#include "runtime/launch/standard_files.hpp"

namespace coracle::internals {
namespace {

std::string own_path() {
  std::array<char, PATH_MAX> path{};
  const ssize_t bytes = ::readlink("/proc/self/exe", path.data(), path.size());
  if (bytes <= 0) throw_errno(errno, "can't read /proc/self/exe, which names the `coracle` command");
  return {path.data(), static_cast<std::size_t>(bytes)};
}

std::string command_of(const JobOptions& options) {
  return options.command.empty() ? own_path() : options.command;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// Variables that belong to a machine or a session rather than to the job.
bool travels(std::string_view variable) {
  constexpr std::array<std::string_view, 18> kStay{
      "SSH_",   "HOSTNAME=", "DISPLAY=", "XAUTHORITY=", "XDG_",    "DBUS_", "HOME=", "USER=",   "LOGNAME=",
      "SHELL=", "MAIL=",     "SHLVL=",   "PWD=",        "OLDPWD=", "TERM=", "_=",    "TMPDIR=", "WAYLAND_"};
  return std::none_of(kStay.begin(), kStay.end(),
                      [&](std::string_view start) { return variable.substr(0, start.size()) == start; });
}

std::string working_directory() {
  std::array<char, PATH_MAX> path{};
  if (::getcwd(path.data(), path.size()) == nullptr) throw_errno(errno, "can't name the present folder");
  return path.data();
}

}  // namespace

std::string NodePeer::name() const {
  return host.empty() ? fmt::format("node {}", node) : fmt::format("node {} ({})", node, host);
}

std::string NodePeer::why_gone() const {
  if (host.empty() || greeted) return fmt::format("its launcher went ({})", exit ? exit->text() : "no exit status");
  if (exit && exit->code == 127)
    return fmt::format("there is no {} (the command must be installed in the same place on every host)", own_path());
  return fmt::format(
      "the command that should reach it ended with {} (what it says stands above; try it by hand, with "
      "`true` as the command)",
      exit ? exit->text() : "no exit status");
}

JobFailure NodePeer::failure(JobFailure of_rank) const {
  if (!host.empty()) of_rank.text = fmt::format("{}: {}", name(), of_rank.text);
  if (card) of_rank.machine = card->machine;
  return of_rank;
}

JobFailure NodePeer::failure(const std::string& what) const {
  return failure(JobFailure{host.empty() ? fmt::format("{}: {}", name(), what) : what});
}

void broadcast(std::vector<NodePeer>& peers, ControlFrameType type) {
  for (NodePeer& peer : peers)
    if (peer.stream && !peer.done()) peer.stream->send(type);
}

void send_neighbours(std::vector<NodePeer>& peers) {
  std::vector<NodeInterfaces> nodes;
  for (const NodePeer& peer : peers) {
    if (!peer.interfaces) return;
    nodes.push_back(*peer.interfaces);
  }
  for (NodePeer& peer : peers) peer.stream->send(ControlFrameType::neighbours, encode(nodes));
}

void send_directory(std::vector<NodePeer>& peers) {
  JobDirectory directory;
  for (const NodePeer& peer : peers) directory.cards.push_back(*peer.card);
  for (NodePeer& peer : peers) {
    share_machines(directory, peer.node);
    peer.stream->send(ControlFrameType::directory, encode(directory));
  }
}

void start_node(NodePeer& peer, const JobOptions& options) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw_errno(errno, "can't make a socket for the launcher of a node");
  peer.stream = std::make_unique<ControlStream>(FileDescriptor(ends[0]));
  const FileDescriptor theirs(ends[1]);
  SpawnOptions spawn;
  spawn.stdin_fd = ends[1];
  spawn.stdout_fd = ends[1];
  spawn.new_process_group = true;  // the terminal's Ctrl-C is for the head
  spawn.parent_death_signal = SIGKILL;
  spawn.core_dumps = true;  // as the user's ulimit has it
  spawn.environment = own_environment();
  FileDescriptor input;
  FileDescriptor output;
  if (peer.host.empty()) {
    if (can_inherit_input()) input = FileDescriptor(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    output = FileDescriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    spawn.program = command_of(options);
    spawn.arguments = {
        "coracle", "node", "--stdin", std::to_string(input.get()), "--stdout", std::to_string(output.get())};
    for (const FileDescriptor* each : {&input, &output})
      if (*each) spawn.keep_fds.push_back(each->get());
  } else {
    spawn.arguments = words_of(options.shell);
    spawn.program = spawn.arguments.front();
    spawn.arguments.insert(spawn.arguments.end(), {peer.host, command_of(options), "node"});
  }
  peer.pid = spawn_process(spawn);
}

NodeDescription describe_node(const NodePeer& peer, const JobOptions& options) {
  NodeDescription description;
  description.options = options;
  description.node = peer.node;
  description.remote = !peer.host.empty();
  if (!description.remote) return description;
  description.working_directory = working_directory();
  description.environment = own_environment();
  std::erase_if(description.environment, [](const std::string& variable) { return !travels(variable); });
  return description;
}

}  // namespace coracle::internals
