// RendezvousScheme: how a message that is not sent at once gets from its sender's memory to its receiver's.
#pragma once

#include <cstdint>

namespace coracle::internals {

enum class RendezvousScheme : std::uint32_t {
  automatic,    ///< The quickest known for such a message (see docs/design.md).
  one_sided,    ///< The receiver copies straight from the sender's memory. Needs a shared address space.
  cooperative,  ///< Both copy, each a part. Needs a shared address space.
  shm,          ///< Piece by piece through a buffer that both share: two copies, made at the same time.
  cma,          ///< The kernel copies between the processes (process_vm_readv). The last that a job can ask for.
  // Those that only the receiver chooses, by where both sides lie:
  get,            ///< As a get of the transport's.
  device,         ///< A GPU's engines copy.
  device_pieces,  ///< Piece by piece, and each from host memory to a GPU.
};

/// What the launcher decides about a job's messages.
struct MessageOptions {
  static constexpr std::uint32_t kEagerBytesDefault = 8192;
  static constexpr std::uint64_t kUnexpectedBytesDefault = 64 << 20;

  RendezvousScheme scheme = RendezvousScheme::automatic;  ///< Where it can't be, the message goes as with `automatic`.
  std::uint32_t eager_bytes = kEagerBytesDefault;         ///< Longer messages wait at their sender.
  std::uint64_t unexpected_bytes = kUnexpectedBytesDefault;  ///< Room of all senders together at one receiver; no
                                                             ///< sender gets more than a 64th.
};

}  // namespace coracle::internals
