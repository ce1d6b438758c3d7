// Scans on a node: of small data each looks at what those before it have given; of large data pieces go from each to
// the next.
#include "collectives/node/scan_within.hpp"

#include <algorithm>
#include <cstring>

#include "collectives/data/blocks.hpp"
#include "collectives/node/exchanged_values.hpp"
#include "runtime/core/copy_short.hpp"

namespace coracle::internals {

// From the nearest one on, so that this member's values are read before the result takes their place.
bool ScannedValues::take(LocalCollective& local) const {
  const std::size_t bytes = data.values.size();
  std::uint32_t other = local.local_index();
  if (data.kind == ScanKind::inclusive) {
    if (data.values.data() != data.result.data()) copy_short(data.values, data.result.data());
  } else if (other > 0) {
    --other;
    copy_short({local.data_of(other, bytes), bytes}, data.result.data());
  }
  GivenElements elements(bytes, reduction);
  while (other-- > 0)
    reduction.combine(elements({local.data_of(other, bytes), bytes}), data.result.data(), data.result.data(), bytes);
  if (first != nullptr) combine_first(first, local.local_index() > 0, data.result, reduction);
  return true;
}

void combine_first(const std::byte* first, bool has_before, std::span<std::byte> result, const Reduction& reduction) {
  constexpr std::size_t kAtOnce = 4096;
  const std::size_t element = reduction.element_bytes;
  const auto fill = [&](std::span<std::byte> room) {
    for (std::size_t i = 0; i < room.size(); i += element) std::memcpy(room.data() + i, first, element);
  };
  if (!has_before) return fill(result);
  const std::size_t at_once = std::min(std::max(kAtOnce / element, std::size_t{1}) * element, result.size());
  const Scratch firsts(at_once);
  fill(firsts.span());
  for (std::size_t begin = 0; begin < result.size(); begin += at_once) {
    std::byte* const part = result.data() + begin;
    reduction.combine(firsts.data(), part, part, std::min(at_once, result.size() - begin));
  }
}

}  // namespace coracle::internals

namespace coracle::internals::within {
namespace {

constexpr std::size_t kScanPieceBytesMax = 64 * 1024;
constexpr std::uint64_t kWindowPiecesMax = 8;

/// A piece of so many bytes, at most, of whole elements.
std::size_t scan_piece_bytes(std::size_t bytes_max, const Reduction& reduction) noexcept {
  const std::size_t elements = std::min(bytes_max, kScanPieceBytesMax) / reduction.element_bytes;
  return std::max<std::size_t>(elements, 1) * reduction.element_bytes;
}

/// A piece where the windows lie in the arenas, of which an element may be a large part.
std::size_t arena_piece_bytes(const NodeArea& node_area, const Reduction& reduction) noexcept {
  return scan_piece_bytes(node_area.room_bytes_max() / kWindowPiecesMax, reduction);
}

/// Whether there is room for one in the arena, and they are not more than there are steps.
bool arena_suits(const NodeArea& node_area, std::size_t bytes, const Reduction& reduction) noexcept {
  constexpr std::uint64_t kPiecesMax = std::uint64_t{1} << (NodeAreaPart::kStepBits - 2);
  const std::size_t piece = arena_piece_bytes(node_area, reduction);
  return piece <= node_area.room_bytes_max() && bytes / piece < kPiecesMax;
}

/// Whether each hands on copies: where members don't reach each other's values, and where its arena is no hindrance.
/// Nobody waits for the next one then; and what a program writes again, as its values, is not in the caches of others,
/// which would have to give it back line by line.
bool is_staged(Team& team, Round& round, bool is_roomy) noexcept {
  return !reaches(team) || (is_roomy && round.copies_at_once());
}

/// What a member has for the next one: its values where they lie (the first), or its result (of an inclusive scan);
/// else, and always where it is staged, a window of pieces, of which it uses a place again when the next one has taken
/// what was there. So memory that nobody has touched yet is needed for results only.
class LargeScan {
 public:
  LargeScan(Team& team, LocalCollective& local, const ScanData& data, const Reduction& reduction)
      : local_(local),
        data_(data),
        reduction_(reduction),
        place_(at(local.local_index())),
        is_roomy_(is_roomy(team.node_area(), data.values.size(), reduction)),
        staged_(is_staged(team, local.round(), is_roomy_)),
        piece_(in_arena() ? arena_piece_bytes(team.node_area(), reduction)
                          : scan_piece_bytes(kScanPieceBytesMax, reduction)),
        pieces_((data.values.size() + piece_ - 1) / piece_),
        window_pieces_(std::min(
            {in_arena() ? team.node_area().room_bytes_max() / piece_ : kWindowPiecesMax, kWindowPiecesMax, pieces_})) {}
  Task<std::uint64_t> run();

 private:
  /// Whether its pieces are worth a wait each.
  static bool is_roomy(const NodeArea& node_area, std::size_t bytes, const Reduction& reduction) noexcept {
    constexpr std::size_t kPieceBytesMin = 16 * 1024;
    return node_area.room_bytes_max() >= kWindowPiecesMax * kPieceBytesMin && arena_suits(node_area, bytes, reduction);
  }
  /// What a member says once it has taken and combined a piece.
  static constexpr std::uint64_t step_of(std::uint64_t piece) noexcept { return piece + 2; }

  bool in_arena() const noexcept { return staged_ || is_roomy_; }
  bool is_first() const noexcept { return place_ == 0; }
  bool is_last() const noexcept { return place_ + 1 == local_.count(); }
  bool has_window(std::uint32_t place) const noexcept {
    return staged_ || (data_.kind == ScanKind::exclusive && place > 0);
  }
  /// The local index of who has this place, from place to place as it is handed on.
  std::uint32_t at(std::uint32_t place) const noexcept { return data_.backwards ? local_.count() - 1 - place : place; }
  Task<> open();
  Task<> combine(std::uint64_t piece);
  Task<> hand_on_values();
  Task<std::byte*> place_for(std::uint64_t piece);
  std::size_t begin_of(std::uint64_t piece) const noexcept { return static_cast<std::size_t>(piece) * piece_; }
  template <class Byte>
  std::span<Byte> part_of(std::span<Byte> all, std::uint64_t piece) const noexcept {
    return all.subspan(begin_of(piece), std::min(piece_, all.size() - begin_of(piece)));
  }
  std::size_t offset_at(std::uint32_t place, std::uint64_t piece) const noexcept {
    return has_window(place) ? static_cast<std::size_t>(piece % window_pieces_) * piece_ : begin_of(piece);
  }

  LocalCollective& local_;
  const ScanData data_;
  const Reduction& reduction_;
  const std::uint32_t place_;
  const bool is_roomy_;
  const bool staged_;
  const std::size_t piece_;
  const std::uint64_t pieces_;
  const std::uint64_t window_pieces_;
  std::byte* window_ = nullptr;
};

Task<> LargeScan::open() {
  if (is_last()) co_return;
  const std::size_t bytes = window_pieces_ * piece_;
  if (has_window(place_))
    window_ = in_arena() ? co_await local_.round().allocate_when_free(bytes) : local_.keep(bytes).data();
  const std::byte* handed = is_first() ? data_.values.data() : data_.result.data();
  local_.round().expose(window_ != nullptr ? window_ : handed, data_.values.size(), 1);
}

/// In the window, once the next one has taken what was there.
Task<std::byte*> LargeScan::place_for(std::uint64_t piece) {
  if (piece >= window_pieces_) co_await local_.wait(at(place_ + 1), step_of(piece - window_pieces_));
  co_return window_ + offset_at(place_, piece);
}

/// Of what the one before has handed on.
Task<> LargeScan::combine(std::uint64_t piece) {
  const std::uint32_t previous = at(place_ - 1);
  co_await local_.wait(previous, step_of(piece));
  if (piece == 0) local_.check_bytes(previous, data_.values.size());
  const std::size_t offset = offset_at(place_ - 1, piece);
  const std::span<const std::byte> values = part_of(data_.values, piece);
  const std::span<std::byte> result = part_of(data_.result, piece);
  if (data_.kind == ScanKind::inclusive) {
    co_await within::combine(local_, previous, offset, values, result.data(), reduction_);
    if (window_ == nullptr) co_return;
    std::byte* const place = co_await place_for(piece);
    std::memcpy(place, result.data(), result.size());
    co_return;
  }
  std::byte* handed = nullptr;
  if (!data_.sum.empty()) handed = part_of(data_.sum, piece).data();
  if (window_ != nullptr) handed = co_await place_for(piece);
  // Before the result is there, which may be the values' place.
  if (handed != nullptr) co_await within::combine(local_, previous, offset, values, handed, reduction_);
  co_await local_.take(previous, offset, result);
}

/// Of the first member.
Task<> LargeScan::hand_on_values() {
  for (std::uint64_t piece = 0; piece < pieces_ && window_ != nullptr; ++piece) {
    std::byte* const place = co_await place_for(piece);
    const std::span<const std::byte> values = part_of(data_.values, piece);
    std::memcpy(place, values.data(), values.size());
    local_.round().publish(step_of(piece));
  }
  if (window_ == nullptr) local_.round().publish(step_of(pieces_ - 1));
  if (data_.kind == ScanKind::inclusive && !data_.result.empty()) copy_bytes(data_.values, data_.result);
}

Task<std::uint64_t> LargeScan::run() {
  const std::uint64_t last_step = step_of(pieces_ - 1);
  co_await open();
  if (is_first()) co_await hand_on_values();
  for (std::uint64_t piece = 0; piece < pieces_ && !is_first(); ++piece) {
    co_await combine(piece);
    local_.round().publish(step_of(piece));
  }
  // What lies in the arena stays until all are through with the round.
  const bool may_go = is_last() || (in_arena() && has_window(place_));
  if (!may_go) co_await local_.wait(at(place_ + 1), last_step);
  co_return last_step;
}

}  // namespace

bool suits_scan_short(Team& team, std::size_t bytes) noexcept {
  constexpr std::size_t kBytesMax = 4096;
  return team.size() > 1 && bytes <= kBytesMax && can_exchange(team, bytes, team.size(), kBytesMax);
}

bool suits_scan_large(Team& team, std::size_t bytes, const Reduction& reduction) noexcept {
  return reaches(team) || (team.nodes().count() == 1 && arena_suits(team.node_area(), bytes, reduction));
}

Task<std::uint64_t> scan_large(Team& team, LocalCollective& local, ScanData data, const Reduction& reduction) {
  LargeScan scan(team, local, data, reduction);
  co_return co_await scan.run();
}

}  // namespace coracle::internals::within
