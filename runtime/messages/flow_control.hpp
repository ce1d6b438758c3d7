// FlowControl: how much of what a rank has sent may lie unreceived at its peers, so that nobody's memory is filled by a
// sender that is ahead. A sender that has used up its room at a peer offers its messages instead: they stay with it,
// and it waits, until the peer receives them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace coracle::internals {

/// One rank's accounts with its peers; counts bytes that have travelled ahead of being asked for. Rank's thread only.
class FlowControl {
 public:
  /// Bytes that count for a message beside its own: what keeping it takes.
  static constexpr std::size_t kMessageBytes = 128;
  /// A receiver tells when it can give back this part of the room.
  static constexpr std::uint64_t kToldPart = 8;

  /// `window_bytes`: room of each sender at each receiver.
  explicit FlowControl(std::size_t window_bytes) noexcept : window_bytes_(window_bytes) {}

  std::size_t window_bytes() const noexcept { return window_bytes_; }

  /// Sender: whether there is room at `peer` for a message; and takes it, if so.
  bool has_room(std::uint32_t peer, std::size_t bytes) { return has_room(sent_to(peer), bytes); }
  bool take_room(std::uint32_t peer, std::size_t bytes) {
    if (!has_room(peer, bytes)) return false;
    take_known_room(peer, bytes);
    return true;
  }
  /// Of has_room().
  void take_known_room(std::uint32_t peer, std::size_t bytes) { sent_to(peer).bytes += bytes + kMessageBytes; }
  /// Sender: `peer` has received so many bytes of this rank by now.
  void received_by(std::uint32_t peer, std::uint64_t bytes) { sent_to(peer).received_bytes = bytes; }

  // Receiver. All are true when it is time to tell the peer of received_from(): when that gives back an eighth of the
  // room that what lies here unreceived leaves to it. So it can use up nearly all of its window, and seven eighths of
  // it if it sends them before it looks for what it is told.

  /// A message of `peer` has come.
  bool arrive(std::uint32_t peer, std::size_t bytes) {
    Taken& taken = taken_from(peer);
    taken.arrived_bytes += bytes + kMessageBytes;
    return must_tell(taken);
  }
  /// One that has come has been received.
  bool receive(std::uint32_t peer, std::size_t bytes) {
    Taken& taken = taken_from(peer);
    taken.received_bytes += bytes + kMessageBytes;
    return must_tell(taken);
  }
  /// One has come, and has been received at once.
  bool pass(std::uint32_t peer, std::size_t bytes) {
    Taken& taken = taken_from(peer);
    taken.arrived_bytes += bytes + kMessageBytes;
    taken.received_bytes += bytes + kMessageBytes;
    return must_tell(taken);
  }
  std::uint64_t received_from(std::uint32_t peer) { return taken_from(peer).received_bytes; }

 private:
  struct Sent {
    std::uint64_t bytes = 0;
    std::uint64_t received_bytes = 0;
  };
  struct Taken {
    std::uint64_t arrived_bytes = 0;
    std::uint64_t received_bytes = 0;
    std::uint64_t told_bytes = 0;
  };
  /// With the latest peer at hand. Only peers that there are messages of take memory: a simulated job has many.
  template <class Account>
  struct Accounts {
    Account& of(std::uint32_t peer) {
      if (latest == nullptr || latest_peer != peer) [[unlikely]] {
        latest = &by_peer[peer];  // stays where it is
        latest_peer = peer;
      }
      return *latest;
    }
    std::unordered_map<std::uint32_t, Account> by_peer;
    Account* latest = nullptr;
    std::uint32_t latest_peer = 0;
  };
  bool has_room(const Sent& sent, std::size_t bytes) const noexcept {
    return sent.bytes - sent.received_bytes + bytes + kMessageBytes <= window_bytes_;
  }
  bool must_tell(Taken& taken) const noexcept {
    const std::uint64_t untold = taken.received_bytes - taken.told_bytes;
    const std::uint64_t unreceived = std::min<std::uint64_t>(taken.arrived_bytes - taken.received_bytes, window_bytes_);
    if (untold == 0 || untold < (window_bytes_ - unreceived) / kToldPart) return false;
    taken.told_bytes = taken.received_bytes;
    return true;
  }
  Sent& sent_to(std::uint32_t peer) { return sent_.of(peer); }
  Taken& taken_from(std::uint32_t peer) { return taken_.of(peer); }

  std::size_t window_bytes_;
  Accounts<Sent> sent_;
  Accounts<Taken> taken_;
};

}  // namespace coracle::internals
