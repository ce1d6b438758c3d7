// Checks of kernel, architecture, build and limits; and the start-up test of redirected system calls, in a partition of
// its own.
#include "runtime/pvas/support.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "runtime/core/error.hpp"
#include "runtime/pvas/partition.hpp"
#include "runtime/pvas/partition_layout.hpp"
#include "runtime/pvas/places.hpp"
#include "runtime/pvas/sites.hpp"

namespace coracle::internals::pvas {
namespace {

// mmap with the kernel's fourth argument still in the C ABI's register: the form with an instruction in between.
constexpr std::array<unsigned char, 11> kMapCode{0xb8, SYS_mmap, 0, 0, 0, 0x49, 0x89, 0xca, 0x0f, 0x05, 0xc3};
constexpr std::array<unsigned char, 8> kUnmapCode{0xb8, SYS_munmap, 0, 0, 0, 0x0f, 0x05, 0xc3};
constexpr std::uint64_t kUnmapOffset = 64;

using MapFunction = void* (*)(void*, std::size_t, int, int, int, long);
using UnmapFunction = int (*)(void*, std::size_t);

/// Calls the two functions at `code`, which have been redirected.
std::string try_calls(const Control& control, unsigned char* code) {
  const auto map_function = reinterpret_cast<MapFunction>(code);
  const auto unmap_function = reinterpret_cast<UnmapFunction>(code + kUnmapOffset);
  void* const memory = map_function(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto address = reinterpret_cast<std::uint64_t>(memory);
  if (!in_own_partition(control, address, address + kPageBytes)) {
    return fmt::format("a redirected mmap returned {}, outside its partition", memory);
  }
  std::memset(memory, 1, kPageBytes);
  if (unmap_function(memory, kPageBytes) != 0) return "a redirected munmap failed";
  return {};
}

std::string test_own_code(Control& control) {
  const std::uint64_t place = control.layout.near_begin();
  map_exactly(place, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, "code to test");
  note_used(control, place, place + kPageBytes);
  auto* code = reinterpret_cast<unsigned char*>(place);
  std::memcpy(code, kMapCode.data(), kMapCode.size());
  std::memcpy(code + kUnmapOffset, kUnmapCode.data(), kUnmapCode.size());
  SiteList list;
  find_sites(code, kPageBytes, list);
  if (list.count != 2 || redirect_sites(control, place, list) != 2) return "test code could not be redirected";
  if (::mprotect(code, kPageBytes, PROT_READ | PROT_EXEC) != 0) {
    return fmt::format("code may not be changed here: {} (a security policy?)", std::strerror(errno));
  }
  return try_calls(control, code);
}

/// `address` lies in the file to test: its text must ask for memory in forms that we know, and allow to be changed.
std::string test_file_of(Control& control, const void* address, const char* what) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  const int fd = ::open(info.dli_fname, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};  // A program linked statically: there is no such file, and its tasks bring their own.
  const ProgramFile file(info.dli_fname, fd, {});
  for (const ElfSegment& segment : read_elf(fd, file.path).segments) {
    if ((segment.protection & PROT_EXEC) == 0) continue;
    const std::uint64_t bytes = page_up(segment.vaddr % kPageBytes + segment.file_bytes);
    const std::uint64_t place = claim(control, bytes, true);
    const std::uint64_t offset = page_down(segment.file_offset);
    map_exactly(place, bytes, segment.protection, MAP_PRIVATE, fd, offset, what);
    const long done = redirect_mapping(control, place, bytes, segment.protection, fd, offset);
    if (done < 0)
      return fmt::format("the text of {} may not be changed: {}", file.path, std::strerror(static_cast<int>(-done)));
    if (done < 3) return fmt::format("{} asks for memory in a form that is not known here", file.path);
  }
  return {};
}

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

/// Whether system-call sites can be redirected on this machine: security policies may forbid it, and a libc may ask the
/// kernel in a form that we don't know. Redirects and calls a site of its own, and redirects a copy of the dynamic
/// linker and the libc that this process runs with; what is learned of them stays in `sites`. Returns why it does not
/// work, or nothing when it does. Leaves no mappings.
std::string self_test(SiteCache& sites) {
  try {
    Partition partition({kTasksEnd, kArenaEnd, {}}, &sites);
    partition.prepare_control(kPageBytes);
    std::string failure = test_own_code(partition.control());
    if (failure.empty())
      failure = test_file_of(partition.control(), reinterpret_cast<void*>(&::mmap), "a copy of libc");
    if (failure.empty()) {
      const void* linker = ::dlsym(RTLD_DEFAULT, "__tls_get_addr");
      if (linker != nullptr) failure = test_file_of(partition.control(), linker, "a copy of the dynamic linker");
    }
    return failure;
  } catch (const Error& error) {
    return error.what();
  }
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
