// Reach: which memory the copy engines get at, and on which device it lies: what they were told of, and beyond that
// what the driver knows.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "transports/cuda/memory.hpp"

namespace coracle::internals::cuda {

/// Where bytes lie, for a copy.
struct MemoryLocation {
  MemoryKind kind = MemoryKind::unknown;
  int device = -1;
  bool reached() const noexcept { return kind != MemoryKind::unknown; }
};

/// One thread.
class Reach {
 public:
  explicit Reach(MemoryApi& api) noexcept : api_(api) {}

  /// Host memory, such as a rank's segment, that is pinned when it is first needed, and for as long as this lives. It
  /// must outlive this. Pieces must not overlap.
  void add_host(std::span<std::byte> memory);
  /// Device memory that is known to lie there.
  void add(std::span<std::byte> memory, int device);

  /// Leaves what was pinned so until the process ends: a device may still write there.
  void abandon() noexcept;

  /// Where all these bytes lie; unknown where they are nowhere, or in two places. Pins what was added.
  MemoryLocation location_of(const std::byte* begin, std::size_t bytes) noexcept;
  /// Why host memory could not be pinned, or "".
  const std::string& refusal() const noexcept { return refusal_; }

 private:
  struct Range {
    std::size_t bytes;
    MemoryLocation location;
    bool waits = false;    // to be pinned
    bool refused = false;  // the driver wouldn't
    Registration registration;
  };

  void pin(const std::byte* begin, Range& range) noexcept;

  MemoryApi& api_;
  std::map<const std::byte*, Range> ranges_;
  std::string refusal_;
};

}  // namespace coracle::internals::cuda
