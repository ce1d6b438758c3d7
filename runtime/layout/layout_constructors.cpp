// Constructors of layouts: MPI's rules for places and bounds; the form comes from normal_form.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/layout/layout.hpp"
#include "runtime/layout/normal_form.hpp"

namespace coracle::internals {
namespace {

using layouts::add;
using layouts::multiply;
using layouts::PlacedNode;

[[noreturn]] void wrong(const char* constructor, const std::string& what) {
  throw Error(Errc::bad_input, fmt::format("Layout::{}: {}", constructor, what));
}

/// Runs `build`, with what is too large or too deep said in the user's words.
template <class Build>
Layout made_by(const char* constructor, Build build) {
  try {
    return build();
  } catch (const layouts::TooLarge&) {
    wrong(constructor, "bytes would lie 2^63 or more apart; take smaller counts, strides or displacements");
  } catch (const layouts::TooDeep&) {
    wrong(constructor,
          fmt::format("layouts are nested more than {} deep; build it of fewer levels", layouts::kDepthMax));
  }
}

void check_count(const char* constructor, const char* name, std::int64_t value) {
  if (value < 0) wrong(constructor, fmt::format("{} is {}; give 0 or more", name, value));
}

void check_lengths(const char* constructor, const std::vector<std::int64_t>& lengths, std::size_t displacements) {
  if (lengths.size() != displacements)
    wrong(constructor, fmt::format("there are {} lengths and {} displacements; give one length for each displacement",
                                   lengths.size(), displacements));
  for (std::size_t i = 0; i < lengths.size(); ++i)
    if (lengths[i] < 0) wrong(constructor, fmt::format("lengths[{}] is {}; give 0 or more", i, lengths[i]));
}

void scale(std::vector<std::int64_t>& displacements, std::int64_t extent) {
  for (std::int64_t& displacement : displacements) displacement = multiply(displacement, extent);
}

void check_subarray(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& subsizes,
                    const std::vector<std::int64_t>& starts) {
  if (sizes.size() != subsizes.size() || sizes.size() != starts.size() || sizes.empty())
    wrong("subarray", fmt::format("there are {} sizes, {} subsizes and {} starts; give each dimension one of each",
                                  sizes.size(), subsizes.size(), starts.size()));
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (subsizes[i] < 0 || starts[i] < 0 || subsizes[i] > sizes[i] || starts[i] > sizes[i] - subsizes[i])
      wrong("subarray", fmt::format("in dimension {}, {} elements from {} on leave the array's {}; "
                                    "start and subsize must be 0 or more and stay within the size",
                                    i, subsizes[i], starts[i], sizes[i]));
}

}  // namespace

Layout::Layout(layouts::PlacedNode placed, const DisplacementRange& places, const Layout& element)
    : node_(std::move(placed.node)),
      first_(node_ ? placed.offset : 0),
      lower_(add(places.low, element.lower_)),
      upper_(add(places.high, element.upper_)),
      marked_(element.marked_) {
  check_reach();
}

/// That all queries have values.
void Layout::check_reach() const {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(upper_, lower_, &difference)) throw layouts::TooLarge{};
  if (difference == std::numeric_limits<std::int64_t>::min()) throw layouts::TooLarge{};
  if (node_ == nullptr) return;
  add(first_, node_->low);
  add(first_, node_->high);
}

Layout Layout::bytes(std::int64_t count) {
  check_count("bytes", "count", count);
  Layout layout;
  if (count == 0) return layout;
  layout.node_ = layouts::make_run(static_cast<std::uint64_t>(count));
  layout.upper_ = count;
  return layout;
}

Layout Layout::contiguous(std::int64_t count) const {
  check_count("contiguous", "count", count);
  return made_by("contiguous", [&] {
    if (count == 0 || is_void()) return Layout();
    const std::int64_t last = multiply(count - 1, extent());
    return Layout(layouts::repeat({first_, node_}, count, extent()),
                  {std::min<std::int64_t>(last, 0), std::max<std::int64_t>(last, 0)}, *this);
  });
}

Layout Layout::vector(std::int64_t count, std::int64_t block_length, std::int64_t stride) const {
  return made_by("vector", [&] { return hvector(count, block_length, multiply(stride, extent())); });
}

Layout Layout::hvector(std::int64_t count, std::int64_t block_length, std::int64_t stride_bytes) const {
  check_count("vector", "count", count);
  check_count("vector", "block_length", block_length);
  return made_by("vector", [&] {
    const Layout block = contiguous(block_length);
    if (count == 0 || block.is_void()) return Layout();
    const std::int64_t last = multiply(count - 1, stride_bytes);
    return Layout(layouts::repeat({block.first_, block.node_}, count, stride_bytes),
                  {std::min<std::int64_t>(last, 0), std::max<std::int64_t>(last, 0)}, block);
  });
}

Layout Layout::equal_blocks_at(std::int64_t length, std::vector<std::int64_t> places) const {
  const Layout block = contiguous(length);
  if (places.empty() || block.is_void()) return {};
  const auto [low, high] = std::minmax_element(places.begin(), places.end());
  const DisplacementRange bounds{*low, *high};
  if (block.node_ == nullptr || block.node_->kind != layouts::NodeKind::run)
    return {layouts::repeat_at({block.first_, block.node_}, std::move(places)), bounds, block};
  for (std::int64_t& place : places) place = add(place, block.first_);
  std::vector<std::uint64_t> lengths(places.size(), block.size());
  return {layouts::runs(std::move(places), std::move(lengths)), bounds, block};
}

Layout Layout::blocks_at(const std::vector<std::int64_t>& lengths, std::vector<std::int64_t> places) const {
  if (!lengths.empty() && std::equal(lengths.begin() + 1, lengths.end(), lengths.begin()))
    return equal_blocks_at(lengths.front(), std::move(places));
  if (!is_contiguous() || node_ == nullptr) {
    std::map<std::int64_t, Layout> blocks;  // by length: most lists have few
    std::vector<LayoutField> fields;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const auto [block, is_new] = blocks.try_emplace(lengths[i]);
      if (is_new) block->second = contiguous(lengths[i]);
      fields.push_back({1, places[i], block->second});
    }
    return structure(fields);
  }
  DisplacementRange bounds{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  std::vector<std::uint64_t> bytes(lengths.size());
  bool any = false;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    bytes[i] = static_cast<std::uint64_t>(multiply(lengths[i], extent()));
    if (lengths[i] == 0) continue;
    any = true;
    bounds.low = std::min(bounds.low, places[i]);
    bounds.high = std::max(bounds.high, add(places[i], static_cast<std::int64_t>(bytes[i]) - extent()));
    places[i] = add(places[i], first_);
  }
  if (!any) return {};
  return {layouts::runs(std::move(places), std::move(bytes)), bounds, *this};
}

Layout Layout::indexed(const std::vector<std::int64_t>& lengths, std::vector<std::int64_t> displacements) const {
  check_lengths("indexed", lengths, displacements.size());
  return made_by("indexed", [&] {
    scale(displacements, extent());
    return blocks_at(lengths, std::move(displacements));
  });
}

Layout Layout::hindexed(const std::vector<std::int64_t>& lengths, std::vector<std::int64_t> displacements_bytes) const {
  check_lengths("hindexed", lengths, displacements_bytes.size());
  return made_by("hindexed", [&] { return blocks_at(lengths, std::move(displacements_bytes)); });
}

Layout Layout::indexed_block(std::int64_t length, std::vector<std::int64_t> displacements) const {
  check_count("indexed_block", "length", length);
  return made_by("indexed_block", [&] {
    scale(displacements, extent());
    return equal_blocks_at(length, std::move(displacements));
  });
}

Layout Layout::hindexed_block(std::int64_t length, std::vector<std::int64_t> displacements_bytes) const {
  check_count("hindexed_block", "length", length);
  return made_by("hindexed_block", [&] { return equal_blocks_at(length, std::move(displacements_bytes)); });
}

Layout Layout::structure(const std::vector<LayoutField>& fields) {
  return made_by("structure", [&] {
    std::vector<PlacedNode> parts;
    Layout whole;
    bool any = false;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const LayoutField& field = fields[i];
      if (field.count < 0)
        wrong("structure", fmt::format("fields[{}] has the count {}; give 0 or more", i, field.count));
      const Layout block = field.layout.contiguous(field.count);
      if (block.is_void()) continue;
      const std::int64_t lower = add(field.displacement_bytes, block.lower_);
      const std::int64_t upper = add(field.displacement_bytes, block.upper_);
      if (block.node_) parts.push_back({add(field.displacement_bytes, block.first_), block.node_});
      if (any && whole.marked_ && !block.marked_) continue;
      const bool replaces = !any || (block.marked_ && !whole.marked_);
      whole.lower_ = replaces ? lower : std::min(whole.lower_, lower);
      whole.upper_ = replaces ? upper : std::max(whole.upper_, upper);
      whole.marked_ = block.marked_;
      any = true;
    }
    PlacedNode placed = layouts::sequence(std::move(parts));
    whole.first_ = placed.node ? placed.offset : 0;
    whole.node_ = std::move(placed.node);
    whole.check_reach();
    return whole;
  });
}

Layout Layout::subarray(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& subsizes,
                        const std::vector<std::int64_t>& starts, Order order) const {
  check_subarray(sizes, subsizes, starts);
  return made_by("subarray", [&] {
    PlacedNode part{first_, node_};
    std::int64_t step = extent();
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::size_t dimension = order == Order::c ? sizes.size() - 1 - i : i;
      part = layouts::repeat(part, subsizes[dimension], step);
      begin = add(begin, multiply(starts[dimension], step));
      step = multiply(step, sizes[dimension]);
    }
    Layout layout;
    layout.first_ = part.node ? add(part.offset, begin) : 0;
    layout.node_ = std::move(part.node);
    layout.upper_ = step;
    layout.marked_ = true;
    layout.check_reach();
    return layout;
  });
}

Layout Layout::resized(std::int64_t lower_bound, std::int64_t extent) const {
  return made_by("resized", [&] {
    Layout layout = *this;
    layout.lower_ = lower_bound;
    layout.upper_ = add(lower_bound, extent);
    layout.marked_ = true;
    layout.check_reach();
    return layout;
  });
}

}  // namespace coracle::internals
