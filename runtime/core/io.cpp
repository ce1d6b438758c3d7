// What all back ends share: the life of one request, and the choice of the back end.
#include "runtime/core/io.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "runtime/core/error.hpp"

namespace coracle::internals {
namespace {

constexpr std::array<const char*, 5> kVerbNames = {"read", "write", "sync", "wait until readable",
                                                   "wait until writable"};

const char* name_of(IoRequest::Verb verb) noexcept {
  return kVerbNames[static_cast<std::size_t>(verb)];
}

std::string path_of(int fd) {
  std::array<char, 512> path;
  const ssize_t length = ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), path.data(), path.size());
  return length < 0 ? "not open" : std::string(path.data(), static_cast<std::size_t>(length));
}

std::string remedy_for(int error) {
  switch (error) {
    case ENOSYS:
    case EOPNOTSUPP:
    case EINVAL:
      return "use Linux 5.13 or later, built with CONFIG_IO_URING";
    case EPERM:
    case EACCES: {
      int disabled = 0;
      std::ifstream("/proc/sys/kernel/io_uring_disabled") >> disabled;
      if (disabled != 0) return "sysctl kernel.io_uring_disabled=0";
      return "let the container's seccomp profile pass io_uring_setup, io_uring_enter and io_uring_register "
             "(docker run --security-opt seccomp=unconfined)";
    }
    case ENOMEM:
      return "raise the limit of locked memory (ulimit -l)";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    default:
      return "see io_uring_setup(2)";
  }
}

/// Throws on an unknown value, so that a misspelt wish is not taken for none.
std::string_view wanted_back_end() {
  const char* value = std::getenv("CORACLE_IO");
  const std::string_view wanted = value == nullptr ? "" : value;
  if (wanted.empty() || wanted == "epoll" || wanted == "io_uring") return wanted;
  throw Error(Errc::bad_input, fmt::format("CORACLE_IO is \"{}\"; it may be epoll, io_uring, or unset", wanted));
}

}  // namespace

IoRequest::IoRequest(Io& io, Verb verb, int fd, void* buffer, std::size_t bytes, std::uint64_t offset) noexcept
    : Waiter(name_of(verb)), io_(io), buffer_(buffer), bytes_(bytes), offset_(offset), fd_(fd), verb_(verb) {}

bool IoRequest::start() noexcept {
  io_.submit(*this);
  return true;
}

void IoRequest::cancel(std::error_code reason) noexcept {
  if (cancelled_) return;
  cancelled_ = reason;
  io_.stop(*this);
}

void IoRequest::finish(std::int64_t result) noexcept {
  if (result >= 0) {
    done_bytes_ = static_cast<std::size_t>(result);
    complete();
  } else if (cancelled_ && (result == -ECANCELED || result == -EINTR)) {
    complete(cancelled_);
  } else {
    complete(std::error_code(static_cast<int>(-result), std::generic_category()));
  }
}

std::size_t IoRequest::await_resume() const {
  if (outcome()) [[unlikely]]
    throw Error(outcome(), describe());
  return done_bytes_;
}

std::string IoRequest::describe() const {
  std::string text = name_of(verb_);
  if (verb_ == Verb::read || verb_ == Verb::write) {
    text += fmt::format(" of {} bytes", bytes_);
    if (offset_ != kNoOffset) text += fmt::format(" at offset {}", offset_);
  }
  return text + fmt::format(", descriptor {} ({}), failed: {}", fd_, path_of(fd_), outcome().message());
}

IoSupport probe_io() {
  IoSupport support{"io_uring", false, "", ""};
  if (wanted_back_end() == "epoll") {
    support.reason = "CORACLE_IO=epoll asks for epoll and threads";
    support.remedy = "unset CORACLE_IO";
  } else if (const int error = try_io_uring(); error != 0) {
    const std::error_code code(error, std::generic_category());
    support.reason = fmt::format("the kernel refuses io_uring: {}", code.message());
    support.remedy = remedy_for(error);
  } else {
    support.available = true;
  }
  return support;
}

std::unique_ptr<Io> make_io(Doorbell& doorbell) {
  const std::string_view wanted = wanted_back_end();
  if (wanted == "epoll") return make_epoll_io(doorbell);
  if (auto io = make_uring_io(doorbell)) return io;
  if (wanted.empty()) return make_epoll_io(doorbell);
  const IoSupport support = probe_io();
  throw Error(Errc::unsupported, fmt::format("CORACLE_IO=io_uring: {}; {}", support.reason, support.remedy));
}

}  // namespace coracle::internals
