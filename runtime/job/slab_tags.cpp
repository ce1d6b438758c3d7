// The table of slabs' numbers.
#include "runtime/job/slab_tags.hpp"

#include <cstdlib>
#include <string_view>

namespace coracle::internals {

bool SlabTags::wanted() noexcept {
  const char* value = std::getenv("CORACLE_CHECK_SLABS");
  const std::string_view word = value != nullptr ? value : "";
  return !word.empty() && word != "0" && word != "no";
}

bool SlabTags::hold(std::byte* segment, std::uint64_t segment_bytes, std::uint64_t offset,
                    std::uint64_t bytes) noexcept {
  const auto number = static_cast<std::uint16_t>(offset >> kShift);
  const std::uint64_t begin = offset & kOffsetMask;
  const std::uint64_t room = segment_bytes - bytes_for(segment_bytes);
  if (begin > room || bytes > room - begin) return false;
  std::uint16_t* table = table_of(segment, segment_bytes);
  // relaxed: whoever has the place was told of it after its slab was tagged.
  for (std::uint64_t piece = begin / kPieceBytes; piece * kPieceBytes < begin + bytes; ++piece)
    if (std::atomic_ref(table[piece]).load(std::memory_order_relaxed) != number) return false;
  return true;
}

std::uint64_t SlabTags::give(std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (++last_ == kNobody) ++last_;
  fill(offset, bytes, last_);
  return offset | std::uint64_t{last_} << kShift;
}

void SlabTags::fill(std::uint64_t offset, std::uint64_t bytes, std::uint16_t number) noexcept {
  for (std::uint64_t piece = offset / kPieceBytes; piece * kPieceBytes < offset + bytes; ++piece)
    std::atomic_ref(table_[piece]).store(number, std::memory_order_relaxed);  // as in hold()
}

}  // namespace coracle::internals
