// A look at one word tells most memory that has been written: it holds something else than zero.
#include "runtime/messages/written_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/core/resident.hpp"

namespace coracle::internals {
namespace {

bool begins_with_zeros(std::uintptr_t begin, std::uintptr_t end) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, reinterpret_cast<const void*>(begin), std::min<std::size_t>(sizeof word, end - begin));
  return word == 0;
}

}  // namespace

void WrittenMemory::make_pages(Part part) noexcept {
  // Whole pages: what lies beside the message in its first and last one is this rank's, too.
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  part = {part.begin / page * page, (part.end + page - 1) / page * page};
  const std::optional<Mapping> mapping = mappings_.mapping_of(part.begin);
  if (!mapping || !mapping->is_anonymous || !mapping->is_writable) return;
  part.end = std::min(part.end, mapping->end);
  make_resident(reinterpret_cast<std::byte*>(part.begin), part.end - part.begin);
}

void WrittenMemory::look(Part& known, Part part) noexcept {
  if (begins_with_zeros(part.begin, part.end)) make_pages(part);
  // What has been looked at of the same block, as one part; another block's gives way.
  const bool touches =
      part.begin <= known.end && known.begin <= part.end && known.begin / kBlockBytes == part.begin / kBlockBytes;
  known = touches ? Part{std::min(known.begin, part.begin), std::max(known.end, part.end)} : part;
}

}  // namespace coracle::internals
