// The block at a fixed place in each partition through which root, child and hook talk. Plain data: it is read before
// the task has a libc, and a fork of the task gets a copy that goes on working.
#pragma once

#include <cstdint>

#include "runtime/pvas/partition_layout.hpp"
#include "runtime/pvas/range_table.hpp"
#include "runtime/pvas/zone.hpp"

namespace coracle::internals::pvas {

struct SiteCache;

/// What the child does between clone and its first instruction. The arrays lie on the task's stack, above argc.
struct StartOrders {
  std::uint64_t entry = 0;
  std::uint64_t stack_pointer = 0;
  std::uint64_t signal_mask = 0;
  std::uint64_t data_limit[2] = {0, 0};  ///< RLIMIT_DATA, soft and hard, to set.
  const int* keep_fds = nullptr;
  std::uint64_t keep_count = 0;
  const void* cpu_mask = nullptr;
  std::uint64_t cpu_mask_bytes = 0;
  std::uint64_t* group_table = nullptr;  ///< See SpawnOptions.
  unsigned int open_fds = 0;             ///< Open descriptors from 3 upwards, if known; see OpenFds.
  unsigned int fd_limit = 0;
  int standard_fds[3] = {-1, -1, -1};
  int root_pid = 0;
  int parent_death_signal = 0;
  bool new_process_group = false;
  bool core_dumps = false;
  bool reset_handlers = false;  ///< The kernel has no CLONE_CLEAR_SIGHAND.
  char name[16] = {};
};

/// One rewritten system-call site; its stub has the same index.
struct Redirect {
  std::uint64_t resume = 0;  ///< Behind the `syscall` instruction.
  std::uint64_t number = 0;  ///< Of the system call.
};

inline constexpr unsigned kRedirectsMax = 120;

struct Control {
  PartitionLayout layout;
  StartOrders start;

  // From here on: the hook's. All zero in a task whose system calls are not redirected.
  std::uint64_t hook_entry = 0;  ///< Where the stubs jump.
  SiteCache* sites = nullptr;    ///< The root's; shared by all tasks.
  Redirect redirects[kRedirectsMax] = {};
  std::uint64_t redirect_count = 0;  ///< Taken so far, by fetch_add; may pass the end.

  Zone near_zone;       ///< 4 KiB granules.
  Zone far_zone;        ///< 2 MiB granules.
  RangeTable outside;   ///< Mappings that the kernel would place only itself; unmapped one by one at the end.
  RangeTable attached;  ///< System V segments inside the partition: shmdt says no size.
  std::uint64_t program_slot = 0;        ///< Place kept for the program beside its dynamic linker, 0 once taken.
  std::uint64_t program_slot_bytes = 0;  ///< Exactly what the dynamic linker will ask for.
  std::uint64_t brk_begin = 0;
  std::uint64_t brk_now = 0;
  std::uint64_t inherited_data_limit[2] = {0, 0};  ///< Restored when the private brk has shown that it is in use.
  std::uint32_t huge_pages = 0;                    ///< Non-zero: large mappings of data are advised to have some.
  std::uint32_t settled = 0;  ///< Non-zero once the program's libc allocates through the private brk.
};

/// Where the bitmaps begin, counted from the control block: in its own page, since most tasks touch a few words only.
inline constexpr std::uint64_t kBitmapsOffset = 3584;
static_assert(sizeof(Control) <= kBitmapsOffset);

// The page of short code pieces in each partition to which rewritten system-call sites jump. A stub steps over the red
// zone, calls the hook and goes back; all its variable parts are data in the control block, so the page is the same
// everywhere and never written again.

inline constexpr std::uint64_t kStubBytes = 32;
inline constexpr std::uint64_t kStubsOffset = 64;
/// Of the address that a stub's call leaves, from the stub's start.
inline constexpr std::uint64_t kStubReturnOffset = 10;
static_assert(kStubsOffset + kRedirectsMax * kStubBytes <= kPageBytes);

inline std::uint64_t stub_address(const PartitionLayout& layout, std::uint64_t index) noexcept {
  return layout.stubs_begin() + kStubsOffset + index * kStubBytes;
}

/// The stubs' common target, in the root's text: saves all registers but rax, rcx and r11, as the kernel does.
extern "C" void coracle_pvas_hook_entry() noexcept;

/// The birth of a task, and the way from there to the program's first instruction. Clones the calling thread into a
/// task that shares its memory and nothing else, and lets it carry out `control.start` on its own stack. Returns its
/// pid, or -errno. The caller has blocked all signals. Only the task's partition is touched by the child: it uses
/// neither libc nor TLS.
long start_task(Control& control) noexcept;

}  // namespace coracle::internals::pvas
