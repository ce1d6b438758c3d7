// The 16 communication patterns of DDTBench (Schneider, Gerstenberger, Hoefler: "Micro-applications for communication
// data access patterns and MPI datatypes", EuroMPI 2012), each at all its sizes: as layouts, and as loops written by
// hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/layout/layout.hpp"

namespace coracle::internals::bench {

/// What one side sends from or receives into: `count` of `layout` at the beginning of a buffer of so many bytes.
struct DdtSide {
  Layout layout;
  std::uint64_t count = 1;
  std::size_t buffer_bytes = 0;
};

struct DdtPattern {
  std::string name;  ///< As DDTBench has it: "NAS_MG_x".
  std::string size;  ///< "34x18x18".
  DdtSide send;
  DdtSide receive;
  std::uint64_t bytes = 0;  ///< Packed.
  /// What people write without layouts, with the buffers of the sides.
  std::function<void(const std::byte* send_buffer, std::byte* packed)> pack_by_hand;
  std::function<void(const std::byte* packed, std::byte* receive_buffer)> unpack_by_hand;
};

/// Of --quick: larger buffers take longer to be made than to be sent.
constexpr std::size_t kQuickBytesMax = 32 << 20;

/// All of them. The index lists are the same in every run.
std::vector<DdtPattern> ddt_patterns();

}  // namespace coracle::internals::bench
