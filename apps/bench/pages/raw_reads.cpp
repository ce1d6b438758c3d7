#include "apps/bench/pages/raw_reads.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "runtime/core/error.hpp"

namespace coracle::internals::bench {
namespace {

constexpr std::size_t kHugePage = 2 << 20;

FileDescriptor open_direct(const std::string& file) {
  FileDescriptor fd(::open(file.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  if (!fd) throw_errno(errno, fmt::format("can't open {} for direct I/O", file));
  return fd;
}

}  // namespace

HugeBuffer::HugeBuffer(std::size_t bytes) : mapped_bytes_((bytes + 2 * kHugePage - 1) / kHugePage * kHugePage) {
  void* mapped = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw_errno(errno, fmt::format("can't get {} bytes of memory", mapped_bytes_));
  mapped_ = static_cast<std::byte*>(mapped);
  const auto address = reinterpret_cast<std::uintptr_t>(mapped);
  data_ = mapped_ + ((kHugePage - address % kHugePage) % kHugePage);
  ::madvise(mapped_, mapped_bytes_, MADV_HUGEPAGE);  // only a hint
  std::memset(data_, 0, bytes);
}

HugeBuffer::~HugeBuffer() {
  ::munmap(mapped_, mapped_bytes_);
}

RawReads::RawReads(const std::string& file, std::size_t bytes, unsigned depth)
    : fd_(open_direct(file)), bytes_(bytes), depth_(depth), buffer_(bytes * depth) {
  struct stat found {};
  ::fstat(fd_.get(), &found);
  blocks_ = static_cast<std::uint64_t>(found.st_size) / bytes;
  constexpr unsigned kFlags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
  int error = ::io_uring_queue_init(depth, &ring_, kFlags);
  if (error == -EINVAL) error = ::io_uring_queue_init(depth, &ring_, 0);  // before Linux 6.1
  if (error != 0)
    throw_errno(-error, "the pages' limit is plain io_uring, which the kernel refuses (see `coracle info`)");
}

RawReads::~RawReads() {
  ::io_uring_queue_exit(&ring_);
}

void RawReads::ask(std::uint64_t block, unsigned place) {
  io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);  // never full: it has `depth` places
  ::io_uring_prep_read(entry, fd_.get(), buffer_.data() + place * bytes_, static_cast<unsigned>(bytes_),
                       block * bytes_);
  ::io_uring_sqe_set_data64(entry, place);
}

void RawReads::read(std::uint64_t count, const std::function<std::uint64_t()>& next) {
  std::uint64_t asked = 0;
  for (; asked < std::min<std::uint64_t>(count, depth_); ++asked) ask(next(), static_cast<unsigned>(asked));
  std::array<io_uring_cqe*, 64> ended{};
  int failure = 0;
  for (std::uint64_t done = 0; done < asked;) {
    const int entered = ::io_uring_submit_and_wait(&ring_, 1);
    if (entered < 0 && entered != -EINTR) throw_errno(-entered, "io_uring_enter");
    const unsigned found = ::io_uring_peek_batch_cqe(&ring_, ended.data(), ended.size());
    for (unsigned i = 0; i < found; ++i) {
      const int result = ended[i]->res;
      if (result != static_cast<int>(bytes_)) failure = result < 0 ? -result : EIO;
      if (asked < count && failure == 0) {
        ask(next(), static_cast<unsigned>(::io_uring_cqe_get_data64(ended[i])));
        ++asked;
      }
    }
    ::io_uring_cq_advance(&ring_, found);
    done += found;
  }
  if (failure != 0) throw_errno(failure, "a plain read of the pages' file");
}

}  // namespace coracle::internals::bench
