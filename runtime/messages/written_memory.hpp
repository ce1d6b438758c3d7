// WrittenMemory: that what a peer is about to read has pages of its own, though its owner may never have written it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/core/mapping_query.hpp"

namespace coracle::internals {

/// Of a rank whose peers share its address space. Where nobody has written a page yet, whoever reads it makes the
/// kernel map its page of zeros there, and the first write then has the processors of all ranks forget that: some
/// microseconds each, on a virtual machine 20, which a process alone does not pay. Programs send such memory: buffers
/// of which they fill a part, and benchmarks all the time (HPCC's HPL took 1.7 times as long behind its tests of
/// bandwidth). Only of what malloc() and its like give: pages of a file are not written to for that. It takes Linux
/// 6.11, which can be asked what a mapping is.
class WrittenMemory {
 public:
  /// Has the kernel make pages of its own for `memory`, which a peer is to read, unless this has looked at it before,
  /// or sees that it has been written. Memory that is given back to the kernel and comes again is not looked at again.
  void prepare(std::span<const std::byte> memory) noexcept {
    auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uintptr_t end = begin + memory.size();
    while (begin < end) {
      const std::uintptr_t part_end = std::min(end, (begin / kBlockBytes + 1) * kBlockBytes);
      Part& known = known_[begin / kBlockBytes % known_.size()];
      if (begin < known.begin || part_end > known.end) [[unlikely]]
        look(known, {begin, part_end});
      begin = part_end;
    }
  }

 private:
  /// Of one block.
  struct Part {
    std::uintptr_t begin = ~std::uintptr_t{0};
    std::uintptr_t end = 0;
  };
  static constexpr std::uintptr_t kBlockBytes = 64 * 1024;

  void look(Part& known, Part part) noexcept;
  void make_pages(Part part) noexcept;

  std::array<Part, 512> known_{};
  MappingQuery mappings_;
};

}  // namespace coracle::internals
