// What either side copies.
#include "runtime/messages/helped_copies.hpp"

#include <cstdlib>
#include <cstring>

#include "runtime/core/other_memory.hpp"

namespace coracle::internals {

bool may_be_helped() noexcept {
  const char* const preloaded = std::getenv("LD_PRELOAD");
  return preloaded == nullptr || std::strstr(preloaded, "vgpreload") == nullptr;
}

bool read_own_chunks(HelpedCopies::Copy& copy, pid_t pid, std::uint64_t source, std::span<std::byte> target) noexcept {
  for (;;) {
    const std::optional<std::uint64_t> chunk = copy.claim();
    if (!chunk) return true;
    const std::uint64_t offset = copy.chunks().offset(*chunk);
    if (read_whole_from_other(pid, source + offset, target.subspan(offset, copy.chunks().bytes(*chunk))) == 0) continue;
    copy.withdraw();
    return false;
  }
}

bool help_copy(RankBlock& receiver, std::uint64_t key, std::span<const std::byte> source,
               std::uint64_t target) noexcept {
  // Its number may be another process's by now.
  if (receiver.phase.load(std::memory_order_acquire) == RankPhase::lost) return false;
  CopyClaims& claims = receiver.copies[key % receiver.copies.size()];
  const std::optional<std::uint64_t> chunk = claims.claim_last(static_cast<std::uint32_t>(key >> 32));
  if (!chunk) return false;
  const HelpedChunks chunks(source.size());
  const std::uint64_t offset = chunks.offset(*chunk);
  // relaxed: its first message came after it had stored its pid.
  const pid_t pid = receiver.pid.load(std::memory_order_relaxed);
  claims.note_sent(write_whole_to_other(pid, source.subspan(offset, chunks.bytes(*chunk)), target + offset));
  return true;
}

}  // namespace coracle::internals
