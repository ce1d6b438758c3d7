#include "storage/mapped/userfault.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "runtime/core/error.hpp"

namespace coracle::internals::storage {
namespace {

// Of Linux 6.6; headers of distributions are older.
struct PoisonArguments {
  uffdio_range range;
  __u64 mode;
  __s64 updated;
};
constexpr unsigned long kPoison = _IOWR(UFFDIO, 0x08, PoisonArguments);
constexpr std::uint64_t kFeaturePoison = 1 << 14;
// Of Linux 6.8.
struct MoveArguments {
  __u64 target;
  __u64 source;
  __u64 bytes;
  __u64 mode;
  __s64 moved;
};
constexpr unsigned long kMove = _IOWR(UFFDIO, 0x05, MoveArguments);
constexpr std::uint64_t kMoveWithoutWaking = 1;
constexpr std::uint64_t kFeatureMove = 1 << 16;

constexpr std::uint64_t kFeaturesNeeded = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_THREAD_ID;

struct Opened {
  int fd = -1;
  std::uint64_t features = 0;
  int error = 0;
};

/// With these features switched on: the kernel takes that request once for each descriptor.
Opened open_with(std::uint64_t features) noexcept {
  Opened opened;
  opened.fd = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
  if (opened.fd < 0) {
    opened.error = errno;
    return opened;
  }
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = features;
  if (::ioctl(opened.fd, UFFDIO_API, &api) == 0) {
    opened.features = api.features;
    return opened;
  }
  opened.error = errno;
  ::close(opened.fd);
  opened.fd = -1;
  return opened;
}

Opened open_userfaultfd(bool poison) noexcept {
  Opened opened = open_with(0);
  if (opened.fd < 0) return opened;
  ::close(opened.fd);
  opened.fd = -1;
  if ((opened.features & kFeaturesNeeded) != kFeaturesNeeded) {
    opened.error = EOPNOTSUPP;
    return opened;
  }
  const std::uint64_t extra = opened.features & (kFeatureMove | (poison ? kFeaturePoison : 0));
  Opened again = open_with(kFeaturesNeeded | extra);
  again.features = kFeaturesNeeded | extra;
  return again;
}

IoSupport support_of(const Opened& opened) {
  IoSupport support{"userfaultfd", opened.error == 0, "", ""};
  if (support.available) return support;
  const std::error_code code(opened.error, std::generic_category());
  support.reason = fmt::format("the kernel refuses userfaultfd: {}", code.message());
  switch (opened.error) {
    case EPERM:
    case EACCES:
      support.remedy = "in a container, allow the system call userfaultfd in its seccomp profile";
      break;
    case ENOSYS:
      support.remedy =
          "use a kernel built with CONFIG_USERFAULTFD, or allow the system call in the container's seccomp "
          "profile";
      break;
    case EINVAL:
    case EOPNOTSUPP:
      support.remedy = "use a kernel of version 5.11 or later, on a processor that it can protect pages on";
      break;
    default:
      support.remedy = "see `ulimit -n`";
  }
  return support;
}

uffdio_range range_of(const std::byte* data, std::size_t offset, std::size_t bytes) noexcept {
  return {reinterpret_cast<std::uint64_t>(data) + offset, bytes};
}

constexpr int kSelf = -10000;  // PIDFD_SELF_THREAD

constexpr std::size_t whole_huge_pages(std::size_t bytes) noexcept {
  return (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
}

/// At a multiple of a huge page.
std::byte* reserve(std::size_t bytes) {
  const std::size_t more = bytes + kHugePageBytes;
  void* memory = ::mmap(nullptr, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw_errno(errno, fmt::format("mmap of {} bytes for a window (see `ulimit -v` and vm.max_map_count)", bytes));
  auto* start = static_cast<std::byte*>(memory);
  const std::size_t before =
      (kHugePageBytes - reinterpret_cast<std::uintptr_t>(start) % kHugePageBytes) % kHugePageBytes;
  if (before > 0) ::munmap(start, before);
  if (kHugePageBytes > before) ::munmap(start + before + bytes, kHugePageBytes - before);
  start += before;
  // A forked child would find no one to serve its faults.
  ::madvise(start, bytes, MADV_DONTFORK);
  return start;
}

}  // namespace

IoSupport probe_userfaultfd() {
  const Opened opened = open_userfaultfd(true);
  if (opened.fd >= 0) ::close(opened.fd);
  return support_of(opened);
}

Userfault::Userfault(std::size_t bytes, Refusal refusal, std::size_t beside)
    : bytes_(bytes), beside_(beside), reserved_(whole_huge_pages(bytes) + beside) {
  const Opened opened = open_userfaultfd(refusal == Refusal::poison);
  if (opened.error != 0) {
    const IoSupport support = support_of(opened);
    throw Error(Errc::unsupported,
                fmt::format("loads and stores on a paged segment: {}; {}", support.reason, support.remedy));
  }
  fd_ = opened.fd;
  poisons_ = (opened.features & kFeaturePoison) != 0;
  moves_ = (opened.features & kFeatureMove) != 0;
  try {
    data_ = reserve(reserved_);
    uffdio_register request{};
    request.range = range_of(data_, 0, reserved_);
    request.mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP;
    if (::ioctl(fd_, UFFDIO_REGISTER, &request) != 0)
      throw Error(Errc::unsupported, fmt::format("loads and stores on a paged segment: the kernel does not report "
                                                 "faults and first stores of a window of {} bytes: {}",
                                                 bytes, std::error_code(errno, std::generic_category()).message()));
    // Else a thread that waits for a page makes a table for small ones there, and a huge page that is moved in is
    // split.
    if (moves_ && beside > 0) ::madvise(data_, reserved_, MADV_HUGEPAGE);
  } catch (...) {
    if (data_ != nullptr) ::munmap(data_, reserved_);
    ::close(fd_);
    throw;
  }
}

Userfault::~Userfault() {
  ::munmap(data_, reserved_);
  ::close(fd_);
}

std::size_t Userfault::take(std::span<Fault> faults) noexcept {
  std::array<uffd_msg, 64> messages;  // NOLINT(cppcoreguidelines-pro-type-member-init): the kernel fills it
  const std::size_t room = std::min(faults.size(), messages.size()) * sizeof(uffd_msg);
  const ssize_t bytes = ::read(fd_, messages.data(), room);
  if (bytes <= 0) return 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(bytes) / sizeof(uffd_msg); ++i) {
    const uffd_msg& message = messages[i];
    if (message.event != UFFD_EVENT_PAGEFAULT) continue;
    const auto& fault = message.arg.pagefault;
    const bool present = (fault.flags & UFFD_PAGEFAULT_FLAG_WP) != 0;
    faults[count++] = {fault.address - reinterpret_cast<std::uint64_t>(data_), fault.feat.ptid,
                       present || (fault.flags & UFFD_PAGEFAULT_FLAG_WRITE) != 0, present};
  }
  return count;
}

int Userfault::fill(std::size_t offset, const std::byte* source, std::size_t bytes, bool protect) noexcept {
  std::size_t done = 0;
  while (done < bytes) {
    uffdio_copy request{};
    request.dst = reinterpret_cast<std::uint64_t>(data_) + offset + done;
    request.src = reinterpret_cast<std::uint64_t>(source) + done;
    request.len = bytes - done;
    request.mode = protect ? UFFDIO_COPY_MODE_WP : 0;
    if (::ioctl(fd_, UFFDIO_COPY, &request) == 0) return 0;
    const int error = errno;
    if (error != EAGAIN) {
      drop(offset, bytes);
      return error;
    }
    if (request.copy > 0) done += static_cast<std::size_t>(request.copy);
  }
  return 0;
}

int Userfault::move(std::byte* target, std::byte* source, std::size_t bytes) noexcept {
  // Pages that are busy for a moment (reclaim, migration) are worth another try.
  constexpr int kTries = 100;
  std::size_t done = 0;
  int error = 0;
  for (int tries = 0; done < bytes && tries < kTries; ++tries) {
    MoveArguments request{reinterpret_cast<std::uint64_t>(target) + done,
                          reinterpret_cast<std::uint64_t>(source) + done, bytes - done, kMoveWithoutWaking, 0};
    error = ::ioctl(fd_, kMove, &request) == 0 ? 0 : errno;
    if (error == 0) return 0;
    if (error != EAGAIN && error != EBUSY) break;
    if (request.moved > 0) done += static_cast<std::size_t>(request.moved);
  }
  if (done == bytes) return 0;
  ::madvise(target, bytes, MADV_DONTNEED);
  return error;
}

int Userfault::move_in(std::size_t offset, std::byte* source, std::size_t bytes) noexcept {
  return move(data_ + offset, source, bytes);
}

int Userfault::move_out(std::size_t offset, std::byte* target, std::size_t bytes) noexcept {
  const int error = move(target, data_ + offset, bytes);
  if (error != 0) drop(offset, bytes);
  return error;
}

int Userfault::protect(std::size_t offset, std::size_t bytes) noexcept {
  uffdio_writeprotect request{range_of(data_, offset, bytes), UFFDIO_WRITEPROTECT_MODE_WP};
  return ::ioctl(fd_, UFFDIO_WRITEPROTECT, &request) == 0 ? 0 : errno;
}

int Userfault::unprotect(std::size_t offset, std::size_t bytes) noexcept {
  uffdio_writeprotect request{range_of(data_, offset, bytes), 0};
  return ::ioctl(fd_, UFFDIO_WRITEPROTECT, &request) == 0 ? 0 : errno;
}

void Userfault::wake(std::size_t offset, std::size_t bytes) noexcept {
  uffdio_range range = range_of(data_, offset, bytes);
  ::ioctl(fd_, UFFDIO_WAKE, &range);
}

void Userfault::drop(std::size_t offset, std::size_t bytes) noexcept {
  ::madvise(data_ + offset, bytes, MADV_DONTNEED);
}

void Userfault::drop_all(std::span<const std::size_t> offsets, std::size_t bytes_each) noexcept {
  constexpr std::size_t kAtOnce = 32;
  std::array<iovec, kAtOnce> ranges{};
  while (!offsets.empty()) {
    const std::size_t count = std::min(offsets.size(), kAtOnce);
    for (std::size_t i = 0; i < count; ++i) ranges[i] = {data_ + offsets[i], bytes_each};
    // Of several at once, before Linux 6.14, only other processes could be told.
    const auto done = ::syscall(SYS_process_madvise, kSelf, ranges.data(), count, MADV_DONTNEED, 0);
    if (done != static_cast<long>(count * bytes_each))
      for (std::size_t i = 0; i < count; ++i) drop(offsets[i], bytes_each);
    offsets = offsets.subspan(count);
  }
}

int Userfault::refuse(std::size_t offset, std::size_t bytes) noexcept {
  if (poisons_) {
    PoisonArguments request{range_of(data_, offset, bytes), 0, 0};
    return ::ioctl(fd_, kPoison, &request) == 0 ? 0 : errno;
  }
  const int error = ::mprotect(data_ + offset, bytes, PROT_NONE) == 0 ? 0 : errno;
  wake(offset, bytes);
  return error;
}

void Userfault::allow(std::size_t offset, std::size_t bytes) noexcept {
  if (poisons_)
    drop(offset, bytes);
  else
    ::mprotect(data_ + offset, bytes, PROT_READ | PROT_WRITE);
}

}  // namespace coracle::internals::storage
