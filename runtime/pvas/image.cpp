// Mapping PT_LOADs as the kernel's exec does.
#include "runtime/pvas/image.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "runtime/core/error.hpp"
#include "runtime/pvas/partition_layout.hpp"

namespace coracle::internals::pvas {
namespace {

void map_segment(const ProgramFile& file, const ElfSegment& segment, std::uint64_t bias) {
  const std::uint64_t begin = bias + page_down(segment.vaddr);
  const std::uint64_t file_end = bias + segment.vaddr + segment.file_bytes;
  const std::uint64_t end = page_up(bias + segment.vaddr + segment.memory_bytes);
  std::uint64_t mapped_end = begin;
  if (segment.file_bytes > 0) {
    mapped_end = page_up(file_end);
    map_exactly(begin, mapped_end - begin, segment.protection, MAP_PRIVATE, file.fd, page_down(segment.file_offset),
                "a segment of the program");
  }
  if (segment.memory_bytes > segment.file_bytes && segment.file_bytes > 0) {
    // Up to the page's end, not only to the segment's: ld.so allocates there.
    std::memset(reinterpret_cast<void*>(file_end), 0, mapped_end - file_end);
  }
  if (end > mapped_end) {
    map_exactly(mapped_end, end - mapped_end, segment.protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0,
                "the zeroed data of the program");
  }
}

}  // namespace

bool is_unmapped(std::uint64_t begin, std::uint64_t end) noexcept {
  void* const place = reinterpret_cast<void*>(begin);
  void* const got =
      ::mmap(place, end - begin, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) return false;
  ::munmap(got, end - begin);
  return got == place;
}

void map_exactly(std::uint64_t address, std::uint64_t size, int protection, int flags, int fd, std::uint64_t offset,
                 const char* what) {
  void* const place = reinterpret_cast<void*>(address);
  void* const got = ::mmap(place, size, protection, flags | MAP_FIXED_NOREPLACE, fd, static_cast<off_t>(offset));
  if (got == place) return;
  const int code = got == MAP_FAILED ? errno : EEXIST;
  if (got != MAP_FAILED) ::munmap(got, size);  // A kernel before 4.17 takes the address as a hint only.
  const char* remedy = code == ENOMEM ? " (too many mappings? sysctl vm.max_map_count=1048576)" : "";
  throw_errno(code, fmt::format("cannot map {} at {:#x}, {} bytes{}", what, address, size, remedy));
}

MappedImage map_image(const ProgramFile& file, std::uint64_t base, std::uint64_t limit) {
  const ElfFile& elf = file.elf;
  const std::uint64_t bias = align_up(base, elf.alignment) - elf.span_begin() / elf.alignment * elf.alignment;
  if (bias + elf.span_end() > limit) {
    throw Error(std::make_error_code(std::errc::not_enough_memory),
                fmt::format("cannot run {}: its image of {} bytes does not fit its partition", file.path,
                            elf.span_end() - elf.span_begin()));
  }
  for (const ElfSegment& segment : elf.segments) map_segment(file, segment, bias);
  return {bias, bias + elf.entry, bias + elf.span_end()};
}

}  // namespace coracle::internals::pvas
