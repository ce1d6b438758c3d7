// What collectives ask of their arguments, and of the team, before they begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/rank/rank.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// Throws Error (bad_input): this member has called a collective with `here` bytes, `rank` (of the job) with `there`.
[[noreturn]] void throw_sizes_differ(std::size_t here, std::size_t there, std::uint32_t rank);

/// Throws Error (ENOMEM) where all members' results, of `count` elements of `bytes` each, do not fit into the memory
/// that they share in `sim`: says how much they need, how much there is, and how many members would fit.
void refuse_results(const Team& team, const char* what, std::size_t count, std::size_t bytes);
/// The same, before anything is taken; costs nothing where it is little.
inline void check_results(const Team& team, const char* what, std::size_t count, std::size_t bytes) {
  constexpr std::uint64_t kLittle = std::uint64_t{1} << 28;
  if (count * bytes > kLittle / team.size()) [[unlikely]]
    refuse_results(team, what, count, bytes);
}

/// Whether any of these bytes, which are one member's, lie in a GPU's memory.
bool on_device(const MemoryDomain& devices, std::span<const std::byte> bytes) noexcept;
template <class... Bytes>
bool on_device(const Team& team, const Bytes&... buffers) noexcept {
  const MemoryDomain* devices = team.rank().core().device_memory();
  return devices != nullptr && (on_device(*devices, std::span<const std::byte>(buffers)) || ...);
}

/// The beginning of a collective whose buffers loads and stores must reach. Throws Error where the team is broken
/// (peer_lost, given_up) or a buffer lies in a GPU's memory (unsupported, which breaks the team: others wait in it).
class HostParticipation : public Participation {
 public:
  template <class... Bytes>
  HostParticipation(Team& team, const CollectiveCall& call, const Bytes&... buffers)
      : HostParticipation(on_device(team, buffers...), team, call) {}
  HostParticipation(bool on_device, Team& team, const CollectiveCall& call)
      : Participation(on_device ? team : whole(team, call), call) {
    // Also where another member has just refused and broken the team: each is told what it can mend itself.
    if (on_device) [[unlikely]]
      throw_on_device(team, call);
    CORACLE_ASSERT(call.root == CollectiveCall::kNoRoot || call.root < team.size(), "root {} of a team of {}",
                   call.root, team.size());
  }

 private:
  static Team& whole(Team& team, const CollectiveCall& call) {
    if (team.broken()) [[unlikely]]
      team.core().check_whole(name_of(call.called));
    return team;
  }
  [[noreturn]] static void throw_on_device(const Team& team, const CollectiveCall& call);
};

}  // namespace coracle::internals
