// Io where io_uring is refused: epoll for descriptors that can be waited for, a few threads for files.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <vector>

#include "runtime/core/doorbell.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/file_threads.hpp"
#include "runtime/core/io.hpp"

namespace coracle::internals {
namespace {

enum WatchStage : std::uint8_t { kWatched, kWithThreads };

bool is_reader(const IoRequest& request) noexcept {
  return request.verb() == IoRequest::Verb::read || request.verb() == IoRequest::Verb::wait_readable;
}

/// For descriptors without RWF_NOWAIT. A blocking one that is ready reads what there is, and takes PIPE_BUF bytes.
std::int64_t transfer_if_ready(const IoRequest& request) noexcept {
  pollfd ready{request.fd(), static_cast<short>(is_reader(request) ? POLLIN : POLLOUT), 0};
  if (::poll(&ready, 1, 0) <= 0) return -EAGAIN;
  const ssize_t count = is_reader(request)
                            ? ::read(request.fd(), request.buffer(), request.bytes())
                            : ::write(request.fd(), request.buffer(), std::min<std::size_t>(request.bytes(), PIPE_BUF));
  return count < 0 ? -errno : count;
}

/// Transfers what can be without blocking: bytes or minus errno; -EAGAIN: nothing.
std::int64_t transfer_now(const IoRequest& request) noexcept {
  const iovec place{request.buffer(), request.bytes()};
  for (;;) {
    ssize_t result = is_reader(request) ? ::preadv2(request.fd(), &place, 1, -1, RWF_NOWAIT)
                                        : ::pwritev2(request.fd(), &place, 1, -1, RWF_NOWAIT);
    if (result >= 0) return result;
    if (errno == EOPNOTSUPP || errno == ENOSYS)
      result = transfer_if_ready(request);
    else
      result = -errno;
    if (result != -EINTR) return result;
  }
}

class EpollIo final : public Io {
 public:
  EpollIo(Doorbell& doorbell, LoopGate* gate);
  ~EpollIo() override;
  EpollIo(const EpollIo&) = delete;
  EpollIo& operator=(const EpollIo&) = delete;

  const char* name() const noexcept override { return "epoll and threads"; }
  std::size_t in_flight() const noexcept override { return watched_ + with_threads_ + wakes_.size() - kOwnWakes; }
  void wake_on(int fd) override { wakes_.push_back({fd, POLLIN, 0}); }
  void forget(int fd) noexcept override {
    std::erase_if(wakes_, [fd](const pollfd& wake) { return wake.fd == fd; });
  }
  void submit(IoRequest& request) noexcept override;
  void stop(IoRequest& request) noexcept override;
  bool poll() noexcept override;
  void sleep(std::optional<std::uint64_t> timeout_ns) noexcept override;

 private:
  /// Who waits for a descriptor. epoll knows it once only, for both directions.
  struct Watchers {
    IoList readers;
    IoList writers;
    IoList& of(const IoRequest& request) noexcept { return is_reader(request) ? readers : writers; }
  };

  Watchers* watchers_of(int fd) noexcept;
  void hand_to_threads(IoRequest& request) noexcept;
  void submit_to_descriptor(IoRequest& request) noexcept;
  int arm(int fd, bool readers, bool writers) noexcept;
  bool poll_threads() noexcept;
  bool poll_descriptors() noexcept;
  bool serve(IoList& list) noexcept;
  bool finish_all(IoList& list, int result) noexcept;

  LoopEventFd event_fd_;
  int epoll_fd_;
  std::size_t watched_ = 0;
  std::size_t with_threads_ = 0;
  std::vector<Watchers> watchers_;  // by descriptor
  static constexpr std::size_t kOwnWakes = 2;
  std::vector<pollfd> wakes_;  // what ends a sleep: the doorbell, epoll, and what others have asked for
  FileThreads threads_;
  LoopGate* const gate_;           // null: one thread uses this
  std::vector<pollfd> asleep_on_;  // wakes_, which other threads may change while this one sleeps
};

EpollIo::EpollIo(Doorbell& doorbell, LoopGate* gate)
    : event_fd_(doorbell), epoll_fd_(::epoll_create1(EPOLL_CLOEXEC)), threads_(doorbell), gate_(gate) {
  wakes_ = {{event_fd_.fd(), POLLIN, 0}, {epoll_fd_, POLLIN, 0}};
  if (epoll_fd_ < 0) throw_errno(errno, "epoll_create1 for the event loop (see `ulimit -n`)");
}

EpollIo::~EpollIo() {
  CORACLE_ASSERT(in_flight() == 0, "an event loop ended with {} I/O requests in flight", in_flight());
  ::close(epoll_fd_);
}

EpollIo::Watchers* EpollIo::watchers_of(int fd) noexcept {
  const auto index = static_cast<std::size_t>(fd);
  if (index >= watchers_.size()) return nullptr;
  return &watchers_[index];
}

void EpollIo::submit(IoRequest& request) noexcept {
  if (!is_transfer(request) && request.verb() != IoRequest::Verb::sync) return submit_to_descriptor(request);
  if (request.verb() == IoRequest::Verb::sync || request.offset() != kNoOffset) return hand_to_threads(request);
  struct stat about;
  const bool stream = ::fstat(request.fd(), &about) == 0 &&
                      (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode) || S_ISCHR(about.st_mode) ||
                       (about.st_mode & S_IFMT) == 0);  // 0: eventfd and its like
  return stream ? submit_to_descriptor(request) : hand_to_threads(request);
}

void EpollIo::hand_to_threads(IoRequest& request) noexcept {
  ++with_threads_;
  request.note().stage = kWithThreads;
  threads_.submit(request);
}

void EpollIo::submit_to_descriptor(IoRequest& request) noexcept {
  const int fd = request.fd();
  const Watchers* present = watchers_of(fd);
  const bool readers = present != nullptr && !present->readers.empty();
  const bool writers = present != nullptr && !present->writers.empty();
  if (is_transfer(request) && !(is_reader(request) ? readers : writers)) {
    const std::int64_t result = transfer_now(request);
    if (result != -EAGAIN) return request.finish(result);
  }
  // EPERM: epoll does not know files, and these are always ready.
  const int error = arm(fd, readers || is_reader(request), writers || !is_reader(request));
  if (error == EPERM && is_transfer(request)) return hand_to_threads(request);
  if (error != 0) return request.finish(error == EPERM ? 0 : -error);
  if (present == nullptr) watchers_.resize(static_cast<std::size_t>(fd) + 1);  // armed, thus a valid number
  ++watched_;
  request.note().stage = kWatched;
  watchers_of(fd)->of(request).push_back(request);
}

/// One shot: a descriptor that nobody waits for any more stays silent. 0 or errno.
int EpollIo::arm(int fd, bool readers, bool writers) noexcept {
  epoll_event event{};
  event.events = EPOLLONESHOT;
  if (readers) event.events |= EPOLLIN | EPOLLRDHUP;
  if (writers) event.events |= EPOLLOUT;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, fd, &event) == 0) return 0;
  if (errno != ENOENT) return errno;
  return ::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : errno;
}

void EpollIo::stop(IoRequest& request) noexcept {
  if (request.note().stage == kWithThreads) {
    if (!threads_.withdraw(request)) return;
    --with_threads_;
  } else {
    // The descriptor stays armed: an event without waiters is ignored.
    watchers_of(request.fd())->of(request).remove(request);
    --watched_;
  }
  request.finish(-ECANCELED);
}

bool EpollIo::poll() noexcept {
  const bool progress = with_threads_ > 0 && poll_threads();
  return (watched_ > 0 && poll_descriptors()) || progress;
}

bool EpollIo::poll_threads() noexcept {
  IoRequest* request = threads_.take_finished();
  if (request == nullptr) return false;
  while (request != nullptr) {
    IoRequest* next = request->note().next;
    --with_threads_;
    request->finish(request->note().result);
    request = next;
  }
  return true;
}

bool EpollIo::poll_descriptors() noexcept {
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()), 0);
  bool progress = false;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const int fd = event.data.fd;
    Watchers& watchers = *watchers_of(fd);
    const std::uint32_t ended = event.events & (EPOLLERR | EPOLLHUP);
    if ((event.events & (EPOLLIN | EPOLLRDHUP)) != 0 || ended != 0) progress |= serve(watchers.readers);
    if ((event.events & EPOLLOUT) != 0 || ended != 0) progress |= serve(watchers.writers);
    if (watchers.readers.empty() && watchers.writers.empty()) continue;
    if (const int error = arm(fd, !watchers.readers.empty(), !watchers.writers.empty()); error != 0) {
      progress |= finish_all(watchers.readers, -error);  // closed under way
      progress |= finish_all(watchers.writers, -error);
    }
  }
  return progress;
}

/// The descriptor is ready: waits end, transfers are made in their order until one would block.
bool EpollIo::serve(IoList& list) noexcept {
  bool progress = false;
  while (!list.empty()) {
    const std::int64_t result = is_transfer(list.front()) ? transfer_now(list.front()) : 0;
    if (result == -EAGAIN) break;
    --watched_;
    list.pop_front().finish(result);
    progress = true;
  }
  return progress;
}

bool EpollIo::finish_all(IoList& list, int result) noexcept {
  const bool any = !list.empty();
  while (!list.empty()) {
    --watched_;
    list.pop_front().finish(result);
  }
  return any;
}

void EpollIo::sleep(std::optional<std::uint64_t> timeout_ns) noexcept {
  timespec timeout{};
  if (timeout_ns) {
    timeout.tv_sec = static_cast<time_t>(*timeout_ns / 1'000'000'000);
    timeout.tv_nsec = static_cast<long>(*timeout_ns % 1'000'000'000);
  }
  // Without a watched descriptor epoll is left out: a late event of a stopped request would wake us again and again.
  wakes_[1].events = watched_ > 0 ? POLLIN : 0;
  std::vector<pollfd>& wakes = gate_ == nullptr ? wakes_ : asleep_on_;
  if (gate_ != nullptr) {
    wakes = wakes_;
    gate_->open();
  }
  const int ready = ::ppoll(wakes.data(), wakes.size(), timeout_ns ? &timeout : nullptr, nullptr);
  if (gate_ != nullptr) gate_->close();
  // poll() comes next and asks the descriptors and the threads.
  if (ready > 0 && wakes[0].revents != 0) event_fd_.drain();
}

}  // namespace

std::unique_ptr<Io> make_epoll_io(Doorbell& doorbell, LoopGate* gate) {
  return std::make_unique<EpollIo>(doorbell, gate);
}

}  // namespace coracle::internals
