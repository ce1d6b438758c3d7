// Shortage: errors by which the system says that it has nothing left to make a descriptor or socket of, at the moment.
#pragma once

#include <string>

namespace coracle::internals {

/// Whether `error` (an errno) tells of a lack of descriptors, ports or memory: on this side, so that it says nothing
/// about a peer, and may pass.
bool is_shortage(int error) noexcept;

/// What is used up and how to get more of it, as part of a sentence; "" for other errors, and for a lack of memory.
std::string shortage_remedy(int error);

}  // namespace coracle::internals
