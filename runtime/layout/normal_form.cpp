// Normalisation of layouts.
#include "runtime/layout/normal_form.hpp"

#include <algorithm>
#include <utility>

namespace coracle::internals::layouts {
namespace {

/// Sequences take over the entries of parts that have no more than this, so that a nest of them can't grow beyond
/// bounds by sharing parts.
constexpr std::int64_t kFlattened = 64;
/// Shorter rows are left in the list: a loop for each would cost more than the offsets.
constexpr std::size_t kRowMin = 4;

/// The index of the first offset that does not continue the step between the first two.
std::size_t constant_steps(const std::vector<std::int64_t>& offsets) {
  std::size_t end = 2;
  std::int64_t step = 0;
  if (__builtin_sub_overflow(offsets[1], offsets[0], &step)) throw TooLarge{};
  for (std::int64_t next = 0; end < offsets.size(); ++end)
    if (__builtin_add_overflow(offsets[end - 1], step, &next) || next != offsets[end]) break;
  return end;
}

/// Whether the offsets are rows of `length`, all with the step of the first.
bool are_rows(const std::vector<std::int64_t>& offsets, std::size_t length) {
  if (length < kRowMin || offsets.size() % length != 0) return false;
  for (std::size_t row = 0; row < offsets.size(); row += length)
    for (std::size_t i = 1; i < length; ++i) {
      std::int64_t here = 0;
      if (__builtin_sub_overflow(offsets[row + i], offsets[row], &here) || here != offsets[i] - offsets[0])
        return false;
    }
  return true;
}

struct Runs {
  std::vector<std::int64_t> offsets;
  std::vector<std::uint64_t> lengths;
};

/// Without empty ones, and with those that touch made one, in place.
void join_neighbours(Runs& runs) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < runs.offsets.size(); ++i) {
    if (runs.lengths[i] == 0) continue;
    std::int64_t end = 0;
    const bool touches =
        kept > 0 &&
        !__builtin_add_overflow(runs.offsets[kept - 1], static_cast<std::int64_t>(runs.lengths[kept - 1]), &end) &&
        end == runs.offsets[i];
    if (touches) {
      runs.lengths[kept - 1] = static_cast<std::uint64_t>(
          add(static_cast<std::int64_t>(runs.lengths[kept - 1]), static_cast<std::int64_t>(runs.lengths[i])));
      continue;
    }
    runs.offsets[kept] = runs.offsets[i];
    runs.lengths[kept] = runs.lengths[i];
    ++kept;
  }
  runs.offsets.resize(kept);
  runs.lengths.resize(kept);
}

/// Cuts all to the length of the shortest, if that makes a quarter more of them at most.
void cut_to_one_length(Runs& runs) {
  const std::uint64_t length = *std::min_element(runs.lengths.begin(), runs.lengths.end());
  const std::size_t most = runs.offsets.size() + runs.offsets.size() / 4;
  std::size_t pieces = 0;
  for (const std::uint64_t whole : runs.lengths) {
    if (whole % length != 0 || whole / length > most) return;
    pieces += whole / length;
  }
  if (pieces == runs.offsets.size() || pieces > most) return;
  Runs cut;
  cut.offsets.reserve(pieces);
  for (std::size_t i = 0; i < runs.offsets.size(); ++i)
    for (std::uint64_t at = 0; at < runs.lengths[i]; at += length)
      cut.offsets.push_back(add(runs.offsets[i], static_cast<std::int64_t>(at)));
  cut.lengths.assign(pieces, length);
  runs = std::move(cut);
}

/// Appends `part`, or its entries if they are few.
void flatten(const PlacedNode& part, std::vector<PlacedNode>& parts) {
  const LayoutNode& node = *part.node;
  if (node.kind == NodeKind::run || node.kind == NodeKind::strided || node.count > kFlattened ||
      (node.kind == NodeKind::list && node.child->kind != NodeKind::run)) {
    parts.push_back(part);
    return;
  }
  for (std::size_t i = 0; i < node.offsets.size(); ++i) {
    const std::int64_t offset = add(part.offset, node.offsets[i]);
    if (node.kind == NodeKind::sequence) parts.push_back({offset, node.parts[i]});
    if (node.kind == NodeKind::list) parts.push_back({offset, node.child});
    if (node.kind == NodeKind::blocks) parts.push_back({offset, make_run(node.starts[i + 1] - node.starts[i])});
  }
}

bool all_runs(const std::vector<PlacedNode>& parts) {
  return std::all_of(parts.begin(), parts.end(),
                     [](const PlacedNode& part) { return part.node->kind == NodeKind::run; });
}

PlacedNode join_runs(const std::vector<PlacedNode>& parts) {
  Runs joined;
  for (const PlacedNode& part : parts) {
    joined.offsets.push_back(part.offset);
    joined.lengths.push_back(part.node->size);
  }
  return runs(std::move(joined.offsets), std::move(joined.lengths));
}

/// Makes one of runs that touch, between other parts.
void join_neighbours(std::vector<PlacedNode>& parts) {
  std::vector<PlacedNode> joined;
  for (const PlacedNode& part : parts) {
    const bool touches = !joined.empty() && part.node->kind == NodeKind::run &&
                         joined.back().node->kind == NodeKind::run &&
                         add(joined.back().offset, joined.back().node->high) == part.offset;
    if (touches)
      joined.back().node = make_run(joined.back().node->size + part.node->size);
    else
      joined.push_back(part);
  }
  parts = std::move(joined);
}

/// Makes a stride of neighbours that are alike and a constant step apart.
void join_alike(std::vector<PlacedNode>& parts) {
  std::vector<PlacedNode> joined;
  for (std::size_t i = 0; i < parts.size();) {
    std::size_t end = i + 1;
    std::int64_t step = 0;
    std::int64_t here = 0;
    for (; end < parts.size() && alike(parts[end].node.get(), parts[i].node.get()); ++end) {
      if (__builtin_sub_overflow(parts[end].offset, parts[end - 1].offset, &here)) break;
      if (end == i + 1) step = here;
      if (here != step) break;
    }
    joined.push_back(repeat(parts[i], static_cast<std::int64_t>(end - i), step));
    i = end;
  }
  parts = std::move(joined);
}

}  // namespace

PlacedNode repeat(const PlacedNode& what, std::int64_t count, std::int64_t stride) {
  if (what.node == nullptr || count == 0) return {};
  if (count == 1) return what;
  const LayoutNode& node = *what.node;
  if (node.kind == NodeKind::run && node.high == stride)
    return {what.offset, make_run(static_cast<std::uint64_t>(multiply(stride, count)))};
  std::int64_t whole = 0;
  if (node.kind == NodeKind::strided && !__builtin_mul_overflow(node.count, node.stride, &whole) && whole == stride)
    return repeat({what.offset, node.child}, multiply(node.count, count), node.stride);
  return {what.offset, make_strided(what.node, count, stride)};
}

PlacedNode repeat_at(const PlacedNode& what, std::vector<std::int64_t> offsets) {
  if (what.node == nullptr || offsets.empty()) return {};
  if (offsets.size() == 1) return {add(what.offset, offsets[0]), what.node};
  const std::size_t row = constant_steps(offsets);
  const std::int64_t step = offsets[1] - offsets[0];
  if (row == offsets.size())
    return repeat({add(what.offset, offsets[0]), what.node}, static_cast<std::int64_t>(row), step);
  if (are_rows(offsets, row)) {
    std::vector<std::int64_t> heads;
    for (std::size_t i = 0; i < offsets.size(); i += row) heads.push_back(offsets[i]);
    return repeat_at(repeat(what, static_cast<std::int64_t>(row), step), std::move(heads));
  }
  PlacedNode list = make_list(what.node, std::move(offsets));
  list.offset = add(list.offset, what.offset);
  return list;
}

PlacedNode runs(std::vector<std::int64_t> offsets, std::vector<std::uint64_t> lengths) {
  Runs runs{std::move(offsets), std::move(lengths)};
  join_neighbours(runs);
  if (runs.offsets.empty()) return {};
  cut_to_one_length(runs);
  const std::uint64_t length = runs.lengths.front();
  if (std::all_of(runs.lengths.begin(), runs.lengths.end(), [length](std::uint64_t other) { return other == length; }))
    return repeat_at({0, make_run(length)}, std::move(runs.offsets));
  return make_blocks(std::move(runs.offsets), runs.lengths);
}

PlacedNode sequence(std::vector<PlacedNode> parts) {
  std::erase_if(parts, [](const PlacedNode& part) { return part.node == nullptr; });
  if (parts.empty()) return {};
  if (all_runs(parts)) return join_runs(parts);
  const NodePointer first = parts.front().node;
  if (std::all_of(parts.begin(), parts.end(),
                  [&](const PlacedNode& part) { return alike(part.node.get(), first.get()); })) {
    std::vector<std::int64_t> offsets;
    offsets.reserve(parts.size());
    for (const PlacedNode& part : parts) offsets.push_back(part.offset);
    return repeat_at({0, first}, std::move(offsets));
  }
  std::vector<PlacedNode> flat;
  for (const PlacedNode& part : parts) flatten(part, flat);
  if (all_runs(flat)) return join_runs(flat);
  join_neighbours(flat);
  join_alike(flat);
  return flat.size() == 1 ? flat.front() : make_sequence(flat);
}

}  // namespace coracle::internals::layouts
