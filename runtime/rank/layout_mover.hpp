// LayoutMover: what moves layouts to and from memory of peers that loads and stores do not reach.
#pragma once

#include <cstdint>

#include "runtime/core/task.hpp"
#include "runtime/job/remote.hpp"
#include "runtime/layout/copy.hpp"

namespace coracle::internals {

/// Of one rank. Its thread only.
class LayoutMover {
 public:
  /// Both sides have `bytes`. The peer must exist. Done when the data is in the peer's memory, or in ours. What is
  /// referred to must live until then. Throws Error (out_of_segment: the peer does not have that memory; peer_lost).
  virtual Task<> put(ScatteredSource source, RemoteAddress origin, const Layout& layout, std::uint64_t count,
                     std::uint64_t bytes) = 0;
  virtual Task<> get(RemoteAddress origin, const Layout& layout, std::uint64_t count, ScatteredTarget target,
                     std::uint64_t bytes) = 0;

 protected:
  ~LayoutMover() = default;
};

}  // namespace coracle::internals
