// Mailbox: messages between members of a team inside one collective, matched by (team, collective, step, sender). Small
// ones travel whole and wait at the receiver until they are asked for; of large ones only the place travels, and the
// receiver copies from the sender's buffer when it is ready to, or asks for pieces (AskedPieces).
//
// When a team breaks (see Team), receives end with its error, and offers that nobody will take any more are sent back,
// since their senders keep their buffers until then.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "runtime/rank/peer_event.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

class Mailbox final : private TeamObserver {
 public:
  /// Larger data stays with its sender until it is asked for: what comes early must not fill the receiver's memory.
  static constexpr std::size_t kWholeBytesMax = 8192;

  explicit Mailbox(Rank& rank) : rank_(rank) { rank.local<Teams>().observe(*this); }
  ~Mailbox() { CORACLE_ASSERT(posted_.empty(), "a rank ended while {} receives of collectives wait", posted_.size()); }

  /// Returns when `data` may be reused; throws Error (peer_lost) when the team is broken, as receive() does. `tag`: of
  /// the collective and its step, the same at the receiver.
  Task<> send(Team& team, std::uint32_t to, std::uint64_t tag, std::span<const std::byte> data);
  /// Fills `data`, which must be exactly as long as what was sent; throws Error (bad_input) otherwise.
  Task<> receive(Team& team, std::uint32_t from, std::uint64_t tag, std::span<std::byte> data);

 private:
  struct Key {
    std::uint32_t team;  // its identity
    std::uint32_t sender;
    std::uint64_t tag;
    auto operator<=>(const Key&) const = default;
  };
  /// A large message's place at its sender.
  struct LargeMessage {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t sender_event;
    std::uint32_t sender;
  };
  struct Arrival {
    std::vector<std::byte> data;
    LargeMessage large{};
    bool is_large = false;
    std::uint32_t signature = 0;  // of what its sender has called
    std::uint64_t number = 0;     // where a tool is told
  };
  struct Posted {
    Posted(Rank& rank, Team& team, std::uint32_t from)
        : arrived(rank.core(), "collective", team.member(from), team.core().observers()) {}
    PeerEvent arrived;
    Arrival arrival;
  };

  static void on_data(Rank& rank, const Message& message);
  static void on_offer(Rank& rank, const Message& message);
  static void on_taken(Rank& rank, const Message& message);
  void broken(TeamCore& team) override;
  static Task<> give_up(Team& team);
  static Task<> send_back(Rank& rank, std::uint32_t sender, std::uint64_t sender_event);
  static Key key_of(const Message& message) noexcept;
  /// Numbers it where a tool is told.
  static std::uint64_t tell_of_arrival(Rank& rank, const Message& message, std::uint64_t bytes);
  Task<> take_as_told(Team& team, const Key& key, const Arrival& arrival, std::span<std::byte> data);
  Task<> take_whole(Team& team, const Key& key, const Arrival& arrival, std::span<std::byte> data);
  void accept(const Key& key, Arrival arrival);
  Task<> take(Team& team, const Key& key, const Arrival& arrival, std::span<std::byte> data);
  void listen(const Key& key, const Arrival& arrival, std::uint32_t sender);

  Rank& rank_;
  std::map<Key, Posted*> posted_;
  std::map<Key, Arrival> arrived_;
};

/// The collective of a tag.
constexpr std::uint64_t sequence_of(std::uint64_t tag) noexcept {
  return tag >> 24;
}
/// Tag of a step of the collective with this number; a collective has at most 2^24 steps.
constexpr std::uint64_t tag_of(std::uint64_t sequence, std::uint64_t step) noexcept {
  return sequence << 24 | step;
}

}  // namespace coracle::internals
