#include "storage/pages/guest_frames.hpp"

#include "runtime/rank/rank.hpp"

namespace coracle::internals::storage {

GuestFrames::GuestFrames(Rank& rank, std::uint32_t frames, std::uint32_t chances)
    : rank_(rank),
      chances_(chances),
      copies_(on() ? frames : 0),
      in_(copies_.size(), kNone),
      lists_(static_cast<std::uint32_t>(copies_.size()), 2) {}

std::uint64_t GuestFrames::now_ns() const noexcept {
  return rank_.loop().now_ns();
}

void GuestFrames::enlist(std::uint32_t frame, List list) noexcept {
  if (in_[frame] != kNone) lists_.unlink(frame);
  held_ -= in_[frame] == kHeld ? 1 : 0;
  held_ += list == kHeld ? 1 : 0;
  in_[frame] = list;
  if (list != kNone) lists_.push_front(list, frame);
}

void GuestFrames::placed(std::uint32_t frame) noexcept {
  if (!on()) return;
  copies_[frame].since_ns = now_ns();
  copies_[frame].chances = static_cast<std::uint8_t>(chances_);
}

void GuestFrames::gone(std::uint32_t frame) noexcept {
  if (!on()) return;
  enlist(frame, kNone);
  copies_[frame] = {};
}

void GuestFrames::used(std::uint32_t frame) noexcept {
  if (!on()) return;
  enlist(frame, kNone);
  copies_[frame].guest = false;
  placed(frame);
}

void GuestFrames::make_guest(std::uint32_t frame, std::uint8_t chances) noexcept {
  copies_[frame].guest = true;
  copies_[frame].chances = chances;
  enlist(frame, kGuests);
}

void GuestFrames::hold(std::uint32_t frame) noexcept {
  enlist(frame, kHeld);
  copies_[frame].since_ns = now_ns();
}

}  // namespace coracle::internals::storage
