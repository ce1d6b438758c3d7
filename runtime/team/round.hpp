// Round: one collective of a member in the node area of its node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/core/assert.hpp"
#include "runtime/core/copy_short.hpp"
#include "runtime/core/cpu.hpp"
#include "runtime/core/task.hpp"
#include "runtime/rank/flag_wait.hpp"
#include "runtime/team/node_area.hpp"
#include "runtime/team/team_core.hpp"

namespace coracle::internals {

/// What the members of a node decide together in a round: who has come as which, who leads, and any number that is
/// told.
class RoundDecisions {
 public:
  NodeArea& node_area() const noexcept { return node_area_; }
  std::uint32_t local_size() const noexcept { return node_area_.local_size(); }
  std::uint32_t local_index() const noexcept { return node_area_.local_index(); }

  /// Order of arrival at this node: 0, 1, ... Once per member. The last one's number is local_size() - 1. Throws Error
  /// (bad_input) when this member has not called the same as the first who came.
  std::uint32_t arrive();
  /// Whether the one who has come as which has also said who he is.
  bool has_arrived(std::uint32_t order) noexcept;
  /// `if (!round.has_arrived(order)) co_await round.arrival(order);` waits for the moment between his coming and his
  /// saying so. Throws Error (peer_lost) when the team breaks: he may have died in between.
  Task<> arrival(std::uint32_t order);
  /// The local index of who has_arrived() as which.
  std::uint32_t arrived_as(std::uint32_t order) noexcept;
  std::uint32_t arrivals() noexcept;
  /// The local index of who leads here: the first who asks.
  std::uint32_t elect() noexcept;
  /// A flag that all share.
  void decide(std::uint64_t step) noexcept;
  FlagWait decided(std::uint64_t step) {
    if (!control_.decision.reached(value_of(step))) node_area_.check_whole();
    return wait_for(control_.decision, step, -1);
  }
  std::uint64_t decision() noexcept { return control_.decision.value.load(std::memory_order_seq_cst) - value_of(0); }
  bool has_decided(std::uint64_t step) noexcept { return control_.decision.reached(value_of(step)); }
  /// Looks whether all local members, of which some may not have come, have called the same as this member, up to here:
  /// for when something went wrong. Throws Error (bad_input).
  void check_all();

 protected:
  RoundDecisions(NodeArea& node_area, std::uint64_t number) noexcept
      : node_area_(node_area),
        number_(number),
        signature_(node_area.team_.log().signature() << Contribution::kSignatureShift),
        control_(node_area.part(0).controls[number % NodeAreaPart::kRounds]) {}
  ~RoundDecisions() = default;

  FlagWait wait_for(Flag& flag, std::uint64_t step, int peer) noexcept;
  std::uint64_t value_of(std::uint64_t step) const noexcept { return number_ << NodeAreaPart::kStepBits | step; }
  [[noreturn]] void throw_misfit(std::uint32_t local_index);

  NodeArea& node_area_;
  const std::uint64_t number_;
  const std::uint32_t signature_;  // as in a contribution's mark

 private:
  void compare_called(std::uint64_t there);
  std::atomic<std::uint64_t>& came(std::uint32_t order) noexcept {
    return node_area_.part(order).controls[number_ % NodeAreaPart::kRounds].came;
  }

  RoundControl& control_;
};

/// One collective of this member. It lives in the collective's frame and takes its number when it is made; its end
/// tells the local members that this member has done with everything of theirs.
///
/// Steps: a member's contribution of a round has a step, which only grows; what it means is the collective's affair.
class [[nodiscard]] Round : public RoundDecisions {
 public:
  explicit Round(NodeArea& node_area) noexcept : Round(node_area, node_area.take_number()) {}
  Round(NodeArea& node_area, std::uint64_t number) noexcept
      : RoundDecisions(node_area, number), own_contribution_(node_area.own().contributions.of(number)) {}
  ~Round() {
    if (read_room_ != nullptr) node_area_.rooms_.keep(read_room_);
    node_area_.retire(number_);
  }
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

  /// `if (!round.is_open()) co_await round.open();` first of all: waits until no local member is more than kRounds
  /// behind.
  bool is_open() noexcept { return is_known_open() || node_area_.floor(true) >= comfortable_floor(); }
  Task<> open();

  // --- this member's word ---
  /// Up to Contribution::kInlineBytesMax bytes, which the contribution carries itself, and its step.
  void contribute(std::span<const std::byte> data, std::uint64_t step) noexcept {
    contribute_made(data.size(), step, [&](std::byte* room) { copy_short(data, room); });
  }
  /// The same of `bytes` that `make(room)` writes there.
  template <class Make>
  void contribute_made(std::size_t bytes, std::uint64_t step, const Make& make) noexcept {
    CORACLE_ASSERT(bytes <= Contribution::kInlineBytesMax, "{} bytes inline", bytes);
    is_marked_ = true;
    own_contribution_.mark.store(signature_ | static_cast<std::uint32_t>(bytes),
                                 std::memory_order_relaxed);  // publish() orders it
    make(own_contribution_.inline_data(bytes));
    publish(step);
  }
  /// Local members may copy from there, as long as this member says nothing else; NodeArea::can_expose must hold.
  /// `mark`: for the local members, means what the collective wants.
  void expose(const void* address, std::size_t bytes, std::uint64_t step, std::uint32_t mark = 0) noexcept;
  /// Another mark for what is exposed, to be seen with the next step, or before.
  void mark_exposed(std::uint32_t mark) noexcept {
    own_contribution_.mark.store(Contribution::kExposed | signature_ | mark, std::memory_order_relaxed);
  }
  /// Beside what is exposed, a place in the arena, which local members read as long as the round lives. Before the step
  /// that tells of it.
  void expose_results(const std::byte* room) noexcept { own_contribution_.results = room; }
  /// Exposes memory for local members to write into, part by part; how it is cut, all must know. See claim().
  void expose_for_writing(void* address, std::size_t bytes, std::uint64_t step, std::uint32_t mark = 0) noexcept;
  void publish(std::uint64_t step) noexcept {
    if (!is_marked_) {  // a contribution of nothing but its step
      is_marked_ = true;
      own_contribution_.mark.store(signature_, std::memory_order_relaxed);  // the flag orders it
    }
    node_area_.raise(own_contribution_.flag, value_of(step));
  }
  /// What is exposed has another address from now on. Then nobody_reads() tells when the old one is free.
  void move_exposed(const void* address) noexcept;
  /// Room in the arena, which lives until every local member is through with this round; null when there is none.
  std::byte* allocate(std::size_t bytes) { return node_area_.allocate(number_, bytes); }
  /// Of two members: a room of HandedRooms, for what is exposed there at once, to the end of the round, and read by the
  /// other one. Null when there is none just now, or never for so much.
  std::byte* hand(std::size_t bytes) noexcept { return node_area_.rooms_.take(bytes); }
  /// Gives back what hand() has given: the other one has not been told of it, or has written there since, and this
  /// member has read that. Only a room of that kind is kept.
  void keep_room(std::byte* room) noexcept {
    if (node_area_.rooms_.has(room)) node_area_.rooms_.keep(room);
  }
  /// As allocate(); waits until there is room. `bytes` is at most NodeArea::room_bytes_max().
  Task<std::byte*> allocate_when_free(std::size_t bytes);

  // --- the local members' words ---
  bool has_reached(std::uint32_t local_index, std::uint64_t step) noexcept {
    return contribution_of(local_index).flag.reached(value_of(step));
  }
  /// The same of step 1, for functions, which can't wait: where each rank has a core it looks on for about as long as
  /// FlagWait does before a coroutine is suspended.
  bool has_come(std::uint32_t local_index) noexcept {
    const Flag& flag = contribution_of(local_index).flag;
    return flag.reached(value_of(1)) || (node_area_.spins_ && look_for(flag, value_of(1)));
  }
  /// `co_await round.reached(local_index, step);` throws Error (peer_lost) when the team breaks before.
  FlagWait reached(std::uint32_t local_index, std::uint64_t step) {
    Flag& flag = contribution_of(local_index).flag;
    if (!flag.reached(value_of(step))) node_area_.check_whole();
    return wait_for(flag, step, static_cast<int>(node_area_.rank_at(local_index)));
  }
  /// Once has_reached(local_index, 0): how far it has come.
  std::uint64_t step_of(std::uint32_t local_index) noexcept {
    return contribution_of(local_index).flag.value.load(std::memory_order_seq_cst) -
           value_of(0);  // as in Flag::reached
  }
  // Of those who have contributed:
  bool is_exposed(std::uint32_t local_index) noexcept {
    return (contribution_of(local_index).mark.load(std::memory_order_relaxed) & Contribution::kExposed) !=
           0;  // reached() has ordered it
  }
  /// Throws Error (bad_input) when it has not called the same as this member, up to here. Whoever makes use of a local
  /// member's contribution looks first.
  void check(std::uint32_t local_index) {
    const std::uint32_t mark = contribution_of(local_index).mark.load(std::memory_order_relaxed);  // as above
    if (((mark ^ signature_) & Contribution::kSignatureMask) != 0) [[unlikely]]
      throw_misfit(local_index);
  }
  /// How much a local member has contributed inline, or exposes.
  std::size_t bytes_of(std::uint32_t local_index) noexcept {
    Contribution& contribution = contribution_of(local_index);
    const std::uint32_t mark = contribution.mark.load(std::memory_order_relaxed);  // reached() has ordered both
    return (mark & Contribution::kExposed) == 0 ? mark & Contribution::kMarkMask
                                                : contribution.bytes.load(std::memory_order_relaxed);
  }
  /// What a local member has contributed inline (not is_exposed()).
  std::span<const std::byte> inline_data(std::uint32_t local_index) noexcept {
    const std::size_t bytes = bytes_of(local_index);
    return {contribution_of(local_index).inline_data(bytes), bytes};
  }
  struct ExposedBuffer {
    const std::byte* address;  ///< Null: no longer exposed.
    std::uint64_t bytes;
    std::uint32_t mark;
  };
  /// Of one who is_exposed(): whether it gives by hand().
  bool is_handed(std::uint32_t local_index) noexcept { return node_area_.rooms_.has(exposed(local_index).address); }
  /// Of one who is_exposed().
  ExposedBuffer exposed(std::uint32_t local_index) noexcept;
  /// What it has said by expose_results(), once it has exposed something.
  const std::byte* exposed_results(std::uint32_t local_index) noexcept { return contribution_of(local_index).results; }
  /// What a local member has contributed inline, or exposed out of its arena: both stay to the end of this round. After
  /// check().
  std::span<const std::byte> contributed(std::uint32_t local_index) noexcept {
    Contribution& contribution = contribution_of(local_index);
    const std::uint32_t mark = contribution.mark.load(std::memory_order_relaxed);  // reached() has ordered all
    if ((mark & Contribution::kExposed) == 0) {
      const std::size_t bytes = mark & Contribution::kMarkMask;
      return {contribution.inline_data(bytes), bytes};
    }
    // acquire: as in exposed().
    const auto* address = reinterpret_cast<const std::byte*>(contribution.address.load(std::memory_order_acquire));
    note_read(local_index, address);
    return {address, contribution.bytes.load(std::memory_order_relaxed)};
  }
  /// Whether a memcpy does what copy_own() does, or copy() from what is contributed: not in `sim`.
  bool copies_at_once() const noexcept { return !node_area_.in_time_; }
  /// Copies out of what a local member exposes, which it has contributed. False when it exposes no longer. In `sim` it
  /// takes time.
  Task<bool> copy(std::uint32_t local_index, std::size_t offset, std::span<std::byte> target,
                  Copying how = Copying::by_caches);
  /// The same out of what it has said by expose_results(), beside what it exposes.
  Task<bool> copy_results(std::uint32_t local_index, std::size_t offset, std::span<std::byte> target);
  /// The same from an address of a local member that exposes something, by the kernel (NodeArea::by_kernel).
  bool copy_from_place(std::uint32_t local_index, const std::byte* source, std::span<std::byte> target);
  /// Copies within this member's memory, as a memcpy would; in `sim` that takes time, too.
  Task<> copy_own(std::span<const std::byte> source, std::byte* target);
  /// For who reads exposed memory in place, which it reaches, and which stays there as long as this lives: one at a
  /// time.
  class Reading {
   public:
    Reading(Round& round, std::uint32_t local_index) noexcept;
    ~Reading() { own_contribution_.reading.store(0, std::memory_order_release); }  // pairs with nobody_reads()
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    /// Null: it is exposed no longer.
    const std::byte* address() const noexcept { return address_; }

   private:
    Contribution& own_contribution_;
    const std::byte* address_;
  };

  // --- copied by both sides ---
  /// Takes one more part of what a local member, or this member, has exposed for writing: its number, beyond the last
  /// one when none is left. During a Reading, so that a local member that fails can tell when nobody writes any more.
  std::uint32_t claim(std::uint32_t local_index) noexcept {
    return contribution_of(local_index)
        .claimed.fetch_add(1, std::memory_order_relaxed);  // what is copied, flags have ordered
  }
  /// This member has written a part that it has claimed of a local member.
  void written(std::uint32_t local_index) noexcept {
    contribution_of(local_index).written.fetch_add(1, std::memory_order_release);  // pairs with written_by_others()
  }
  /// Until local members have written so many parts of what this member has exposed. Throws Error (peer_lost) when the
  /// team breaks.
  Task<> written_by_others(std::uint32_t parts);

  /// Whether ranks share cores, so that spin_for_last() may do something.
  bool is_crowded() const noexcept { return node_area_.is_crowded(); }
  /// For who finds that one local member alone is missing; see SpinForLast.
  template <class Come>
  void spin_for_last(const Come& come) noexcept {
    node_area_.spin_for_last_(come);
  }

  // --- its end ---
  /// Returns when no living local member copies from what this member has exposed, which must no longer be exposed
  /// there.
  Task<> nobody_reads();
  /// For when a collective fails: nothing is exposed any more, and nobody reads. Never throws.
  Task<> withdraw();

 private:
  bool is_known_open() noexcept { return number_ <= node_area_.floor(false) + NodeAreaPart::kRounds; }
  /// Higher than this round needs, so that a member that is always ahead, such as the root of broadcasts, seldom waits.
  std::uint64_t comfortable_floor() const noexcept { return number_ - NodeAreaPart::kRounds / 2; }
  Contribution& contribution_of(std::uint32_t local_index) noexcept {
    return node_area_.part(local_index).contributions.of(number_);
  }
  /// A room that is read in this round is this member's when the round ends.
  void note_read(std::uint32_t local_index, const std::byte* address) noexcept {
    if (local_index != this->local_index() && node_area_.rooms_.has(address))
      read_room_ = const_cast<std::byte*>(address);
  }
  bool anybody_reads() noexcept;
  enum class Source { exposed, results };
  Task<bool> copy_from(std::uint32_t local_index, Source which, std::size_t offset, std::span<std::byte> target,
                       Copying how);
  bool copy_by_kernel(std::uint32_t rank, const std::byte* source, std::span<std::byte> target);
  Task<> copy_in_time(std::uint32_t rank, const std::byte* source, std::span<std::byte> target);

  std::byte* read_room_ = nullptr;  // of HandedRooms
  bool is_marked_ = false;          // the own contribution's mark is of this round
  Contribution& own_contribution_;
};

}  // namespace coracle::internals
