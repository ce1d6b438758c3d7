// Checks of kernel, architecture, build and limits.
#include "runtime/pvas/support.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <cstdio>

#include "runtime/pvas/partition_layout.hpp"
#include "runtime/pvas/self_test.hpp"

namespace coracle::internals::pvas {
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
  if (::getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    return refusal("RLIMIT_DATA limits the data of an address space, and so of all tasks together",
                   "ulimit -d unlimited");
  }
  return {true, Mode::rlimit, "", ""};
}

Arena usable_arena() {
  // By default far above. With an unlimited or huge stack the kernel begins lower and goes down; with setarch -L it
  // goes up.
  const Arena whole{kArenaBegin, kTasksEnd};
  const auto place = [] {
    return ::mmap(nullptr, kGiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  };
  void* const first = place();
  if (first == MAP_FAILED) return whole;
  void* const second = place();
  if (second != MAP_FAILED) ::munmap(second, kGiB);
  ::munmap(first, kGiB);
  const auto address = reinterpret_cast<std::uint64_t>(first);
  if (address < whole.begin || address >= whole.end) return whole;
  // What the process has mapped so far lies near, on the other side; each slot is looked at once more before it is
  // used.
  const std::uint64_t margin = 1024 * kGiB;
  const std::uint64_t steps = (address - whole.begin) / kPartitionBytesMax;
  const std::uint64_t near_place = whole.begin + steps * kPartitionBytesMax;
  if (second > first) return {whole.begin, near_place > whole.begin + margin ? near_place - margin : whole.begin};
  return {near_place + margin < whole.end ? near_place + margin : whole.end, whole.end};
}

ModeChoice choose_mode(SiteCache& sites, bool force_rlimit) {
  if (force_rlimit) return {Mode::rlimit, "asked for by the caller"};
  const std::string failure = self_test(sites);
  if (failure.empty()) return {Mode::patched, "every mapping of a task lies in its own partition"};
  return {Mode::rlimit, failure};
}

}  // namespace coracle::internals::pvas
