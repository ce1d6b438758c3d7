// AskedPieces: memory of a rank on this node that this one does not reach, where the kernel does not copy between
// processes either: its owner sends it piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "runtime/rank/peer_event.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals {

class AskedPieces {
 public:
  explicit AskedPieces(Rank& rank) noexcept : rank_(rank) {}

  /// Whether a get does not bring what lies there.
  static bool is_needed(Rank& rank, const RemoteAddress& place, std::size_t bytes) noexcept;
  /// All of `target` from `address` in the peer's memory, which stays as it is until then. Throws Error (peer_lost).
  Task<> fetch(std::uint32_t peer, std::uint64_t address, std::span<std::byte> target);

 private:
  /// What is asked for, as long as somebody waits for it: of a peer that is lost pieces may still come.
  struct Arriving {
    Arriving(AskedPieces& asker, std::uint32_t from, std::span<std::byte> where)
        : peer(from),
          target(where),
          missing(where.size()),
          whole(asker.rank_.core(), "collective", from),
          all(asker.arriving_),
          number(++asker.last_number_) {
      all.emplace(number, this);
    }
    ~Arriving() { all.erase(number); }
    Arriving(const Arriving&) = delete;
    Arriving& operator=(const Arriving&) = delete;

    const std::uint32_t peer;
    std::span<std::byte> target;
    std::size_t missing;
    PeerEvent whole;
    std::map<std::uint64_t, Arriving*>& all;
    const std::uint64_t number;
  };

  static void on_asked(Rank& rank, const Message& message);
  static void on_piece(Rank& rank, const Message& message);
  static Task<> send(Rank& rank, std::uint32_t peer, std::span<const std::byte> data, std::uint64_t number);

  Rank& rank_;
  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, Arriving*> arriving_;  // by number
};

}  // namespace coracle::internals
