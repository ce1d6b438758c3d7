// Memory whose pages the kernel makes before they are touched.
#pragma once

#include <cstddef>

namespace coracle::internals {

/// Has the kernel make all whole pages of [begin, begin + bytes), writable and mapped for this process, in one call:
/// each would cost a fault of its own when it is first touched. A kernel before Linux 5.14 makes them as they are
/// touched.
void make_resident(std::byte* begin, std::size_t bytes) noexcept;

}  // namespace coracle::internals
