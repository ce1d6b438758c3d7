// One line to ask, all bytes until the end of the stream to answer.
#include "runtime/launch/job_questions.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kQuestionMax = 64;
constexpr auto kAskerPatience = 14s;  // with who has connected: several looks at starved ranks, and lines
constexpr int kAnswerMs = 15'000;     // a launcher asks its nodes, and those their ranks
constexpr int kWaitingMax = 16;

/// What comes before the launcher's number: "coracle/1000/".
std::string name_prefix() {
  return fmt::format("coracle/{}/", ::getuid());
}

/// Length of the whole address.
socklen_t set_name(sockaddr_un& address, const std::string& name) {
  address.sun_family = AF_UNIX;
  address.sun_path[0] = '\0';
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

/// Whether the other end is this user's process, or root's.
bool is_trusted(int socket) noexcept {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return false;
  return peer.uid == ::getuid() || peer.uid == 0;
}

/// Up to the end of a line; nothing: none came.
Task<std::optional<std::string>> read_line(Io& io, int socket) {
  std::string line;
  while (line.size() < kQuestionMax && line.find('\n') == std::string::npos) {
    co_await io.wait_readable(socket);
    std::array<char, kQuestionMax> bytes;
    const ssize_t count = ::recv(socket, bytes.data(), bytes.size() - line.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) break;
    line.append(bytes.data(), static_cast<std::size_t>(count));
  }
  const std::size_t end = line.find('\n');
  if (end == std::string::npos) co_return std::nullopt;
  line.resize(end);
  co_return line;
}

Task<> send_whole(Io& io, int socket, std::string text) {
  std::string_view rest(text);
  while (!rest.empty()) {
    const ssize_t count = ::send(socket, rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EAGAIN)
      co_await io.wait_writable(socket);
    else if (count < 0 && errno != EINTR)
      co_return;
    else if (count > 0)
      rest.remove_prefix(static_cast<std::size_t>(count));
  }
}

Task<> converse(Io& io, int socket, JobQuestions::Answer answer) {
  std::optional<std::string> question = co_await read_line(io, socket);
  if (!question) co_return;
  std::string text = co_await answer(std::move(*question));
  co_await send_whole(io, socket, std::move(text));
}

Task<> serve_one(Io& io, FileDescriptor socket, JobQuestions::Answer answer) {
  if (!is_trusted(socket.get())) co_return;
  try {
    co_await finishes_within(kAskerPatience, converse(io, socket.get(), std::move(answer)));
  } catch (const Error& error) {  // whoever asks will see that there is no answer
    if (error.code() == std::errc::operation_canceled) throw;
  }
}

Error no_job(pid_t launcher, const char* why) {
  return {Errc::bad_input,
          fmt::format("{} is no job of yours on this machine ({}); `coracle ps` lists them: JOB is the "
                      "process of `coracle run`",
                      launcher, why)};
}

}  // namespace

JobQuestions::JobQuestions() noexcept : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  if (!socket_) return;
  sockaddr_un address{};
  const socklen_t bytes = set_name(address, name_prefix() + std::to_string(::getpid()));
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0 ||
      ::listen(socket_.get(), kWaitingMax) != 0)
    socket_.close();
}

Task<> JobQuestions::serve(Io& io, Scope& services, Answer answer) {
  while (socket_) {
    co_await io.wait_readable(socket_.get());
    FileDescriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket)
      services.spawn(serve_one(io, std::move(socket), answer));
    else
      co_await sleep_for(100ms);  // without descriptors it would come round at once
  }
}

std::vector<pid_t> jobs_here() {
  std::vector<pid_t> jobs;
  const std::string prefix = "@" + name_prefix();
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const std::size_t begin = line.find(prefix);
    if (begin == std::string::npos) continue;
    pid_t pid = 0;
    const char* const end = line.data() + line.size();
    if (std::from_chars(line.data() + begin + prefix.size(), end, pid).ptr == end && pid > 0) jobs.push_back(pid);
  }
  // Connections that are being served have the name, too.
  std::ranges::sort(jobs);
  const auto again = std::ranges::unique(jobs);
  jobs.erase(again.begin(), again.end());
  return jobs;
}

JobInquiry::JobInquiry(pid_t launcher, std::string_view question)
    : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  if (!socket_) throw_errno(errno, "can't make a socket");
  sockaddr_un address{};
  const socklen_t bytes = set_name(address, name_prefix() + std::to_string(launcher));
  if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0) {
    is_refused_ = errno == EAGAIN;  // it is there, but too many have asked already
    if (is_refused_) return;
    throw no_job(launcher, "it listens nowhere");
  }
  if (!is_trusted(socket_.get())) throw no_job(launcher, "another user has taken its name");
  const std::string line = std::string(question) + "\n";
  is_refused_ = ::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size());
}

bool JobInquiry::receive() {
  while (!is_refused_) {
    std::array<char, 4096> part;
    const ssize_t come = ::recv(socket_.get(), part.data(), part.size(), 0);
    if (come < 0 && errno == EINTR) continue;
    if (come < 0 && errno == EAGAIN) return false;
    if (come <= 0) break;
    answer_.append(part.data(), static_cast<std::size_t>(come));
  }
  return true;
}

std::optional<std::string> JobInquiry::take() {
  if (answer_.empty()) return std::nullopt;
  return std::move(answer_);
}

std::optional<std::string> ask_job(pid_t launcher, std::string_view question) {
  JobInquiry inquiry(launcher, question);
  while (!inquiry.receive()) {
    pollfd ready{inquiry.fd(), POLLIN, 0};
    const int count = ::poll(&ready, 1, kAnswerMs);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
  }
  return inquiry.take();
}

Error no_answer(pid_t launcher) {
  return {Errc::bad_input,
          fmt::format("job {}: its launcher does not answer: it is about to end, or is stopped", launcher)};
}

}  // namespace coracle::internals
