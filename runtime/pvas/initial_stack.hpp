// The stack that a new program finds: argc, argv, envp and the auxiliary vector, as the kernel's exec would lay it out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace coracle::internals::pvas {

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
