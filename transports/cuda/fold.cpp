// Folding chains of descriptors.
#include "transports/cuda/table.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

namespace coracle::internals::cuda {
namespace {

/// Fewer rows at one distance are as well copied one by one, or in a batch with others.
constexpr std::size_t kRowsMin = 4;

struct Range {
  std::uintptr_t begin;
  std::uintptr_t end;
};

/// From the first to behind the last byte of a block-stride operand.
Range range_of(const std::byte* first, const std::byte* last, std::uint64_t block_bytes) noexcept {
  const auto a = reinterpret_cast<std::uintptr_t>(first);
  const auto b = reinterpret_cast<std::uintptr_t>(last);
  return {std::min(a, b), std::max(a, b) + block_bytes};
}

/// Whether no block is written that another reads or writes.
bool independent(tca::Chain chain) {
  std::vector<Range> targets;
  targets.reserve(chain.size());
  for (const tca::Descriptor& each : chain)
    targets.push_back(range_of(each.target, each.target_block(each.count - 1), each.block_bytes));
  std::sort(targets.begin(), targets.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (const tca::Descriptor& each : chain)
    if (each.count > 1 && std::abs(each.target_stride) < static_cast<std::int64_t>(each.block_bytes)) return false;
  for (std::size_t i = 1; i < targets.size(); ++i)
    if (targets[i].begin < targets[i - 1].end) return false;
  return std::all_of(chain.begin(), chain.end(), [&](const tca::Descriptor& each) {
    const Range source = range_of(each.source, each.source_block(each.count - 1), each.block_bytes);
    // The first that ends behind the source's begin.
    const auto at = std::upper_bound(targets.begin(), targets.end(), source.begin,
                                     [](std::uintptr_t begin, const Range& target) { return begin < target.end; });
    return at == targets.end() || at->begin >= source.end;
  });
}

/// Whether rows can be so far apart on both sides, forwards and without overlap.
bool fits(std::int64_t source, std::int64_t target, std::size_t width, std::size_t pitch_max) noexcept {
  const auto least = static_cast<std::int64_t>(width);
  const std::int64_t most = pitch_max > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(pitch_max);
  return source >= least && target >= least && source <= most && target <= most;
}

Box line(const std::byte* source, std::byte* target, std::size_t bytes) noexcept {
  Box box{.source = source, .target = target, .width = bytes};
  box.source_pitch = box.target_pitch = bytes;
  return box;
}

void append(std::vector<Box>& boxes, const tca::Descriptor& each, std::size_t pitch_max, bool merge) {
  const auto block = static_cast<std::int64_t>(each.block_bytes);
  if (each.count == 1 || (each.source_stride == block && each.target_stride == block)) {
    Box* const before = merge && !boxes.empty() && boxes.back().contiguous() ? &boxes.back() : nullptr;
    if (before != nullptr && before->source + before->width == each.source &&
        before->target + before->width == each.target)
      *before = line(before->source, before->target, before->width + each.bytes());
    else
      boxes.push_back(line(each.source, each.target, each.bytes()));
  } else if (fits(each.source_stride, each.target_stride, each.block_bytes, pitch_max)) {
    Box box = line(each.source, each.target, each.block_bytes);
    box.rows = each.count;
    box.source_pitch = static_cast<std::size_t>(each.source_stride);
    box.target_pitch = static_cast<std::size_t>(each.target_stride);
    boxes.push_back(box);
  } else {
    for (std::uint64_t block_index = 0; block_index < each.count; ++block_index)
      boxes.push_back(line(each.source_block(block_index), each.target_block(block_index), each.block_bytes));
  }
}

bool same_shape(const Box& a, const Box& b) noexcept {
  return a.width == b.width && a.rows == b.rows && a.slices == 1 && b.slices == 1 &&
         (a.rows == 1 || (a.source_pitch == b.source_pitch && a.target_pitch == b.target_pitch));
}

/// How many of `boxes`, from the first on, have one shape and lie at one distance.
std::size_t run_length(std::span<const Box> boxes) noexcept {
  if (boxes.size() < 2) return boxes.size();
  const std::ptrdiff_t source = boxes[1].source - boxes[0].source;
  const std::ptrdiff_t target = boxes[1].target - boxes[0].target;
  std::size_t length = 1;
  while (length < boxes.size() && same_shape(boxes[0], boxes[length]) &&
         boxes[length].source - boxes[length - 1].source == source &&
         boxes[length].target - boxes[length - 1].target == target)
    ++length;
  return length;
}

/// `run` as one box, or one of no rows where it can't be.
Box joined(std::span<const Box> run, std::size_t pitch_max) noexcept {
  Box box = run[0];
  const std::int64_t source = run[1].source - run[0].source;
  const std::int64_t target = run[1].target - run[0].target;
  if (box.rows == 1) {
    if (run.size() < kRowsMin || !fits(source, target, box.width, pitch_max)) return {.rows = 0};
    box.rows = run.size();
    box.source_pitch = static_cast<std::size_t>(source);
    box.target_pitch = static_cast<std::size_t>(target);
    return box;
  }
  // A slice's distance is told in rows.
  if (source <= 0 || target <= 0) return {.rows = 0};
  const auto source_bytes = static_cast<std::size_t>(source);
  const auto target_bytes = static_cast<std::size_t>(target);
  if (source_bytes % box.source_pitch != 0 || target_bytes % box.target_pitch != 0 ||
      source_bytes / box.source_pitch < box.rows || target_bytes / box.target_pitch < box.rows)
    return {.rows = 0};
  box.slices = run.size();
  box.source_slice_rows = source_bytes / box.source_pitch;
  box.target_slice_rows = target_bytes / box.target_pitch;
  return box;
}

std::vector<Box> join_runs(std::span<const Box> boxes, std::size_t pitch_max) {
  std::vector<Box> result;
  while (!boxes.empty()) {
    const std::size_t length = run_length(boxes);
    const Box box = length > 1 ? joined(boxes.first(length), pitch_max) : Box{.rows = 0};
    if (box.rows != 0) {
      result.push_back(box);
      boxes = boxes.subspan(length);
    } else {
      // The last of them may begin another run.
      const std::size_t alone = std::max<std::size_t>(length, 2) - 1;
      result.insert(result.end(), boxes.begin(), boxes.begin() + static_cast<std::ptrdiff_t>(alone));
      boxes = boxes.subspan(alone);
    }
  }
  return result;
}

}  // namespace

Folded fold(tca::Chain chain, std::size_t pitch_max) {
  Folded folded;
  folded.flag = chain.size() > 1 && chain.back().count == 1 && chain.back().bytes() <= kFlagBytes;
  const tca::Chain body = folded.flag ? chain.first(chain.size() - 1) : chain;
  folded.independent = independent(chain);
  for (const tca::Descriptor& each : body) append(folded.boxes, each, pitch_max, folded.independent);
  if (folded.independent) {
    folded.boxes = join_runs(folded.boxes, pitch_max);  // rows
    folded.boxes = join_runs(folded.boxes, pitch_max);  // slices
  }
  if (folded.flag) append(folded.boxes, chain.back(), pitch_max, false);
  return folded;
}

}  // namespace coracle::internals::cuda
