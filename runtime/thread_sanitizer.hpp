// What ThreadSanitizer can't see: that ranks of one process are ordered by what travels through the network. Nothing
// without it.
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

namespace coracle {

#ifdef CORACLE_THREAD_SANITIZER
inline char network_order = 0;  // only its address counts
/// All that this thread has done happens before what follows any later received_from_network() of this process. That is
/// more than is true, so some races go unseen; without it most are false.
inline void sent_to_network() noexcept {
  __tsan_release(&network_order);
}
inline void received_from_network() noexcept {
  __tsan_acquire(&network_order);
}
#else
inline void sent_to_network() noexcept {}
inline void received_from_network() noexcept {}
#endif

}  // namespace coracle
