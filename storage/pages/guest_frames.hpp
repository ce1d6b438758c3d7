// GuestFrames: what is known of the pages in a cache's frames as copies: which were taken in for other caches, which
// are to be handed on, and which may be the last copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/eviction/eviction_lists.hpp"

namespace coracle::internals {
class Rank;
}

namespace coracle::internals::storage {

/// Pure bookkeeping over frames. A *guest* is a page that was taken in for others and has not been used here. A page is
/// *held* while its hint is on its way. Where `chances` is 0 there are neither, and nothing is noted.
class GuestFrames {
 public:
  struct Copy {
    std::uint64_t since_ns = 0;  ///< It came, or was seen to be used; held: its hint was sent.
    std::uint8_t chances = 0;    ///< How often it may still be handed on.
    bool guest = false;
    bool elsewhere = false;  ///< Another cache had it when it came, and has not said that it drops it.
  };
  enum List : std::uint32_t { kGuests, kHeld, kNone };

  GuestFrames(Rank& rank, std::uint32_t frames, std::uint32_t chances);

  bool on() const noexcept { return chances_ > 0; }
  const Copy& at(std::uint32_t frame) const noexcept { return copies_[frame]; }
  bool guest(std::uint32_t frame) const noexcept { return on() && copies_[frame].guest; }
  bool held(std::uint32_t frame) const noexcept { return on() && in_[frame] == kHeld; }
  std::size_t held_count() const noexcept { return held_; }
  /// The oldest of a list, and the next newer one; NumberLists::kEnd: none.
  std::uint32_t oldest(List list) const noexcept { return on() ? lists_.back(list) : NumberLists::kEnd; }
  std::uint32_t newer(std::uint32_t frame) const noexcept { return lists_.before(frame); }

  void placed(std::uint32_t frame) noexcept;
  void gone(std::uint32_t frame) noexcept;
  /// The page there was used here, or somebody here waits for it.
  void used(std::uint32_t frame) noexcept;
  /// It was taken in; `chances`: that are left to it.
  void make_guest(std::uint32_t frame, std::uint8_t chances) noexcept;
  /// A hint of it is sent now; or it is held no more.
  void hold(std::uint32_t frame) noexcept;
  void let_go(std::uint32_t frame) noexcept { enlist(frame, copies_[frame].guest ? kGuests : kNone); }
  void came_from_peer(std::uint32_t frame) noexcept { set_elsewhere(frame, !guest(frame)); }
  /// It has been of use: other guests go before it.
  void sent_to_peer(std::uint32_t frame) noexcept {
    if (on() && in_[frame] == kGuests) enlist(frame, kGuests);
  }
  void set_elsewhere(std::uint32_t frame, bool elsewhere) noexcept {
    if (on()) copies_[frame].elsewhere = elsewhere;
  }
  std::uint64_t now_ns() const noexcept;

 private:
  void enlist(std::uint32_t frame, List list) noexcept;

  Rank& rank_;
  std::uint32_t chances_;
  std::vector<Copy> copies_;  // by frame, as the next
  std::vector<List> in_;
  NumberLists lists_;  // the newest in front
  std::size_t held_ = 0;
};

}  // namespace coracle::internals::storage
