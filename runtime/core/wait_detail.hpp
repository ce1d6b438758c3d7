// WaitDetail: what a wait can say of itself beyond its name, for those who explain why a job stands still.
#pragma once

#include <cstdint>

namespace coracle::internals {

/// By whom a wait can be ended.
enum class WaitKind : std::uint8_t {
  inside,      ///< Another coroutine of this rank, or a call of a peer that comes in: events, mutexes, channels.
  children,    ///< What this coroutine has started itself, whose waits are told, too.
  timer,       ///< Time.
  io,          ///< The kernel: of a file.
  readiness,   ///< The kernel: until a descriptor can be read or written.
  device,      ///< A DMA device, a GPU, a helper thread.
  operation,   ///< The peer's runtime, whatever its program does.
  call,        ///< A function that the peer runs for this rank.
  receive,     ///< A message of the peer, or (peer -1) of any member of the team.
  transfer,    ///< A message that has been matched, and is being fetched.
  send,        ///< A receive of the peer.
  signal,      ///< The peer, or (-1) whoever raises it.
  collective,  ///< Members of a team, which the team's log of calls tells.
  loss,        ///< The loss of a peer, which may come from outside.
  last = loss,
};

struct WaitDetail {
  static constexpr std::uint32_t kNoTeam = ~std::uint32_t{0};

  WaitKind kind = WaitKind::inside;
  std::uint32_t team = kNoTeam;  ///< Of messages: the team's identity.
  std::uint64_t tag = 0;         ///< Of messages.
};

}  // namespace coracle::internals
