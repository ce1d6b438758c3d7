// Maps an ELF file's segments to a place the root chooses: for the first image of a task, which no dynamic linker maps.
#pragma once

#include <cstdint>

#include "runtime/pvas/program.hpp"

namespace coracle::internals::pvas {

/// Where an image lies after map_image.
struct MappedImage {
  std::uint64_t bias = 0;  ///< What to add to the file's addresses.
  std::uint64_t entry = 0;
  std::uint64_t end = 0;  ///< First address behind it, page-aligned.
};

/// Maps privately at `base` or above (as the file's alignment asks), below `limit`. Text stays shared with every other
/// mapping of the file. Throws Error; what was mapped until then lies between base and limit.
MappedImage map_image(const ProgramFile& file, std::uint64_t base, std::uint64_t limit);

/// True when nothing is mapped in [begin, end).
bool is_unmapped(std::uint64_t begin, std::uint64_t end) noexcept;

/// mmap that never replaces what is there; throws Error naming `what`, and vm.max_map_count where that may be the
/// cause.
void map_exactly(std::uint64_t address, std::uint64_t size, int protection, int flags, int fd, std::uint64_t offset,
                 const char* what);

}  // namespace coracle::internals::pvas
