// Board: what the members of a team on one node share, and through which they act together without messages: each has a
// part that the others read. A collective of a member is a Round on it.
//
// This is the lock-free form of the collective request queue of MPIActor (NUDT): since every member calls the same
// collectives in the same order, the number of a round is its place in the queue, and nothing has to be searched for.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/core/streaming_copy.hpp"
#include "runtime/core/task.hpp"
#include "runtime/job/board_part.hpp"
#include "runtime/job/segment.hpp"
#include "runtime/job/slab.hpp"
#include "runtime/job/staging_arena.hpp"
#include "runtime/rank/flag_wait.hpp"

namespace coracle::internals {

class Rank;
class TeamCore;

/// Of one member; its rank's thread only.
class Board {
 public:
  /// Of the world: its memory is part of the job's region. Otherwise takes memory from the rank's segment, and says
  /// where it lies by raising `part` in the team's area.
  Board(Rank& rank, TeamCore& team, bool of_world);
  /// The mates may still read this member's part: Teams keeps the memory until all have departed.
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  /// Members on this node.
  std::uint32_t mates() const noexcept { return mates_; }
  /// This one's place among them.
  std::uint32_t place() const noexcept { return place_; }
  /// The rank at a place.
  std::uint32_t rank_at(std::uint32_t place) const noexcept { return of_world_ ? first_rank_ + place : ranks_[place]; }
  /// Number of the next round; a collective takes all it needs when it starts, the same at every mate.
  std::uint64_t take_number() noexcept { return ++last_number_; }
  /// Whether mates reach the `bytes` at `address` (in `process` placement only the job's region).
  bool can_lend(const void* address, std::size_t bytes) const noexcept;
  /// The most that Round::stage_when_free() gives.
  std::uint64_t room_bytes_max() const noexcept { return arena_.room_bytes_max(); }
  /// Finds the mates' parts: once, while all of them have one.
  void meet() noexcept;

 private:
  friend class Round;
  friend class Teams;

  BoardPart& part(std::uint32_t place) noexcept {
    return of_world_ ? *reinterpret_cast<BoardPart*>(world_parts_ + place * world_part_bytes_) : *parts_[place];
  }
  BoardPart& own() noexcept { return part(place_); }
  /// Rounds up to this one are over for every mate, as far as is known.
  std::uint64_t floor(bool look) noexcept;
  void check_whole() const;
  void retire(std::uint64_t number) noexcept;
  void wake(std::uint64_t sleepers) noexcept;
  void raise(Flag& flag, std::uint64_t to) noexcept { wake(light_ ? flag.raise_lightly(to) : flag.raise(to)); }
  std::byte* stage(std::uint64_t number, std::size_t bytes);
  /// See Round::look_out: whether it is worth while, and whether it was.
  bool may_look() noexcept { return crowded_ && (looks_skipped_ == 0 || --looks_skipped_ == 0); }
  void looked(bool seen) noexcept {
    constexpr std::uint32_t kVainMax = 8;
    constexpr std::uint32_t kSkipped = 64;
    vain_looks_ = seen ? 0 : vain_looks_ + 1;
    if (vain_looks_ < kVainMax) return;
    vain_looks_ = 0;
    looks_skipped_ = kSkipped;
  }
  std::uint64_t own_bit() const noexcept { return std::uint64_t{1} << place_ % 64; }

  Rank& rank_;
  TeamCore& team_;
  const std::uint32_t mates_;
  const std::uint32_t place_;
  const bool of_world_;
  const bool light_;                 // raises, see Flag
  const bool crowded_;               // ranks outnumber cores
  std::uint32_t vain_looks_ = 0;     // since the last that was not
  std::uint32_t looks_skipped_ = 0;  // so many still
  // Of the world, whose parts lie in a row: no lists, which with thousands of ranks in one process (`sim`) would be
  // most of its memory, and all alike.
  const std::uint32_t first_rank_;
  std::byte* const world_parts_;
  const std::uint64_t world_part_bytes_;
  // Of other teams:
  std::vector<std::uint32_t> ranks_;  // by place
  std::vector<BoardPart*> parts_;     // by place
  Slab<std::byte> memory_;            // of the own part
  std::uint64_t last_number_ = 0;
  std::uint64_t floor_ = 0;
  std::uint64_t retired_ = 0;                                  // up to here without a gap
  std::uint64_t retired_after_[BoardPart::kRounds / 64] = {};  // a bit for each that is over behind the gap
  Event retired_more_;
  StagingArena arena_;
};

/// One collective of this member. It lives in the collective's frame and takes its number when it is made; its end
/// tells the mates that this member has done with everything of theirs.
///
/// Stages: a member's post of a round has a stage, which only grows; what it means is the collective's affair.
class [[nodiscard]] Round {
 public:
  explicit Round(Board& board) noexcept : Round(board, board.take_number()) {}
  Round(Board& board, std::uint64_t number) noexcept;
  ~Round();
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

  Board& board() noexcept { return board_; }
  std::uint32_t mates() const noexcept { return board_.mates(); }
  std::uint32_t place() const noexcept { return board_.place(); }

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
  /// The same of all mates, of which some may not have come: for when something went wrong.
  void check_all();
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
  bool copies_at_once() const noexcept;
  /// Copies out of what a mate lends, which it has posted. False when it lends no longer. In `sim` it takes time.
  Task<bool> copy(std::uint32_t place, std::size_t offset, std::span<std::byte> target,
                  Copying how = Copying::by_caches);
  /// The same out of what it has said by lend_results(), beside what it lends.
  Task<bool> copy_results(std::uint32_t place, std::size_t offset, std::span<std::byte> target);
  /// Copies within this member's memory, as a memcpy would; in `sim` that takes time, too.
  Task<> copy_own(std::span<const std::byte> source, std::byte* target);
  /// For who reads lent memory in place: true when it is still lent; until end_reading() it stays.
  const std::byte* begin_reading(std::uint32_t place) noexcept;
  void end_reading() noexcept { own_post_.reading.store(0, std::memory_order_release); }  // pairs with nobody_reads()

  // --- copied by both sides ---
  /// Takes one more part of what a mate, or this member, has lent for writing: its number, beyond the last one when
  /// none is left. Between begin_reading() and end_reading(), then a mate that fails can tell when nobody writes any
  /// more.
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

  // --- decided together ---
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
  /// Where ranks outnumber cores and only one mate is missing, that one may be about to come on another core: looks for
  /// it for less time than leaving the core to others and coming back would take, unless that was in vain lately.
  template <class Come>
  void look_out(const Come& come) noexcept {
    constexpr int kLooks = 30;
    if (!board_.may_look()) return;
    int look = 0;
    for (; look < kLooks && !come(); ++look) rest_shortly();
    board_.looked(look < kLooks);
  }

  // --- its end ---
  /// Returns when no living mate copies from what this member has lent, which must no longer be lent there.
  Task<> nobody_reads();
  /// For when a collective fails: nothing is lent any more, and nobody reads. Never throws.
  Task<> withdraw();

 private:
  FlagWait wait_for(Flag& flag, std::uint64_t stage, int peer) noexcept;
  std::uint64_t value_of(std::uint64_t stage) const noexcept { return number_ << BoardPart::kStageBits | stage; }
  Post& post_of(std::uint32_t place) noexcept { return board_.part(place).posts[number_ % BoardPart::kRounds]; }
  bool anybody_reads() noexcept;
  [[noreturn]] void throw_misfit(std::uint32_t place);
  void compare_called(std::uint64_t there);
  enum class Source { lent, results };
  Task<bool> copy_from(std::uint32_t place, Source which, std::size_t offset, std::span<std::byte> target, Copying how);
  Task<> copy_in_time(std::uint32_t place, const std::byte* source, std::span<std::byte> target);
  static void rest_shortly() noexcept;

  Board& board_;
  const std::uint64_t number_;
  const std::uint32_t signature_;  // as in a post's mark
  bool is_marked_ = false;         // the own post's mark is of this round
  Post& own_post_;
  Ballot& ballot_;
};

}  // namespace coracle::internals
