// PROCMAP_QUERY, which older headers don't have.
#include "runtime/core/mapping_query.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

namespace coracle::internals {
namespace {

/// struct procmap_query of linux/fs.h.
struct Query {
  std::uint64_t size;
  std::uint64_t query_flags;
  std::uint64_t query_addr;
  std::uint64_t vma_start;
  std::uint64_t vma_end;
  std::uint64_t vma_flags;
  std::uint64_t vma_page_size;
  std::uint64_t vma_offset;
  std::uint64_t inode;
  std::uint32_t dev_major;
  std::uint32_t dev_minor;
  std::uint32_t vma_name_size;
  std::uint32_t build_id_size;
  std::uint64_t vma_name_addr;
  std::uint64_t build_id_addr;
};
constexpr std::uint64_t kWritable = 2;
constexpr std::uint64_t kShared = 8;

}  // namespace

MappingQuery::~MappingQuery() {
  if (fd_ >= 0) ::close(fd_);
}

std::optional<Mapping> MappingQuery::mapping_of(std::uintptr_t address) noexcept {
  if (fd_ < 0 && !is_refused_) fd_ = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) is_refused_ = true;
  if (is_refused_) return std::nullopt;
  Query query{};
  query.size = sizeof query;
  query.query_addr = address;
  if (::ioctl(fd_, _IOWR('f', 17, Query), &query) != 0) {
    is_refused_ = errno != ENOENT;  // that: nothing is mapped there
    return std::nullopt;
  }
  return Mapping{query.vma_start, query.vma_end, (query.vma_flags & kWritable) != 0,
                 query.inode == 0 && (query.vma_flags & kShared) == 0};
}

}  // namespace coracle::internals
