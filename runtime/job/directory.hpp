// Directory: where the nodes and ranks of a job can be reached, and how its network is to behave. Plain data that every
// launcher writes into its node's region before ranks start, so that ranks need no wire-up of their own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace coracle::internals {

/// Known to the job's own processes only: whoever connects without it is a stranger. Compared by same_key and
/// by nothing else.
struct JobKey {
  std::array<std::uint8_t, 16> bytes{};
  bool operator==(const JobKey&) const = delete;
};

/// An address of a node, without port.
struct NodeAddress {
  enum class Family : std::uint8_t { none, ipv4, ipv6 };
  Family family = Family::none;
  std::array<std::uint8_t, 16> bytes{};  ///< Network order; the first 4 for ipv4.
  std::uint32_t scope = 0;               ///< ipv6: the interface of a link-local address.
};

struct NodeRecord {
  static constexpr std::size_t kAddressesMax = 4;
  std::array<NodeAddress, kAddressesMax> addresses;  ///< Best first; those of family `none` are not there.
  std::uint16_t health_port = 0;                     ///< UDP; answers what state a rank is in. 0: nobody answers.
  std::array<char, 64> host{};                       ///< For messages; ends with 0.
};

/// Which way to other nodes. `automatic`: the best that both nodes have.
enum class RemoteTransport : std::uint32_t {
  automatic,
  tcp,
  verbs,
  /// Not between nodes, but between all ranks of one, each with a (software) PEACH2 board of its own.
  tca,
};

/// Options of the job that concern its network.
struct NetworkOptions {
  /// A peer from whom nothing comes for so long, while something is expected from it, is lost.
  std::uint64_t silence_limit_ns = 10'000'000'000;
  /// Connections that a rank keeps open; beyond it the least recently used idle ones are closed.
  std::uint32_t connections_max = 256;
  RemoteTransport transport = RemoteTransport::automatic;
  /// The job goes on when a rank is lost: its peers are told, and those that can do without it may.
  bool survive = false;
};

// Tags that prove knowledge of the job's key without showing it: SipHash-2-4 (Aumasson and Bernstein, INDOCRYPT 2012),
// a keyed hash made for short messages.

/// The tag of `message` under `key`. Who does not know the key can neither make nor change a tagged message.
std::uint64_t key_tag(std::span<const std::byte> message, const JobKey& key) noexcept;

/// Whether both are the same, in a time that does not tell where they differ: who guesses must not learn how much of
/// the guess was right.
bool same_key(const JobKey& one, const JobKey& other) noexcept;
bool same_tag(std::uint64_t one, std::uint64_t other) noexcept;

}  // namespace coracle::internals
