// Io over io_uring: one ring per loop. A turn costs no system call while the kernel has nothing to say, and one for all
// requests that were submitted since the last.
#include <liburing.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "runtime/core/doorbell.hpp"
#include "runtime/core/io.hpp"
#include "runtime/core/thread_sanitizer.hpp"
#include "runtime/core/uring_kept.hpp"
#include "runtime/core/uring_port.hpp"

namespace coracle::internals {
namespace {

constexpr unsigned kRequestsPerSubmit = 256;
constexpr unsigned kCompletionsHeld = 1024;  // beyond these the kernel keeps them in a list of its own
// So many transfers go to the kernel at once when it has none: devices that end all their requests together would else
// have nothing to do until the end of a turn. (Not fewer: each time costs a system call and wakes the device.)
constexpr std::size_t kTransfersForIdleDevice = 4;

// user_data of what is not a request; a request's is its address.
constexpr std::uint64_t kCancellation = 0;
constexpr std::uint64_t kDoorbell = 1;
// Beside the address of a sink, to tell it from a request.
constexpr std::uint64_t kOfSink = 2;
// Descriptors to wake on have numbers of their own, below every address.
constexpr std::uint64_t kFirstWake = 2;
constexpr std::uint64_t kWakesEnd = 4096;

enum RequestStage : std::uint8_t {
  kQueued,       // in waiting_
  kTaken,        // in the ring or in the kernel
  kAwaitsReady,  // the same, as a poll: a descriptor with O_NONBLOCK was not ready
  kStopQueued,   // taken, and in stops_
  kStopping,     // taken, and its cancellation is in the ring or was
};

struct Mapping {
  void* begin;
  std::size_t bytes;
};

std::array<Mapping, 3> mappings_of(const io_uring& ring) noexcept {
  const bool own_completions = ring.cq.ring_ptr != ring.sq.ring_ptr;
  return {{{ring.sq.ring_ptr, ring.sq.ring_sz},
           {ring.cq.ring_ptr, own_completions ? ring.cq.ring_sz : 0},
           {ring.sq.sqes, ring.sq.ring_entries * sizeof(io_uring_sqe)}}};
}

// In a shared address space (pvas) a ring must be unmapped when its task has died, or it holds open what was asked for
// in it, sockets too; and what has been unmapped must be known, since another task may have got the place. liburing
// maps and unmaps by system calls in a form that is not redirected there: so both are told, or done, by calls that are.

/// Says where a ring lies, by calls that change nothing.
void note_mappings(const io_uring& ring) noexcept {
  for (const Mapping& mapping : mappings_of(ring))
    if (mapping.bytes > 0) ::mremap(mapping.begin, mapping.bytes, mapping.bytes, 0);
}

/// In place of io_uring_queue_exit(). No descriptor of the ring's has been registered with itself.
void close_ring(const io_uring& ring) noexcept {
  for (const Mapping& mapping : mappings_of(ring))
    if (mapping.bytes > 0) ::munmap(mapping.begin, mapping.bytes);
  ::close(ring.ring_fd);
}

/// 0 or minus errno. Takes the best mode that this kernel has.
int open_ring(io_uring& ring) noexcept {
  // DEFER_TASKRUN (6.1): completions are made when we ask, and never interrupt a coroutine. TASKRUN_FLAG: whether
  // asking is worth a system call can be read from memory.
  constexpr unsigned kModes[] = {
      IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL,
      IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL,
      0,
  };
  // RSRC_TAGS came with the multishot poll, which has no feature bit of its own (5.13).
  constexpr unsigned kNeeded = IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG | IORING_FEAT_FAST_POLL | IORING_FEAT_RSRC_TAGS;
  int error = -EINVAL;
  for (const unsigned mode : kModes) {
    io_uring_params parameters{};
    parameters.flags = mode | IORING_SETUP_CQSIZE;
    parameters.cq_entries = kCompletionsHeld;
    error = io_uring_queue_init_params(kRequestsPerSubmit, &ring, &parameters);
    if (error == -EINVAL) continue;
    if (error < 0) return error;
    note_mappings(ring);
    if ((parameters.features & kNeeded) == kNeeded) return 0;
    close_ring(ring);
    return -EOPNOTSUPP;
  }
  return error;
}

/// Rather than for a pipe or socket.
bool is_for_device(const IoRequest& request) noexcept {
  return is_transfer(request) && request.offset() != kNoOffset;
}

void prepare_poll(io_uring_sqe& entry, const IoRequest& request) noexcept {
  const bool out = request.verb() == IoRequest::Verb::wait_writable || request.verb() == IoRequest::Verb::write;
  io_uring_prep_poll_add(&entry, request.fd(), out ? POLLOUT : POLLIN | POLLRDHUP);
}

// As the system calls do: a longer transfer is cut short.
constexpr std::size_t kTransferBytesMax = 0x7ffff000;

unsigned length_of(const IoRequest& request) noexcept {
  return static_cast<unsigned>(std::min(request.bytes(), kTransferBytesMax));
}

/// `index`: of the registered buffer that the request's lies in.
void prepare_fixed(io_uring_sqe& entry, const IoRequest& request, int index) noexcept {
  if (request.verb() == IoRequest::Verb::read)
    io_uring_prep_read_fixed(&entry, request.fd(), request.buffer(), length_of(request), request.offset(), index);
  else
    io_uring_prep_write_fixed(&entry, request.fd(), request.buffer(), length_of(request), request.offset(), index);
}

void prepare(io_uring_sqe& entry, const IoRequest& request) noexcept {
  const unsigned bytes = length_of(request);
  switch (request.verb()) {
    case IoRequest::Verb::read:
      io_uring_prep_read(&entry, request.fd(), request.buffer(), bytes, request.offset());
      break;
    case IoRequest::Verb::write:
      io_uring_prep_write(&entry, request.fd(), request.buffer(), bytes, request.offset());
      break;
    case IoRequest::Verb::sync:
      io_uring_prep_fsync(&entry, request.fd(), IORING_FSYNC_DATASYNC);
      break;
    case IoRequest::Verb::wait_readable:
    case IoRequest::Verb::wait_writable:
      prepare_poll(entry, request);
      break;
  }
}

class UringIo final : public Io, public UringPort {
 public:
  explicit UringIo(Doorbell& doorbell) : event_fd_(doorbell) {}
  ~UringIo() override;
  UringIo(const UringIo&) = delete;
  UringIo& operator=(const UringIo&) = delete;

  int open() noexcept;

  const char* name() const noexcept override { return "io_uring"; }
  std::size_t in_flight() const noexcept override { return in_flight_ + wakes_.size(); }
  void wake_on(int fd) override;
  void forget(int fd) noexcept override;
  void submit(IoRequest& request) noexcept override;
  void hand_over() noexcept override { flush(); }
  void stop(IoRequest& request) noexcept override;
  bool poll() noexcept override;
  void sleep(std::optional<std::uint64_t> timeout_ns) noexcept override;

  bool keep_memory(std::byte* begin, std::size_t bytes) override { return memory_.add(ring_, begin, bytes); }
  void forget_memory(const std::byte* begin) noexcept override;
  std::uint64_t pinned_transfers() const noexcept override { return pinned_transfers_; }
  bool keep_file(int fd) override { return files_.add(ring_, fd); }
  void forget_file(int fd) noexcept override;
  std::uint64_t kept_file_transfers() const noexcept override { return kept_file_transfers_; }

  UringPort* uring() noexcept override { return this; }
  io_uring_sqe* entry(UringSink* sink) noexcept override;
  bool cancel(UringSink& sink) noexcept override;
  void submit() noexcept override { flush(); }
  io_uring& ring() noexcept override { return ring_; }

 private:
  bool take(IoRequest& request) noexcept;
  bool cancel(IoRequest& request) noexcept;
  void queue(IoRequest& request) noexcept;
  void forget(const IoRequest& request) noexcept;
  void flush() noexcept;
  bool arm_doorbell() noexcept;
  bool arm_wakes() noexcept;
  void completed(const io_uring_cqe& completion) noexcept;
  void completed(IoRequest& request, int result) noexcept;

  struct Wake {
    std::uint64_t number;
    int fd;
    bool armed;
  };

  LoopEventFd event_fd_;
  io_uring ring_{};
  bool opened_ = false;
  bool doorbell_armed_ = false;
  std::size_t in_flight_ = 0;
  std::size_t transfers_ = 0;        // in flight, of those for a device
  std::size_t fresh_transfers_ = 0;  // of these, since the last flush
  std::uint64_t pinned_transfers_ = 0;
  std::uint64_t kept_file_transfers_ = 0;
  UringMemory memory_;
  UringFiles files_;
  IoList waiting_;  // not in the ring: it was full
  IoList stops_;    // in the kernel, and their cancellations found the ring full
  std::vector<Wake> wakes_;
  std::uint64_t next_wake_ = kFirstWake;
};

int UringIo::open() noexcept {
  const int error = open_ring(ring_);
  taken_from_kernel();
  opened_ = error == 0;
  return error;
}

UringIo::~UringIo() {
  CORACLE_ASSERT(in_flight() == 0, "an event loop ended with {} I/O requests in flight", in_flight());
  if (!opened_) return;
  given_to_kernel();
  close_ring(ring_);
}

/// Puts the request, or the poll before its next try, into the ring; false when that is full.
bool UringIo::take(IoRequest& request) noexcept {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  if (entry == nullptr) return false;
  if (request.note().result == -EAGAIN) {
    prepare_poll(*entry, request);
    request.note().stage = kAwaitsReady;
  } else {
    const int index =
        is_for_device(request) ? memory_.find(ring_, request.buffer(), request.bytes()) : UringMemory::kNone;
    if (index != UringMemory::kNone) {
      prepare_fixed(*entry, request, index);
      ++pinned_transfers_;
    } else {
      prepare(*entry, request);
    }
    // Not a sync: the kernel looks its file up late, in a thread, when the place may be another's.
    if (const int file = files_.find(request.fd()); file != UringFiles::kNone && is_transfer(request)) {
      entry->fd = file;
      entry->flags |= IOSQE_FIXED_FILE;
      ++kept_file_transfers_;
    }
    request.note().stage = kTaken;
  }
  io_uring_sqe_set_data64(entry, reinterpret_cast<std::uintptr_t>(&request));
  return true;
}

/// A cancellation names its request by address. The ring keeps order, so that it can't meet a later request that lives
/// at the same address: one that is submitted after the first has finished stands behind it.
bool UringIo::cancel(IoRequest& request) noexcept {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  if (entry == nullptr) return false;
  io_uring_prep_cancel64(entry, reinterpret_cast<std::uintptr_t>(&request), 0);
  io_uring_sqe_set_data64(entry, kCancellation);
  request.note().stage = kStopping;
  return true;
}

void UringIo::queue(IoRequest& request) noexcept {
  if (waiting_.empty() && take(request)) return;
  request.note().stage = kQueued;
  waiting_.push_back(request);
}

void UringIo::submit(IoRequest& request) noexcept {
  ++in_flight_;
  request.note().result = 0;
  queue(request);
  if (!is_for_device(request)) return;
  ++transfers_;
  if (++fresh_transfers_ == kTransfersForIdleDevice && fresh_transfers_ == transfers_) flush();
}

void UringIo::forget(const IoRequest& request) noexcept {
  --in_flight_;
  if (is_for_device(request)) --transfers_;
}

void UringIo::stop(IoRequest& request) noexcept {
  switch (request.note().stage) {
    case kQueued:
      waiting_.remove(request);
      forget(request);
      request.finish(-ECANCELED);
      break;
    case kTaken:
    case kAwaitsReady:
      if (cancel(request)) break;
      request.note().stage = kStopQueued;
      stops_.push_back(request);
      break;
    default:
      break;  // asked already
  }
}

io_uring_sqe* UringIo::entry(UringSink* sink) noexcept {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  if (entry == nullptr) {
    flush();
    entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) return nullptr;
  }
  // The prepare functions leave the user data alone.
  io_uring_sqe_set_data64(entry, sink == nullptr ? kCancellation : reinterpret_cast<std::uintptr_t>(sink) | kOfSink);
  if (sink != nullptr) ++in_flight_;
  return entry;
}

bool UringIo::cancel(UringSink& sink) noexcept {
  io_uring_sqe* asked = entry(nullptr);
  if (asked == nullptr) return false;
  io_uring_prep_cancel64(asked, reinterpret_cast<std::uintptr_t>(&sink) | kOfSink, IORING_ASYNC_CANCEL_ALL);
  io_uring_sqe_set_data64(asked, kCancellation);
  return true;
}

/// Hands everything to the kernel, unless that is short of memory; then the rest stays for the next time.
void UringIo::flush() noexcept {
  for (;;) {
    while (!stops_.empty() && cancel(stops_.front())) stops_.pop_front();
    while (!waiting_.empty() && take(waiting_.front())) waiting_.pop_front();
    fresh_transfers_ = 0;
    if (io_uring_sq_ready(&ring_) == 0) return;
    const int submitted = io_uring_submit(&ring_);
    CORACLE_ASSERT(submitted != -EEXIST, "the I/O of an event loop is used by two threads");
    if (submitted <= 0) return;
  }
}

void UringIo::forget_memory(const std::byte* begin) noexcept {
  flush();  // entries name its place; what the kernel is too short of memory to take fails
  memory_.remove(ring_, begin);
}

void UringIo::forget_file(int fd) noexcept {
  if (files_.find(fd) == UringFiles::kNone) return;
  flush();  // entries name the place of their file, not the file
  if (io_uring_sq_ready(&ring_) == 0)
    files_.remove(ring_, fd);
  else
    files_.give_up(fd);  // the kernel is short of memory
}

bool UringIo::poll() noexcept {
  if (in_flight() == 0) return false;
  flush();
  // liburing asks the kernel only when the ring's flags say that something is held back.
  std::array<io_uring_cqe*, 64> completions;
  bool progress = false;
  while (const unsigned count = io_uring_peek_batch_cqe(&ring_, completions.data(), completions.size())) {
    for (unsigned i = 0; i < count; ++i) completed(*completions[i]);
    io_uring_cq_advance(&ring_, count);
    progress = true;
  }
  return progress;
}

void UringIo::completed(const io_uring_cqe& completion) noexcept {
  const std::uint64_t data = io_uring_cqe_get_data64(&completion);
  if (data == kCancellation) return;             // the request itself says how it ended
  if (data >= kFirstWake && data < kWakesEnd) {  // its owner's poll() comes anyway
    for (Wake& wake : wakes_)
      if (wake.number == data) wake.armed = false;
    return;
  }
  if ((data & kOfSink) != 0) {
    if ((completion.flags & IORING_CQE_F_MORE) == 0) --in_flight_;
    return reinterpret_cast<UringSink*>(data & ~kOfSink)->completed(completion.res, completion.flags);
  }
  if (data != kDoorbell) return completed(*reinterpret_cast<IoRequest*>(data), completion.res);
  // poll() reports this as progress: the ring took the loop's announcement, so that the loop must not sleep on it.
  CORACLE_ASSERT(completion.res > 0, "polling the doorbell's event_fd {} failed: errno {}", event_fd_.fd(),
                 -completion.res);
  if ((completion.flags & IORING_CQE_F_MORE) == 0) doorbell_armed_ = false;
  event_fd_.drain();
}

void UringIo::completed(IoRequest& request, int result) noexcept {
  IoRequest::Note& note = request.note();
  if (note.stage == kStopQueued) stops_.remove(request);
  const bool stopped = note.stage == kStopQueued || note.stage == kStopping;
  if (note.stage == kAwaitsReady && result >= 0) {
    note.result = 0;  // ready: try again
    return queue(request);
  }
  if (is_transfer(request) && request.offset() == kNoOffset) {
    // A stopped one may have been a poll, whose events must not pass for bytes.
    if (stopped && note.result == -EAGAIN && result >= 0) result = -ECANCELED;
    if (result == -EAGAIN) {
      if (!stopped) {
        note.result = -EAGAIN;
        return queue(request);
      }
      result = -ECANCELED;
    }
  }
  forget(request);
  request.finish(is_transfer(request) ? result : std::min(result, 0));
}

void UringIo::wake_on(int fd) {
  CORACLE_ASSERT(next_wake_ < kWakesEnd, "a loop was asked {} times to wake on a descriptor", next_wake_);
  wakes_.push_back({next_wake_++, fd, false});
}

void UringIo::forget(int fd) noexcept {
  const auto wake = std::find_if(wakes_.begin(), wakes_.end(), [fd](const Wake& each) { return each.fd == fd; });
  CORACLE_ASSERT(wake != wakes_.end(), "the loop does not wake on descriptor {}", fd);
  if (wake->armed) {
    // Without room for the removal the poll stays, and its number means nothing any more.
    if (io_uring_sqe* entry = io_uring_get_sqe(&ring_)) {
      io_uring_prep_poll_remove(entry, wake->number);
      io_uring_sqe_set_data64(entry, kCancellation);
      io_uring_submit(&ring_);
    }
  }
  wakes_.erase(wake);
}

/// One shot each, made before every sleep: so that it begins with a look at the descriptor.
bool UringIo::arm_wakes() noexcept {
  for (Wake& wake : wakes_) {
    if (wake.armed) continue;
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) return false;
    io_uring_prep_poll_add(entry, wake.fd, POLLIN);
    io_uring_sqe_set_data64(entry, wake.number);
    wake.armed = true;
  }
  return true;
}

bool UringIo::arm_doorbell() noexcept {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  if (entry == nullptr) return false;
  // The poll begins with a look at the descriptor: a ring from before is not lost.
  io_uring_prep_poll_multishot(entry, event_fd_.fd(), POLLIN);
  io_uring_sqe_set_data64(entry, kDoorbell);
  return doorbell_armed_ = true;
}

void UringIo::sleep(std::optional<std::uint64_t> timeout_ns) noexcept {
  if (!stops_.empty() || !waiting_.empty()) flush();
  if ((!doorbell_armed_ && !arm_doorbell()) || !arm_wakes()) return;
  if (!stops_.empty() || !waiting_.empty()) return;  // the kernel is short of memory: the loop turns and tries again
  __kernel_timespec timeout{};
  if (timeout_ns) {
    timeout.tv_sec = static_cast<std::int64_t>(*timeout_ns / 1'000'000'000);
    timeout.tv_nsec = static_cast<long long>(*timeout_ns % 1'000'000'000);
  }
  // Returns at once when a completion is there already. EINTR, ETIME and failures to submit: the loop looks again.
  io_uring_cqe* completion = nullptr;
  io_uring_submit_and_wait_timeout(&ring_, &completion, 1, timeout_ns ? &timeout : nullptr, nullptr);
}

}  // namespace

int try_io_uring() noexcept {
  io_uring ring{};
  const int error = open_ring(ring);
  if (error == 0) close_ring(ring);
  return -error;
}

std::unique_ptr<Io> make_uring_io(Doorbell& doorbell) {
  auto io = std::make_unique<UringIo>(doorbell);
  if (io->open() < 0) return nullptr;
  return io;
}

}  // namespace coracle::internals
