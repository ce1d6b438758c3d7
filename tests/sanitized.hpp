// Whether this program runs under a sanitizer: everything takes some times as long then, so that tests that go through
// thousands of cases take a sample of them.
#pragma once

namespace coracle::internals::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace coracle::internals::test
