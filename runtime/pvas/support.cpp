// What the machine must have for a shared address space, checked before anything is mapped.
#include <sys/resource.h>
#include <sys/utsname.h>

#include <cstdio>

#include "runtime/pvas/address_space.hpp"

namespace coracle::pvas {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

#if defined(__x86_64__)
constexpr bool kArchitectureKnown = true;
#else
constexpr bool kArchitectureKnown = false;
#endif

bool kernel_at_least(int major_wanted, int minor_wanted) {
  utsname names{};
  int major = 0;
  int minor = 0;
  if (::uname(&names) != 0 || std::sscanf(names.release, "%d.%d", &major, &minor) != 2) return false;
  return major > major_wanted || (major == major_wanted && minor >= minor_wanted);
}

Support refusal(const char* reason, const char* remedy) {
  return {false, Mode::rlimit, reason, remedy};
}

}  // namespace

Support probe() {
  if (!kArchitectureKnown) return refusal("it is written for x86-64 only", "use --place process");
  if (kSanitized) {
    return refusal("this program is built with a sanitizer, whose shadow memory belongs to one process",
                   "use --place process or --place thread, or build without sanitizers");
  }
  if (!kernel_at_least(5, 16)) {
    return refusal("the kernel is older than 5.16 and ends every task when one crashes",
                   "use a newer kernel, or --place process");
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    return refusal("RLIMIT_AS limits the address space, which all tasks share", "ulimit -v unlimited");
  }
  return {true, Mode::rlimit, "system-call sites are not redirected", ""};
}

}  // namespace coracle::pvas
