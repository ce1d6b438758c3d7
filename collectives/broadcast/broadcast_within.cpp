// The leader's and the others' part.
#include "collectives/broadcast/broadcast_within.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "collectives/data/arguments.hpp"
#include "collectives/data/blocks.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals {
namespace {

/// Step of one who needs nothing more.
constexpr std::uint64_t kDone = (std::uint64_t{1} << NodeAreaPart::kStepBits) - 1;
/// Mark of a leader that exposes a window in its arena instead of its buffer. Above it stands the number of the first
/// part that lies elsewhere, once there is one: parked, or in the leader's buffer.
constexpr std::uint32_t kWindow = 1;
constexpr std::uint32_t kInBuffer = 2;
constexpr unsigned kElsewhereShift = 2;
constexpr std::uint32_t kElsewhereMax = 0x3fff;
/// Mark of a local member that exposes its buffer so that the leader may write into it.
constexpr std::uint32_t kShared = 2;

/// What leader and local member take by turns when both copy: the local member from the front, the leader from the end,
/// so that each finds what it had before in its own cache.
struct SharedParts {
  explicit SharedParts(std::size_t bytes) noexcept : count(static_cast<std::uint32_t>((bytes + kBytes - 1) / kBytes)) {}
  template <class Byte>
  std::span<Byte> of(std::span<Byte> whole, std::uint32_t number) const noexcept {
    const std::size_t begin = number * kBytes;
    return whole.subspan(begin, std::min(kBytes, whole.size() - begin));
  }
  static constexpr std::size_t kBytes = 32 * 1024;
  std::uint32_t count;
};
constexpr std::size_t kSharedBytesMin = 4 * SharedParts::kBytes;
/// By the kernel, in one call.
constexpr std::size_t kReadBytes = 64 * 1024;

}  // namespace

BroadcastWithin::Window::Window(std::span<const Piece> pieces, std::uint64_t room_bytes_max) {
  constexpr std::uint64_t kBytes = 512 * 1024;
  constexpr std::uint64_t kPartBytes = 64 * 1024;  // one is filled while others are read
  const std::uint64_t room = std::min(kBytes, room_bytes_max);
  const std::uint64_t part_bytes_max = std::min(kPartBytes, room / 2 / 64 * 64);
  for (std::uint32_t piece = 0; piece < pieces.size(); ++piece) {
    const auto [offset, bytes] = pieces[piece];
    for (std::uint64_t done = 0; done < bytes; done += part_bytes_max)
      parts_.push_back({{offset + done, std::min(part_bytes_max, bytes - done)}, piece});
    stride_ = std::max(stride_, (std::min(part_bytes_max, bytes) + 63) / 64 * 64);
  }
  slots_ = std::max<std::uint64_t>(std::min(room / stride_, parts_.size()), 1);
}

/// By two copies at once instead of the kernel's one, where each rank has a core: the leader goes on sooner, and nobody
/// reads what it writes next. Where local members copy from each other they share the work already.
bool BroadcastWithin::prefers_window() const noexcept {
  constexpr std::uint64_t kRoomBytesMin = 128 * 1024;          // parts of a smaller arena would be too short
  constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 30;  // so that all steps have numbers
  const NodeArea& node_area = round_.node_area();
  return !relays() && rank_.loop().spins() && node_area.room_bytes_max() >= kRoomBytesMin &&
         data_.size() <= kBytesMax && !node_area.reaches(data_.data(), data_.size());
}

Task<> BroadcastWithin::begin_leading() {
  NodeArea& node_area = round_.node_area();
  if (node_area.local_size() == 1) co_return;
  exposes_ = node_area.can_expose(data_.data(), data_.size()) && !prefers_window();
  if (exposes_) {
    round_.expose(data_.data(), data_.size(), 1);
  } else {
    window_ = Window(pieces_, node_area.room_bytes_max());
    room_ = co_await round_.allocate_when_free(window_.bytes());
    round_.expose(room_, data_.size(), 1, kWindow);
  }
}

Task<> BroadcastWithin::publish(std::uint32_t pieces) {
  if (round_.local_size() == 1) co_return;
  if (exposes_) {
    round_.publish(pieces + 1);
    co_return;
  }
  for (; published_ < window_.count() && window_.piece_of(published_) < pieces; ++published_) {
    if (published_ >= window_.slots() && !is_elsewhere()) co_await make_room();
    const Piece& part = window_.part(published_);
    const std::span<const std::byte> bytes = data_.subspan(part.offset, part.bytes);
    if (parked_ != nullptr)
      co_await round_.copy_own(bytes, parked_ + window_.offset_behind(published_, first_elsewhere_));
    else if (!is_elsewhere())
      co_await round_.copy_own(bytes, room_ + window_.local_index_of(published_));
    round_.publish(published_ + 2);
  }
}

/// All local members have taken the part whose slot is needed again. Where one is late, for whom neither the leader nor
/// the others had better wait, what is left is parked, or, where it is too much for the arena, stays in the leader's
/// buffer, from which each copies it.
Task<> BroadcastWithin::make_room() {
  const std::uint64_t step = published_ - window_.slots() + 2;
  const auto is_free = [&] {
    for (std::uint32_t other = 0; other < round_.local_size(); ++other)
      if (other != round_.local_index() && !round_.has_reached(other, step)) return false;
    return true;
  };
  EventLoop& loop = rank_.loop();
  if (loop.spins() && round_.copies_at_once() && published_ <= kElsewhereMax) {
    const std::uint64_t until_ns = loop.exact_now_ns() + patience_ns(window_.bytes());
    while (!is_free() && loop.exact_now_ns() < until_ns) co_await yield();
    if (is_free()) co_return;
    parked_ = round_.allocate(window_.offset_behind(window_.count(), published_));
    if (parked_ != nullptr || round_.node_area().can_expose(data_.data(), data_.size())) {
      first_elsewhere_ = published_;
      round_.expose_results(parked_ != nullptr ? parked_ : data_.data());
      const std::uint32_t where = parked_ != nullptr ? 0 : kInBuffer;
      co_return round_.mark_exposed(kWindow | where | first_elsewhere_ << kElsewhereShift);
    }
  }
  for (std::uint32_t other = 0; other < round_.local_size(); ++other)
    if (other != round_.local_index()) co_await round_.reached(other, step);
}

/// All local members have come, or even gone.
bool BroadcastWithin::all_here() noexcept {
  if (relays()) return round_.arrivals() == round_.local_size() - 1;
  for (std::uint32_t other = 0; other < round_.local_size(); ++other)
    if (other != round_.local_index() && !round_.has_reached(other, kDone)) return false;
  return true;
}

/// As long as late ones' copies of so much would take: then making one more costs at most twice the best.
std::uint64_t BroadcastWithin::patience_ns(std::uint64_t bytes) const noexcept {
  constexpr std::uint64_t kBytesPerNs = 5;
  const std::uint64_t copies = rank_.loop().spins() ? 2 : round_.local_size();
  return copies * bytes / kBytesPerNs;
}

Task<bool> BroadcastWithin::all_have_come() {
  if (all_here()) co_return true;
  EventLoop& loop = rank_.loop();
  const bool crowded = !loop.spins();  // they need this processor to come
  constexpr std::size_t kWorthYielding = 64 * 1024;
  if (crowded && (data_.size() < kWorthYielding || !round_.copies_at_once())) co_return false;
  const std::uint64_t until_ns = loop.exact_now_ns() + patience_ns(data_.size());
  const bool helps = shares();
  while (!all_here() && loop.exact_now_ns() < until_ns) {
    if (helps) help_others();
    if (crowded) ::sched_yield();
    co_await yield();
  }
  co_return all_here();
}

/// Both sides copy where each has a core, and the leader would only wait.
bool BroadcastWithin::shares() noexcept {
  return !relays() && data_.size() >= kSharedBytesMin && rank_.loop().spins() && round_.copies_at_once() &&
         round_.node_area().reaches(data_.data(), data_.size());
}

/// Writes to local members that have come what they have not copied yet, from the end on.
void BroadcastWithin::help_others() noexcept {
  const SharedParts parts(data_.size());
  for (std::uint32_t other = 0; other < round_.local_size(); ++other) {
    if (other == round_.local_index() || !round_.has_reached(other, 1) || round_.has_reached(other, kDone)) continue;
    if (!round_.is_exposed(other) || round_.exposed(other).mark != kShared) continue;
    const Round::Reading reading(round_, other);
    if (reading.address() == nullptr) continue;  // it has failed
    const std::span target(const_cast<std::byte*>(reading.address()), data_.size());
    for (std::uint32_t last = parts.count; round_.claim(other) < parts.count; round_.written(other)) {
      --last;
      copy_bytes(parts.of(data_, last), parts.of(target, last));
    }
  }
}

/// The other side: takes all parts that the leader, who has the whole message, does not take. False when that one
/// exposes its buffer no longer.
Task<bool> BroadcastWithin::copy_with(std::uint32_t leader) {
  const SharedParts parts(data_.size());
  std::uint32_t next = 0;
  {
    const Round::Reading reading(round_, leader);
    if (reading.address() == nullptr) co_return false;
    const std::span source(reading.address(), data_.size());
    round_.expose_for_writing(data_.data(), data_.size(), 1, kShared);
    for (; round_.claim(round_.local_index()) < parts.count; ++next)
      copy_bytes(parts.of(source, next), parts.of(data_, next));
  }
  co_await round_.written_by_others(parts.count - next);
  co_return true;
}

/// Where each has a core and both sides don't copy, the leader parks its data while others copy from where it lies: its
/// arena has no lines of theirs, and they go on there once it is done. Programs write what they broadcast, and so go on
/// sooner.
bool BroadcastWithin::leaves_at_once() const noexcept {
  if (!rank_.loop().spins() || !round_.copies_at_once()) return false;
  return data_.size() < kSharedBytesMin || !round_.node_area().reaches(data_.data(), data_.size());
}

Task<> BroadcastWithin::hand_over() {
  if (round_.local_size() == 1) co_return;
  // What lies in the arena stays there.
  if (!exposes_ && (parked_ != nullptr || !is_elsewhere())) co_return;
  const bool waits = exposes_ && !leaves_at_once();
  if (exposes_ && !(waits ? co_await all_have_come() : all_here())) {
    if (std::byte* parked = round_.allocate(data_.size())) {
      co_await round_.copy_own(data_, parked);
      round_.move_exposed(parked);
      co_await round_.nobody_reads();
      co_return;
    }
  }
  for (std::uint32_t other = 0; other < round_.local_size(); ++other)
    if (other != round_.local_index()) co_await round_.reached(other, kDone);
}

/// Once it has contributed. A leader that thinks the message short has not exposed it.
void BroadcastWithin::check_size(std::uint32_t leader) {
  round_.check(leader);
  const std::size_t there = round_.bytes_of(leader);
  if (there != data_.size()) throw_sizes_differ(data_.size(), there, round_.node_area().rank_at(leader));
}

Task<> BroadcastWithin::follow(std::uint32_t leader) {
  std::uint32_t position = 0;  // in the tree, whose top is the leader
  if (relays()) {
    round_.move_exposed(nullptr);  // of an earlier round
    position = round_.arrive() + 1;
  }
  co_await round_.reached(leader, 1);
  check_size(leader);
  const auto [there, bytes, mark] = round_.exposed(leader);
  const bool is_window = (mark & kWindow) != 0;
  if (is_window) window_ = Window(pieces_, round_.node_area().room_bytes_max());
  exposes_ = !is_window && relays() && round_.node_area().can_expose(data_.data(), data_.size());
  const bool whole_there = !is_window && round_.has_reached(leader, whole());
  if (whole_there && shares() && round_.node_area().reaches(there, bytes)) {
    const bool copied = co_await copy_with(leader);
    if (!copied) co_await round_.decided(kDone);  // as in copy_all()
    round_.publish(kDone);
    co_return;
  }
  std::uint32_t source = leader;
  if (exposes_) {
    round_.expose(data_.data(), data_.size(), 1);
    const std::uint32_t parent = (position - 1) / fan_out_;
    if (parent > 0) {
      if (!round_.has_arrived(parent - 1)) co_await round_.arrival(parent - 1);
      source = round_.arrived_as(parent - 1);
    }
    // A parent that can't expose has nothing for others.
    if (parent > 0 && !round_.has_reached(source, 1)) co_await round_.reached(source, 1);
  }
  co_await copy_all(leader, source);
  if (!exposes_) {
    round_.publish(kDone);
    co_return;
  }
  round_.publish(whole());
  co_await wait_for_children(position);
  round_.move_exposed(nullptr);
  co_await round_.nobody_reads();
  round_.publish(kDone);
}

Task<> BroadcastWithin::copy_all(std::uint32_t leader, std::uint32_t source) {
  const bool is_window = window_.count() > 0;
  const auto count = is_window ? window_.count() : static_cast<std::uint32_t>(pieces_.size());
  for (std::uint32_t from = 0; from < count;) {
    co_await round_.reached(source, from + 2);
    const auto there = static_cast<std::uint32_t>(std::min<std::uint64_t>(round_.step_of(source) - 1, count));
    const std::uint32_t copied = co_await copy_pieces(source, from, there);
    if (copied == from) {
      // It has gone, and left what it had with the leader, who waits for all or has it parked.
      if (source == leader) co_await round_.decided(kDone);  // it failed: news of the broken team are on their way
      source = leader;
      continue;
    }
    if (staged_ != nullptr) pieces_arrived(from, copied);
    from = copied;
    if ((exposes_ || is_window) && from < count) round_.publish(from + 1);
  }
}

void BroadcastWithin::pieces_arrived(std::uint32_t from, std::uint32_t to) {
  for (std::uint32_t number = from; number < to; ++number) {
    const Piece& part = window_.count() > 0 ? window_.part(number) : pieces_[number];
    staged_->arrived(part.offset, part.bytes);
  }
}

/// Pieces, or parts of a window, [from, to) that lie one after the other at once. Gives how far it came: `from` when
/// the source has gone.
/// By the kernel no more in one call than a leader that has parked its data had better wait for.
Task<std::uint32_t> BroadcastWithin::copy_pieces(std::uint32_t source, std::uint32_t from, std::uint32_t to) {
  constexpr std::size_t kRelayedBytes = 128 * 1024;  // then those who copy from here get to know
  if (window_.count() > 0) {
    const Piece& part = window_.part(from);
    const std::span<std::byte> target = data_.subspan(part.offset, part.bytes);
    const std::uint32_t mark = round_.exposed(source).mark;
    const std::uint32_t first = mark >> kElsewhereShift;
    bool copied = false;
    if (first == 0 || from < first)
      copied = co_await round_.copy(source, window_.local_index_of(from), target);
    else
      copied = co_await round_.copy_results(
          source, (mark & kInBuffer) != 0 ? part.offset : window_.offset_behind(from, first), target);
    co_return copied ? from + 1 : from;
  }
  const std::size_t offset = pieces_[from].offset;
  std::size_t bytes = pieces_[from].bytes;
  std::uint32_t next = from + 1;
  for (; next < to && pieces_[next].offset == offset + bytes; ++next) {
    if (exposes_ && bytes + pieces_[next].bytes > kRelayedBytes) break;
    bytes += pieces_[next].bytes;
  }
  const std::size_t at_once = round_.node_area().by_kernel() ? kReadBytes : bytes;
  for (std::size_t done = 0; done < bytes; done += at_once) {
    const std::span<std::byte> target = data_.subspan(offset + done, std::min(at_once, bytes - done));
    const bool copied = co_await round_.copy(source, offset + done, target);
    if (!copied) co_return from;
  }
  co_return next;
}

/// Those who have come and copy from here get all; later ones will go to the leader.
Task<> BroadcastWithin::wait_for_children(std::uint32_t position) {
  const std::uint32_t first = position * fan_out_ + 1;
  for (std::uint32_t child = first; child < first + fan_out_ && child - 1 < round_.arrivals(); ++child) {
    if (!round_.has_arrived(child - 1)) co_await round_.arrival(child - 1);
    const std::uint32_t local_index = round_.arrived_as(child - 1);
    co_await round_.reached(local_index, whole());
  }
}

}  // namespace coracle::internals
