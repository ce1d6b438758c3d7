// Checks of kernel, architecture, build and limits.
#include "runtime/pvas/support.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <cstdio>
#include <memory>

#include "runtime/pvas/layout.hpp"
#include "runtime/pvas/self_test.hpp"

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

Support check_machine() {
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
  return {true, Mode::rlimit, "", ""};
}

std::uint64_t tasks_end() {
  // With an unlimited stack (or setarch -L) the kernel places mappings upwards from a third of the address space.
  void* const place = ::mmap(nullptr, kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) return kTasksEnd;
  ::munmap(place, kPageBytes);
  const std::uint64_t upwards_from = 0x2aaaaaaaa000 / kGiB * kGiB;
  const auto address = reinterpret_cast<std::uint64_t>(place);
  return address >= upwards_from && address < kArenaEnd ? upwards_from : kTasksEnd;
}

ModeChoice choose_mode(SiteCache& sites, bool force_rlimit) {
  if (force_rlimit) return {Mode::rlimit, "asked for by the caller"};
  const std::string failure = self_test(sites);
  if (failure.empty()) return {Mode::patched, "every mapping of a task lies in its own partition"};
  return {Mode::rlimit, failure};
}

Support probe() {
  Support support = check_machine();
  if (!support.available) return support;
  const auto sites = std::make_unique<SiteCache>();
  const ModeChoice choice = choose_mode(*sites, false);
  support.mode = choice.mode;
  support.reason = choice.reason;
  if (choice.mode == Mode::rlimit)
    support.remedy = "allow changed program text (SELinux: execmod, execmem) for this program";
  return support;
}

}  // namespace coracle::pvas
