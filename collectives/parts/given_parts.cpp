// Writing parts into a contribution.
#include "collectives/parts/given_parts.hpp"

namespace coracle::internals {

GivenParts::GivenParts(const SourceBlocks& parts, std::uint32_t own) noexcept
    : parts_(parts), own_(own), bytes_(parts.bytes_of_all_but(own)) {
  if (parts.members() == 2) return;
  const bool fits = bytes_ + parts.members() <= Contribution::kInlineBytesMax;
  bytes_ += parts.members() * (fits ? 1 : sizeof(Entry));
}

Task<> GivenParts::give(LocalCollective& local) const {
  return local.give_made(bytes_, [this](std::byte* room) { write(room); });
}

void GivenParts::write(std::byte* room) const {
  if (parts_.members() == 2) return read_part(parts_.of(1 - own_), 0, {room, bytes_});
  const bool is_inline = bytes_ <= Contribution::kInlineBytesMax;
  std::size_t end = parts_.members() * (is_inline ? 1 : sizeof(Entry));
  for (std::uint32_t member = 0; member < parts_.members(); ++member) {
    const std::size_t bytes = member == own_ ? 0 : parts_.bytes_of(member);
    if (is_inline) {
      room[member] = static_cast<std::byte>(bytes);
    } else {
      const Entry entry{static_cast<std::uint32_t>(end), static_cast<std::uint32_t>(bytes)};
      std::memcpy(room + member * sizeof entry, &entry, sizeof entry);
    }
    if (bytes > 0) read_part(parts_.of(member), 0, {room + end, bytes});
    end += bytes;
  }
}

}  // namespace coracle::internals
