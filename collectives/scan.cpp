// scan in two levels: on a node through the other local members in their order; between nodes by the last of each, who
// has the sum of its node.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "collectives/between/between.hpp"
#include "collectives/data/arguments.hpp"
#include "collectives/data/scratch.hpp"
#include "collectives/node/local_collective.hpp"
#include "collectives/reductions.hpp"

namespace coracle::internals {
namespace {

constexpr std::size_t kScannedAtOnceMax = 4096;
constexpr std::size_t kPieceBytes = 64 * 1024;

/// Small data: each combines what those before it have given.
Task<> scan_small(LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> before,
                  const Reduction& reduction) {
  co_await local.give(values);
  for (std::uint32_t other = local.local_index(); other-- > 0;) {
    co_await local.wait(other, 1);
    local.check_bytes(other, values.size());
    if (other + 1 == local.local_index())
      co_await local.take(other, 0, before);
    else
      co_await within::combine(local, other, 0, before, before.data(), reduction);
  }
}

/// Large data: each hands on to the next what is combined so far, piece by piece. The first one hands on its values
/// where they lie; others have a window, of which they use a place again when the next one has taken what was there. So
/// memory that nobody has touched yet is needed for results only.
class LargeScan {
 public:
  /// `sum`: gets what this member would hand on, if it is the last; empty: nobody needs it.
  LargeScan(LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> before,
            std::span<std::byte> sum, const Reduction& reduction)
      : local_(local),
        values_(values),
        before_(before),
        sum_(sum),
        reduction_(reduction),
        piece_(kPieceBytes / reduction.element_bytes * reduction.element_bytes),
        pieces_((values.size() + piece_ - 1) / piece_) {}
  /// Gives the last step.
  Task<std::uint64_t> run();

 private:
  static constexpr std::uint64_t kWindowPieces = 8;
  /// What a member says once it has taken and combined a piece.
  static constexpr std::uint64_t step_of(std::uint64_t piece) noexcept { return piece + 2; }

  bool is_last() const noexcept { return local_.local_index() + 1 == local_.count(); }
  std::size_t place_in_window(std::uint64_t piece) const noexcept { return piece % kWindowPieces * piece_; }
  Task<> take(std::uint64_t piece);
  Task<> combine(std::uint64_t piece);
  std::size_t bytes_of(std::uint64_t piece) const noexcept {
    return std::min(piece_, values_.size() - static_cast<std::size_t>(piece) * piece_);
  }

  LocalCollective& local_;
  const std::span<const std::byte> values_;
  const std::span<std::byte> before_;
  const std::span<std::byte> sum_;
  const Reduction& reduction_;
  const std::size_t piece_;
  const std::uint64_t pieces_;
  std::span<std::byte> window_;
};

Task<> LargeScan::take(std::uint64_t piece) {
  const std::uint32_t previous = local_.local_index() - 1;
  const std::size_t begin = static_cast<std::size_t>(piece) * piece_;
  co_await local_.wait(previous, step_of(piece));
  if (piece == 0) local_.check_bytes(previous, values_.size());
  co_await local_.take(previous, previous == 0 ? begin : place_in_window(piece),
                       before_.subspan(begin, bytes_of(piece)));
}

Task<> LargeScan::combine(std::uint64_t piece) {
  const std::size_t begin = static_cast<std::size_t>(piece) * piece_;
  std::byte* target = nullptr;
  if (!is_last()) {
    if (piece >= kWindowPieces) co_await local_.wait(local_.local_index() + 1, step_of(piece - kWindowPieces));
    target = window_.data() + place_in_window(piece);
  } else if (sum_.empty()) {
    co_return;
  } else {
    target = sum_.data() + begin;
  }
  reduction_.combine(before_.data() + begin, values_.data() + begin, target, bytes_of(piece));
}

Task<std::uint64_t> LargeScan::run() {
  const bool is_first = local_.local_index() == 0;
  if (is_first || is_last()) {
    local_.expose(values_, 1);
  } else {
    window_ = local_.keep(std::min<std::uint64_t>(pieces_, kWindowPieces) * piece_);
    local_.round().expose(window_.data(), values_.size(), 1);
  }
  for (std::uint64_t piece = 0; piece < pieces_ && !is_first; ++piece) {
    co_await take(piece);
    co_await combine(piece);
    local_.round().publish(step_of(piece));
  }
  const std::uint64_t last_step = step_of(pieces_ - 1);
  if (is_first) local_.round().publish(last_step);
  if (!is_last()) co_await local_.wait(local_.local_index() + 1, last_step);
  co_return last_step;
}

/// `before`: gets what all members before this one give. The first member's stays as it is.
Task<> scan_two_levels(LocalCollective& local, Team& team, std::uint64_t sequence, std::span<const std::byte> values,
                       std::span<std::byte> before, const Reduction& reduction) {
  const TeamNodes& nodes = team.nodes();
  const std::uint32_t last = local.count() - 1;
  const bool is_first = local.local_index() == 0;
  // Of this node, for those of later ones.
  const bool needs_sum = nodes.count() > 1 && local.local_index() == last;
  const std::span<std::byte> sum = needs_sum ? local.keep(values.size()) : std::span<std::byte>();
  std::uint64_t step = 1;
  if (values.size() <= kScannedAtOnceMax) {
    co_await scan_small(local, values, before, reduction);
    if (needs_sum) reduction.combine(before.data(), values.data(), sum.data(), values.size());
  } else {
    LargeScan scan(local, values, before, sum, reduction);
    step = co_await scan.run();
  }
  if (nodes.count() == 1) co_return;
  const std::span<std::byte> others = local.keep(values.size());  // those of earlier nodes
  if (local.local_index() == last)
    co_await Group::of_last(team, sequence)
        .in_phase("between nodes", between::exclusive_scan(Group::of_last(team, sequence), sum, others, reduction));
  if (nodes.own() == 0) co_return;
  if (local.local_index() == last)
    co_await within::hand_out(local, others, step + 1);
  else
    co_await within::fetch(local, last, others.size(), 0, others, step + 1);
  if (is_first)
    std::copy(others.begin(), others.end(), before.begin());
  else
    reduction.combine(others.data(), before.data(), before.data(), before.size());
}

/// Where what comes before is combined: in the result, unless that is needed for something else.
class RoomBefore {
 public:
  RoomBefore(std::span<std::byte> result, bool needed) : room_(result) {
    if (needed) room_ = own_.emplace(result.size()).span();
  }
  std::span<std::byte> span() const noexcept { return room_; }

 private:
  std::optional<Scratch> own_;
  std::span<std::byte> room_;
};

Task<> exclusive_scan(Team& team, std::span<const std::byte> values, std::span<std::byte> before, Reduction reduction,
                      std::uint64_t sequence) {
  const TeamNodes& nodes = team.nodes();
  const bool two_levels = nodes.largest() > 1 && nodes.contiguous() && within::can_expose(team);
  if (!two_levels || nodes.size_of(nodes.own()) == 1) {
    const Group group = two_levels ? Group::of_last(team, sequence) : Group(team, sequence);
    co_await group.in_phase("between nodes", between::exclusive_scan(group, values, before, reduction));
    co_return;
  }
  LocalCollective local(team);
  Task<> part = scan_two_levels(local, team, sequence, values, before, reduction);
  co_await local.run(std::move(part));
}

}  // namespace

Task<> scan_bytes(Team& team, std::span<const std::byte> values, std::span<std::byte> result, Reduction reduction,
                  std::source_location where) {
  const HostParticipation participation(team, {Called::scan, values.size(), CollectiveCall::kNoRoot, where}, values,
                                        result);
  const RoomBefore before(result, values.data() == result.data());
  co_await exclusive_scan(team, values, before.span(), reduction, participation.sequence());
  if (team.index() > 0)
    reduction.combine(before.span().data(), values.data(), result.data(), values.size());
  else
    copy_bytes(values, result);
}

Task<> exclusive_scan_bytes(Team& team, std::span<const std::byte> values, std::span<std::byte> result,
                            Reduction reduction, const std::byte* first, std::source_location where) {
  const CollectiveCall call{Called::exclusive_scan, values.size(), CollectiveCall::kNoRoot, where};
  const HostParticipation participation(team, call, values, result);
  const RoomBefore before(result, first != nullptr || values.data() == result.data());
  co_await exclusive_scan(team, values, before.span(), reduction, participation.sequence());
  const bool has_before = team.index() > 0;
  if (first == nullptr) {
    if (has_before) copy_bytes(before.span(), result);
    co_return;
  }
  for (std::size_t i = 0; i < result.size(); i += reduction.element_bytes)
    std::memcpy(result.data() + i, first, reduction.element_bytes);
  if (has_before) reduction.combine(result.data(), before.span().data(), result.data(), result.size());
}

}  // namespace coracle::internals
