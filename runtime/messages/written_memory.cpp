// A look at one word tells most memory that has been written: it holds something else than zero.
#include "runtime/messages/written_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "runtime/core/resident.hpp"

namespace coracle::internals {
namespace {

bool begins_with_zeros(std::uintptr_t begin, std::uintptr_t end) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, reinterpret_cast<const void*>(begin), std::min<std::size_t>(sizeof word, end - begin));
  return word == 0;
}

}  // namespace

void WrittenMemory::look(Part& known, Part part) noexcept {
  if (begins_with_zeros(part.begin, part.end)) {
    // Whole pages: what lies beside the message in its first and last one is this rank's, too.
    static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const std::uintptr_t from = part.begin / page * page;
    const std::uintptr_t to = (part.end + page - 1) / page * page;
    make_resident(reinterpret_cast<std::byte*>(from), to - from);  // of memory that may not be written it makes none
  }
  // What has been looked at of the same block, as one part; another block's gives way.
  const bool touches =
      part.begin <= known.end && known.begin <= part.end && known.begin / kBlockBytes == part.begin / kBlockBytes;
  known = touches ? Part{std::min(known.begin, part.begin), std::max(known.end, part.end)} : part;
}

}  // namespace coracle::internals
