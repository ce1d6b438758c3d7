// What exec does for a new program: its segments mapped, and the stack that it finds. For the first image of a task,
// which no dynamic linker maps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

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

// The stack that a new program finds: argc, argv, envp and the auxiliary vector.

/// One entry of the auxiliary vector: AT_* and its value.
using AuxEntry = std::pair<std::uint64_t, std::uint64_t>;

/// The calling process's own vector, without AT_NULL.
std::vector<AuxEntry> own_auxiliary_vector();

/// Writes downwards from `top`, never below `limit`; both lie in mapped memory.
class StackWriter {
 public:
  StackWriter(std::uint64_t top, std::uint64_t limit) : top_(top), limit_(limit) {}

  /// Copies `size` bytes to an address that is a multiple of `alignment`; throws Error (argument list too long).
  std::uint64_t push(const void* bytes, std::size_t size, std::size_t alignment = 1);
  std::uint64_t push(const std::string& text) { return push(text.c_str(), text.size() + 1); }
  std::uint64_t top() const noexcept { return top_; }

 private:
  std::uint64_t take(std::size_t size, std::size_t alignment);

  std::uint64_t top_;
  std::uint64_t limit_;
};

/// What differs from the root's own auxiliary vector.
struct ImageAddresses {
  std::uint64_t headers = 0;
  std::uint64_t header_count = 0;
  std::uint64_t entry = 0;
  std::string path;
};

/// Returns the stack pointer to start with.
std::uint64_t write_initial_stack(StackWriter& writer, std::span<const std::string> arguments,
                                  std::span<const std::string> environment, std::vector<AuxEntry> auxiliary,
                                  const ImageAddresses& image);

}  // namespace coracle::internals::pvas
