// Folding: a chain of descriptors as few copies as the engines can do: rows of one length at one distance become a
// 2-D copy, such copies at one distance a 3-D copy.
#pragma once

#include <cstddef>
#include <vector>

#include "transports/cuda/api.hpp"
#include "transports/tca/descriptor.hpp"

namespace coracle::internals::cuda {

struct Folded {
  std::vector<Box> boxes;
  /// Whether the boxes may be copied in any order. The `last` never may: it comes after all others.
  bool independent = false;
  /// The last box is a flag: the chain's last descriptor, by itself.
  bool flag = false;
};

/// A last descriptor of at most so many bytes is taken for a flag, by which somebody sees that the others are done.
inline constexpr std::size_t kFlagBytes = 64;

/// Descriptors whose blocks may overlap those of others stay in their order, each by itself. `pitch_max`: the
/// greatest distance of rows that the device can do.
Folded fold(tca::Chain chain, std::size_t pitch_max);

}  // namespace coracle::internals::cuda
