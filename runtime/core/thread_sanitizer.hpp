// What ThreadSanitizer can't see: that ranks of one process are ordered by what travels through the kernel, out over
// the network and back, and that the kernel gives the memory of one's ring to another. Nothing without it.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define CORACLE_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CORACLE_THREAD_SANITIZER 1
#endif
#endif

#ifdef CORACLE_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace coracle::internals {

#ifdef CORACLE_THREAD_SANITIZER
inline char kernel_order = 0;  // only its address counts
/// All that this thread has done happens before what follows any later taken_from_kernel() of this process. That is
/// more than is true, so some races go unseen; without it most are false.
inline void given_to_kernel() noexcept {
  __tsan_release(&kernel_order);
}
inline void taken_from_kernel() noexcept {
  __tsan_acquire(&kernel_order);
}
#else
inline void given_to_kernel() noexcept {}
inline void taken_from_kernel() noexcept {}
#endif

}  // namespace coracle::internals
