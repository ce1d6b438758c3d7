// Round: one collective of a member on the board of its node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/core/streaming_copy.hpp"
#include "runtime/core/task.hpp"
#include "runtime/rank/flag_wait.hpp"
#include "runtime/team/board.hpp"

namespace coracle::internals {

/// What the members of a node decide together in a round: who has come as which, who leads, and any number that is
/// told.
class RoundDecisions {
 public:
  Board& board() noexcept { return board_; }
  std::uint32_t mates() const noexcept { return board_.mates(); }
  std::uint32_t place() const noexcept { return board_.place(); }

  /// Order of arrival at this node: 0, 1, ... Once per member. The last one's number is mates() - 1. Throws Error
  /// (bad_input) when this member has not called the same as the first who came.
  std::uint32_t arrive();
  /// Whether the one who has come as which has also said who he is.
  bool has_arrived(std::uint32_t order) noexcept;
  /// `if (!round.has_arrived(order)) co_await round.arrival(order);` waits for the moment between his coming and his
  /// saying so. Throws Error (peer_lost) when the team breaks: he may have died in between.
  Task<> arrival(std::uint32_t order);
  /// The place of who has_arrived() as which.
  std::uint32_t arrived_as(std::uint32_t order) noexcept;
  std::uint32_t arrivals() noexcept;
  /// The place of who leads here: the first who asks.
  std::uint32_t elect() noexcept;
  /// A flag that all share.
  void decide(std::uint64_t stage) noexcept;
  FlagWait decided(std::uint64_t stage) {
    if (!ballot_.verdict.reached(value_of(stage))) board_.check_whole();
    return wait_for(ballot_.verdict, stage, -1);
  }
  std::uint64_t verdict() noexcept { return ballot_.verdict.value.load(std::memory_order_seq_cst) - value_of(0); }
  bool has_decided(std::uint64_t stage) noexcept { return ballot_.verdict.reached(value_of(stage)); }
  /// Looks whether all mates, of which some may not have come, have called the same as this member, up to here: for
  /// when something went wrong. Throws Error (bad_input).
  void check_all();

 protected:
  RoundDecisions(Board& board, std::uint64_t number) noexcept;
  ~RoundDecisions() = default;

  FlagWait wait_for(Flag& flag, std::uint64_t stage, int peer) noexcept;
  std::uint64_t value_of(std::uint64_t stage) const noexcept { return number_ << BoardPart::kStageBits | stage; }
  [[noreturn]] void throw_misfit(std::uint32_t place);

  Board& board_;
  const std::uint64_t number_;
  const std::uint32_t signature_;  // as in a post's mark

 private:
  void compare_called(std::uint64_t there);

  Ballot& ballot_;
};

/// One collective of this member. It lives in the collective's frame and takes its number when it is made; its end
/// tells the mates that this member has done with everything of theirs.
///
/// Stages: a member's post of a round has a stage, which only grows; what it means is the collective's affair.
class [[nodiscard]] Round : public RoundDecisions {
 public:
  explicit Round(Board& board) noexcept : Round(board, board.take_number()) {}
  Round(Board& board, std::uint64_t number) noexcept;
  ~Round();
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

  /// `if (!round.is_open()) co_await round.open();` first of all: waits until no mate is more than kRounds behind.
  bool is_open() noexcept { return number_ <= board_.floor(false) + BoardPart::kRounds; }
  Task<> open();

  // --- this member's word ---
  /// Up to Post::kInlineBytesMax bytes, which the post carries itself, and its stage.
  void post(std::span<const std::byte> data, std::uint64_t stage) noexcept;
  /// Mates may copy from there, as long as this member says nothing else; Board::can_lend must hold.
  /// `mark`: for the mates, means what the collective wants.
  void lend(const void* address, std::size_t bytes, std::uint64_t stage, std::uint32_t mark = 0) noexcept;
  /// Beside what is lent, a place in the arena, which mates read as long as the round lives. Before the stage that
  /// tells of it.
  void lend_results(const std::byte* room) noexcept { own_post_.results = room; }
  /// Lends memory for mates to write into, part by part; how it is cut, all must know. See claim().
  void lend_for_writing(void* address, std::size_t bytes, std::uint64_t stage, std::uint32_t mark = 0) noexcept;
  void publish(std::uint64_t stage) noexcept;
  /// What is lent has another address from now on. Then nobody_reads() tells when the old one is free.
  void move_lent(const void* address) noexcept;
  /// Room in the arena, which lives until every mate is through with this round; null when there is none.
  std::byte* stage(std::size_t bytes) { return board_.stage(number_, bytes); }
  /// The same; waits until there is room. `bytes` is at most Board::room_bytes_max().
  Task<std::byte*> stage_when_free(std::size_t bytes);

  // --- the mates' words ---
  bool has_posted(std::uint32_t place, std::uint64_t stage) noexcept {
    return post_of(place).flag.reached(value_of(stage));
  }
  /// `co_await round.posted(place, stage);` throws Error (peer_lost) when the team breaks before.
  FlagWait posted(std::uint32_t place, std::uint64_t stage) {
    Flag& flag = post_of(place).flag;
    if (!flag.reached(value_of(stage))) board_.check_whole();
    return wait_for(flag, stage, static_cast<int>(board_.rank_at(place)));
  }
  /// Once has_posted(place, 0): how far it has come.
  std::uint64_t stage_of(std::uint32_t place) noexcept {
    return post_of(place).flag.value.load(std::memory_order_seq_cst) - value_of(0);  // as in Flag::reached
  }
  // Of those who have posted:
  bool is_lent(std::uint32_t place) noexcept {
    return (post_of(place).mark.load(std::memory_order_relaxed) & Post::kLent) != 0;  // posted() has ordered it
  }
  /// Throws Error (bad_input) when it has not called the same as this member, up to here. Whoever makes use of a mate's
  /// post looks first.
  void check(std::uint32_t place) {
    const std::uint32_t mark = post_of(place).mark.load(std::memory_order_relaxed);  // as above
    if (((mark ^ signature_) & Post::kSignatureMask) != 0) [[unlikely]]
      throw_misfit(place);
  }
  /// How much a mate has posted inline, or lends.
  std::size_t bytes_of(std::uint32_t place) noexcept {
    Post& post = post_of(place);
    const std::uint32_t mark = post.mark.load(std::memory_order_relaxed);  // posted() has ordered both
    return (mark & Post::kLent) == 0 ? mark & Post::kMarkMask : post.bytes.load(std::memory_order_relaxed);
  }
  /// What a mate has posted inline (not is_lent()).
  std::span<const std::byte> inline_data(std::uint32_t place) noexcept {
    return {post_of(place).inline_data(), bytes_of(place)};
  }
  struct Lent {
    const std::byte* address;  ///< Null: no longer lent.
    std::uint64_t bytes;
    std::uint32_t mark;
  };
  /// Of one who is_lent().
  Lent lent(std::uint32_t place) noexcept;
  /// What a mate has posted inline, or lent out of its arena: both stay to the end of this round.
  std::span<const std::byte> staged(std::uint32_t place) noexcept;
  /// Whether a memcpy does what copy_own() does, or copy() from what is staged: not in `sim`.
  bool copies_at_once() const noexcept { return !board_.in_time_; }
  /// Copies out of what a mate lends, which it has posted. False when it lends no longer. In `sim` it takes time.
  Task<bool> copy(std::uint32_t place, std::size_t offset, std::span<std::byte> target,
                  Copying how = Copying::by_caches);
  /// The same out of what it has said by lend_results(), beside what it lends.
  Task<bool> copy_results(std::uint32_t place, std::size_t offset, std::span<std::byte> target);
  /// Copies within this member's memory, as a memcpy would; in `sim` that takes time, too.
  Task<> copy_own(std::span<const std::byte> source, std::byte* target);
  /// For who reads lent memory in place, which stays there as long as this lives: one at a time.
  class Reading {
   public:
    Reading(Round& round, std::uint32_t place) noexcept;
    ~Reading() { own_post_.reading.store(0, std::memory_order_release); }  // pairs with nobody_reads()
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    /// Null: it is lent no longer.
    const std::byte* address() const noexcept { return address_; }

   private:
    Post& own_post_;
    const std::byte* address_;
  };

  // --- copied by both sides ---
  /// Takes one more part of what a mate, or this member, has lent for writing: its number, beyond the last one when
  /// none is left. During a Reading, so that a mate that fails can tell when nobody writes any more.
  std::uint32_t claim(std::uint32_t place) noexcept {
    return post_of(place).claimed.fetch_add(1, std::memory_order_relaxed);  // what is copied, flags have ordered
  }
  /// This member has written a part that it has claimed of a mate.
  void written(std::uint32_t place) noexcept {
    post_of(place).written.fetch_add(1, std::memory_order_release);  // pairs with written_by_mates()
  }
  /// Until mates have written so many parts of what this member has lent. Throws Error (peer_lost) when the team
  /// breaks.
  Task<> written_by_mates(std::uint32_t parts);

  // --- its end ---
  /// Returns when no living mate copies from what this member has lent, which must no longer be lent there.
  Task<> nobody_reads();
  /// For when a collective fails: nothing is lent any more, and nobody reads. Never throws.
  Task<> withdraw();

 private:
  Post& post_of(std::uint32_t place) noexcept { return board_.part(place).posts[number_ % BoardPart::kRounds]; }
  bool anybody_reads() noexcept;
  enum class Source { lent, results };
  Task<bool> copy_from(std::uint32_t place, Source which, std::size_t offset, std::span<std::byte> target, Copying how);
  Task<> copy_in_time(std::uint32_t rank, const std::byte* source, std::span<std::byte> target);

  bool is_marked_ = false;  // the own post's mark is of this round
  Post& own_post_;
};

}  // namespace coracle::internals
