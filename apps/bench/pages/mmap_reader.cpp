// A file mapped twice.
#include "apps/bench/pages/mmap_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

#include "apps/bench/pages/reader_protocol.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals::bench {
namespace {

/// Mapped twice: as it is, and with MADV_RANDOM. The process ends with it.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat found {};
    if (fd_ < 0 || ::fstat(fd_, &found) != 0) throw_errno(errno, fmt::format("can't open {}", path));
    bytes_ = static_cast<std::size_t>(found.st_size);
    for (std::byte*& way : ways_) {
      void* mapped = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, fd_, 0);
      if (mapped == MAP_FAILED) throw_errno(errno, fmt::format("can't map {}", path));
      way = static_cast<std::byte*>(mapped);
    }
    ::madvise(ways_[1], bytes_, MADV_RANDOM);
  }

  /// From these mappings and from the page cache.
  void drop() noexcept {
    for (std::byte* way : ways_) ::madvise(way, bytes_, MADV_DONTNEED);
    ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
  }
  const std::byte* data(bool random_advice) const noexcept { return ways_[random_advice ? 1 : 0]; }

 private:
  int fd_;
  std::size_t bytes_ = 0;
  std::array<std::byte*, 2> ways_{};
};

}  // namespace

int read_by_mmap(std::span<const char* const> words) {
  MappedFile file(words.front());
  const bool cold = words.back() == std::string_view(kCold);
  file.drop();
  for (ReaderRequest request{}; receive(0, request);) {
    if (cold) file.drop();
    if (!send(0, load_on_threads(file.data(request.random_advice != 0), request))) return 1;
  }
  return 0;
}

}  // namespace coracle::internals::bench
