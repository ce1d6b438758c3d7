// Mapping PT_LOADs as the kernel's exec does, and laying out argc, argv, envp and auxv by hand (System V ABI for
// x86-64, section 3.4).
#include "runtime/pvas/image.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
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

void set(std::vector<AuxEntry>& auxiliary, std::uint64_t type, std::uint64_t value) {
  for (AuxEntry& entry : auxiliary) {
    if (entry.first == type) {
      entry.second = value;
      return;
    }
  }
  auxiliary.emplace_back(type, value);
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

std::vector<AuxEntry> own_auxiliary_vector() {
  const int fd = ::open("/proc/self/auxv", O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw_errno(errno, "cannot read /proc/self/auxv (is /proc mounted?)");
  std::array<std::uint64_t, 256> words{};
  const ssize_t got = ::read(fd, words.data(), sizeof(words));
  ::close(fd);
  std::vector<AuxEntry> entries;
  for (std::size_t i = 0; i + 1 < words.size() && static_cast<ssize_t>(i * 8) < got && words[i] != AT_NULL; i += 2) {
    entries.emplace_back(words[i], words[i + 1]);
  }
  return entries;
}

std::uint64_t StackWriter::take(std::size_t size, std::size_t alignment) {
  if (size > top_ - limit_ || top_ - size < limit_ + alignment) {
    throw Error(std::make_error_code(std::errc::argument_list_too_long),
                "cannot start a task: its arguments and environment fill a quarter of its stack");
  }
  top_ = (top_ - size) / alignment * alignment;
  return top_;
}

std::uint64_t StackWriter::push(const void* bytes, std::size_t size, std::size_t alignment) {
  const std::uint64_t place = take(size, alignment);
  std::memcpy(reinterpret_cast<void*>(place), bytes, size);
  return place;
}

std::uint64_t write_initial_stack(StackWriter& writer, std::span<const std::string> arguments,
                                  std::span<const std::string> environment, std::vector<AuxEntry> auxiliary,
                                  const ImageAddresses& image) {
  std::array<std::uint64_t, 2> random{};
  // Without the kernel's randomness the addresses themselves remain a (weak) source; a task must still start.
  if (::getrandom(random.data(), sizeof(random), GRND_NONBLOCK) < 0) random = {writer.top(), image.entry};
  set(auxiliary, AT_RANDOM, writer.push(random.data(), sizeof(random), 16));
  set(auxiliary, AT_PLATFORM, writer.push(std::string("x86_64")));
  set(auxiliary, AT_EXECFN, writer.push(image.path));
  set(auxiliary, AT_PHDR, image.headers);
  set(auxiliary, AT_PHENT, sizeof(Elf64_Phdr));
  set(auxiliary, AT_PHNUM, image.header_count);
  set(auxiliary, AT_BASE, 0);  // The image is started as a program of its own, as exec would start a dynamic linker.
  set(auxiliary, AT_ENTRY, image.entry);
  set(auxiliary, AT_UID, ::getuid());
  set(auxiliary, AT_EUID, ::geteuid());
  set(auxiliary, AT_GID, ::getgid());
  set(auxiliary, AT_EGID, ::getegid());
  set(auxiliary, AT_SECURE, 0);

  std::vector<std::uint64_t> words{arguments.size()};
  for (const std::string& argument : arguments) words.push_back(writer.push(argument));
  words.push_back(0);
  for (const std::string& variable : environment) words.push_back(writer.push(variable));
  words.push_back(0);
  for (const AuxEntry& entry : auxiliary) {
    words.push_back(entry.first);
    words.push_back(entry.second);
  }
  words.push_back(AT_NULL);
  words.push_back(0);
  return writer.push(words.data(), words.size() * sizeof(std::uint64_t), 16);
}

}  // namespace coracle::internals::pvas
