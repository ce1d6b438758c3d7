// What the loader needs to know of an ELF file, checked: a damaged or hostile file gets an Error here and never a crash
// of the process that owns all tasks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace coracle::internals::pvas {

/// One PT_LOAD. Sizes in bytes; `vaddr` is relative to where the file is loaded.
struct ElfSegment {
  std::uint64_t vaddr = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t memory_bytes = 0;
  int protection = 0;  ///< PROT_*
};

struct ElfFile {
  std::vector<ElfSegment> segments;  ///< Ascending, not overlapping, page-congruent with the file.
  std::uint64_t entry = 0;           ///< Relative, inside an executable segment.
  std::uint64_t headers_vaddr = 0;   ///< Where the program headers are in memory (AT_PHDR), relative.
  std::uint16_t header_count = 0;    ///< AT_PHNUM
  std::uint64_t alignment = 4096;    ///< Largest p_align, a power of two of at most 1 GiB.
  std::string interpreter;           ///< PT_INTERP; empty for static-pie programs and interpreters.

  std::uint64_t span_begin() const noexcept { return segments.front().vaddr / 4096 * 4096; }
  std::uint64_t span_end() const noexcept {
    return (segments.back().vaddr + segments.back().memory_bytes + 4095) / 4096 * 4096;
  }
};

/// Reads and checks the open file `fd`; `path` is for messages. Throws Error: Errc::bad_input for what isn't a whole
/// ELF file, Errc::unsupported for a sound one that can't be a task (another machine, not position-independent).
ElfFile read_elf(int fd, const std::string& path);

}  // namespace coracle::internals::pvas
