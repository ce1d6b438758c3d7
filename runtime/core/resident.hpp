// Memory whose pages the kernel makes before they are touched.
#pragma once

#include <cstddef>

namespace coracle::internals {

/// Has the kernel make all whole pages of [begin, begin + bytes), writable and mapped for this process, in one call:
/// each would cost a fault of its own when it is first touched. A kernel before Linux 5.14 makes them as they are
/// touched.
void make_resident(std::byte* begin, std::size_t bytes) noexcept;

enum class Touch { read, write };

/// Has the processor read or write each page of [begin, begin + bytes), whose contents stay as they are. A virtual
/// machine without nested page tables makes its own of each page at the first access, however the kernel has made it:
/// 10 to 30 us a page were measured.
void touch_pages(std::byte* begin, std::size_t bytes, Touch how) noexcept;

}  // namespace coracle::internals
