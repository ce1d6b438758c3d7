// Transfers between scattered bytes of a paged segment and scattered local memory, straight from page to layout.
#pragma once

#include <cstdint>

#include "runtime/core/task.hpp"
#include "runtime/layout/layout.hpp"

namespace coracle::internals::storage {

class PageCache;

/// What goes between `count` repetitions of `layout` at `offset` of the segment and local memory; all that it refers to
/// must live until it has finished.
struct ScatteredPages {
  PageCache& cache;
  bool writing;  ///< Into the segment; then `local` is only read.
  std::uint64_t offset;
  const Layout& layout;
  std::uint64_t count;
  ScatteredTarget local;
};

/// Throws Error (out_of_segment; bad_input when the sides differ in bytes; what the pages' homes report).
Task<> copy_scattered(ScatteredPages what);

}  // namespace coracle::internals::storage
