// BroadcastWithin: the part of a broadcast inside one node. Who leads exposes its buffer and says how many pieces are
// there; the other local members copy straight from it, or from a local member that came before them: a tree in the
// order of arrival, so that nobody waits for one who is late. A leader whose local members are late leaves the data in
// its arena and goes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/broadcast/broadcast_schedule.hpp"
#include "collectives/data/scratch.hpp"
#include "runtime/team/round.hpp"

namespace coracle::internals {

/// One member's part in one broadcast.
class BroadcastWithin {
 public:
  using Piece = BroadcastSchedule::Piece;

  /// `pieces`: in the order in which they come to this node; they and `data` must outlive this. `fan_out`: how many
  /// copy from one buffer; at least 1. `staged`: told of the pieces that follow() brings; or null.
  BroadcastWithin(Rank& rank, NodeArea& node_area, std::span<std::byte> data, std::span<const Piece> pieces,
                  std::uint32_t fan_out, StagedData* staged) noexcept
      : rank_(rank), round_(node_area), data_(data), pieces_(pieces), fan_out_(fan_out), staged_(staged) {}

  Round& round() noexcept { return round_; }

  // --- of the leader ---
  /// The other local members may begin; none of the pieces is there yet.
  Task<> begin_leading();
  /// So many pieces are there. Returns at once, but where the local members can't copy from `data`.
  Task<> publish(std::uint32_t pieces);
  /// All pieces have been published: returns when nobody needs `data` any more.
  Task<> hand_over();

  // --- of the others ---
  /// Returns when all of the message is here. Throws Error (bad_input) when the leader has another size.
  Task<> follow(std::uint32_t leader);

  /// After a failure, of which the members hear when their team breaks. Never throws.
  Task<> withdraw() { return round_.withdraw(); }

 private:
  /// Where the leader's buffer can't be exposed: a room in its arena, through which the message goes in parts, again
  /// and again; the same for leader and local members. A part is a piece, or some of one.
  class Window {
   public:
    Window() = default;
    Window(std::span<const Piece> pieces, std::uint64_t room_bytes_max);
    std::uint64_t bytes() const noexcept { return slots_ * stride_; }
    std::uint32_t slots() const noexcept { return static_cast<std::uint32_t>(slots_); }
    std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(parts_.size()); }
    const Piece& part(std::uint32_t number) const noexcept { return parts_[number].what; }
    /// The piece that a part is of.
    std::uint32_t piece_of(std::uint32_t number) const noexcept { return parts_[number].piece; }
    std::uint64_t local_index_of(std::uint32_t number) const noexcept { return number % slots_ * stride_; }
    /// Where a part lies behind `first`, if each has a slot of its own.
    std::uint64_t offset_behind(std::uint32_t number, std::uint32_t first) const noexcept {
      return (number - first) * stride_;
    }

   private:
    struct Part {
      Piece what;
      std::uint32_t piece;
    };
    std::vector<Part> parts_;
    std::uint64_t stride_ = 64;
    std::uint64_t slots_ = 1;
  };

  std::uint64_t whole() const noexcept { return pieces_.size() + 1; }  // step: all pieces; 1: none
  /// Whether local members copy from each other; then a member's place in the order of arrival counts.
  bool relays() const noexcept { return fan_out_ + 1 < round_.local_size(); }
  bool shares() noexcept;
  void help_others() noexcept;
  Task<bool> copy_with(std::uint32_t leader);
  bool all_here() noexcept;
  bool leaves_at_once() const noexcept;
  Task<bool> all_have_come();
  Task<std::uint32_t> copy_pieces(std::uint32_t source, std::uint32_t from, std::uint32_t to);
  Task<> copy_all(std::uint32_t leader, std::uint32_t source);
  void pieces_arrived(std::uint32_t from, std::uint32_t to);
  Task<> wait_for_children(std::uint32_t position);
  bool prefers_window() const noexcept;
  Task<> make_room();
  std::uint64_t patience_ns(std::uint64_t bytes) const noexcept;
  bool is_elsewhere() const noexcept { return first_elsewhere_ > 0; }
  void check_size(std::uint32_t leader);

  Rank& rank_;
  Round round_;
  std::span<std::byte> data_;
  std::span<const Piece> pieces_;
  std::uint32_t fan_out_;
  StagedData* staged_;
  bool exposes_ = true;  // local members copy from `data_` itself
  // Else:
  Window window_;
  std::byte* room_ = nullptr;
  std::uint32_t published_ = 0;        // parts
  std::uint32_t first_elsewhere_ = 0;  // of those that are not in the window, since local members are late; 0: all are
  std::byte* parked_ = nullptr;        // where they are; null: in `data_`
};

}  // namespace coracle::internals
