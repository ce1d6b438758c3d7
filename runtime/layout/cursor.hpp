// Cursors walk over the bytes of a layout in packed order, from any position on, and hand out groups of blocks for the
// kernels to loop over rather than single blocks.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/layout/layout.hpp"

namespace coracle::internals::layouts {

/// Blocks that follow each other in packed order: `rows` rows of `count` blocks. Of unequal length when `starts` is
/// set: then block i of a row has starts[i + 1] - starts[i] bytes.
struct Group {
  std::int64_t offset = 0;        ///< Of the first row, from the origin.
  std::uint64_t block_bytes = 0;  ///< Of each block; of the first one when they are unequal.
  std::int64_t count = 0;         ///< At least 1.
  std::int64_t stride = 0;        ///< Between the blocks of a row, unless `offsets` is set.
  std::int64_t rows = 1;          ///< At least 1.
  std::int64_t row_stride = 0;
  const std::int64_t* offsets = nullptr;  ///< Of the blocks, from the beginning of their row.
  const std::int32_t* narrow = nullptr;   ///< The same as `offsets`, or null.
  const std::uint64_t* starts = nullptr;
};

/// Whether `count` repetitions of a layout, at least 1, are one group; then gives it. For who needs no cursor.
bool is_one_group(const Layout& layout, std::uint64_t count, Group& group) noexcept;

/// Allocates nothing; may not outlive the layout.
class Cursor {
 public:
  /// At byte `position` of the packed order of `count` repetitions, at most at the end. The layout's footprint for this
  /// count must fit (see Layout::footprint). Finds it in as many steps as the layout has levels: by division, or by
  /// halving where parts are unequal.
  Cursor(const Layout& layout, std::uint64_t count, std::uint64_t position);

  bool at_end() const noexcept { return group().count == 0; }
  /// What comes next; count is 0 at the end. After an advance into a block its rest is a group of its own.
  const Group& group() const noexcept { return at_leaf_start_ ? leaf_ : rest_; }
  /// Over this many whole blocks of group().
  void advance_blocks(std::int64_t blocks) noexcept;
  /// Over all of group().
  void advance_group() noexcept;
  /// By at most the first block of group().
  void advance_bytes(std::uint64_t bytes) noexcept;

 private:
  /// A node on the way to where the cursor is. The outermost stands for the repetitions and has no node.
  struct Frame {
    const LayoutNode* node;
    std::int64_t base;
    std::int64_t index;
  };

  void start_repeated(std::uint64_t position) noexcept;
  void descend(const LayoutNode* node, std::int64_t base, std::uint64_t position) noexcept;
  void enter_leaf(std::uint64_t position) noexcept;
  void leave_leaf() noexcept;
  void set_rest() noexcept;

  const LayoutNode* root_ = nullptr;
  std::int64_t first_ = 0;
  std::int64_t repetitions_ = 1;
  std::int64_t extent_ = 0;
  // The whole of what the innermost node describes, and what remains of it once anything is behind: not before, since
  // copying what has just been written field by field stalls the processor.
  Group leaf_;
  Group rest_;
  bool at_leaf_start_ = true;
  std::int64_t row_ = 0;
  std::int64_t column_ = 0;
  std::uint64_t byte_ = 0;  // Of the block at row_ and column_, already behind.
  int depth_ = 0;
  std::array<Frame, kDepthMax + 1> frames_;
};

}  // namespace coracle::internals::layouts
