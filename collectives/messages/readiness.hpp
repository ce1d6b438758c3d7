// Readiness: who leads a node in a broadcast, and where it receives, told to those who send to it. A leader tells all
// ranks of a sending node that may lead there; whoever does has it then.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "runtime/rank/peer_event.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// A leader's part in a broadcast, for who sends to it.
struct Receiving {
  std::span<Signal> arrived;
  /// Set when a sender has another idea of the message's size: then nothing more comes.
  std::optional<std::uint64_t> other_bytes;
  std::uint32_t other_rank = 0;
};

/// What a leader tells its senders.
struct Ready {
  std::uint64_t sequence;  ///< Of the collective on its team.
  std::uint32_t team;      ///< Its identity.
  std::uint32_t node;      ///< Of the team; the receiver's.
  std::uint64_t bytes;     ///< Of the message, in the receiver's view.
  RemoteAddress buffer;
  RemoteAddress arrived;  ///< Signals: a bit for each piece.
};

/// Of one rank; its thread only.
class Readiness final : private TeamObserver {
 public:
  explicit Readiness(Rank& rank) { rank.local<Teams>().observe(*this); }

  /// A leader's part, from before it tells until all has come or was taken back.
  void begin_receiving(const Team& team, std::uint64_t sequence, Receiving& receiving) {
    receiving_.emplace(std::pair{team.core().identity(), sequence}, &receiving);
  }
  void end_receiving(const Team& team, std::uint64_t sequence) noexcept {
    receiving_.erase({team.core().identity(), sequence});
  }
  /// Tells a leader that the sizes differ, instead of sending to it: ends its receiving.
  static Task<> refuse(Rank& rank, const Ready& ready, std::uint64_t bytes, std::uint32_t of_rank);

  /// From begin() to end() this rank takes part in a broadcast; what is told before is kept, afterwards dropped.
  void begin(const Team& team, std::uint64_t sequence);
  void end(const Team& team, std::uint64_t sequence) noexcept;

  /// Tells the members of a node, or (`only` given) that one of the team.
  static Task<> tell(Team& team, Ready ready, std::vector<std::uint32_t> members);
  /// Waits until the leader of `node` has told. Between ask() and done() this rank may be sending to it.
  Task<Ready> ask(Team& team, std::uint64_t sequence, std::uint32_t node);
  void done(Team& team, std::uint64_t sequence, std::uint32_t node);
  /// After a failure: returns when none of these members, the lost ones apart, sends to this node any more.
  static Task<> take_back(Team& team, std::uint64_t sequence, std::vector<std::uint32_t> members);

 private:
  struct Key {
    std::uint32_t team;
    std::uint64_t sequence;
    std::uint32_t node;
    auto operator<=>(const Key&) const = default;
  };
  struct Asker {
    Asker(Rank& rank, Team& team, std::uint32_t peer)
        : told(rank.core(), "leader of a node", peer, team.core().observers()) {}
    PeerEvent told;
    Ready ready{};
  };
  /// Who waits for the end of a sending.
  struct Leaver {
    std::uint32_t rank;
    std::uint64_t event;
  };

  static void on_ready(Rank& rank, const Message& message);
  static void on_take_back(Rank& rank, const Message& message);
  static void on_taken_back(Rank& rank, const Message& message);
  static void on_refused(Rank& rank, const Message& message);
  static Task<> answer(Rank& rank, Leaver leaver);
  void broken(TeamCore&) override {}  // the askers' events end by themselves

  std::vector<std::pair<std::uint32_t, std::uint64_t>> active_;  // team, sequence
  std::map<std::pair<std::uint32_t, std::uint64_t>, Receiving*> receiving_;
  std::map<Key, Ready> told_;
  std::map<Key, Asker*> askers_;
  std::map<Key, std::vector<Leaver>> sending_;
};

}  // namespace coracle::internals
