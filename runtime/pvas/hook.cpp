// What a task's mmap, munmap, mremap, brk, shmat and shmdt do: each mapping gets a place in the task's own partition,
// so that one munmap takes it all back. Runs on the task's threads, in signal handlers and in forked children: no libc,
// no TLS, no locks, no vector registers (see meson.build).
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>

#include "runtime/pvas/control.hpp"
#include "runtime/pvas/places.hpp"
#include "runtime/pvas/raw_syscall.hpp"
#include "runtime/pvas/sites.hpp"

namespace coracle::internals::pvas {
namespace {

constexpr std::uint64_t kNone = Zone::kNone;

/// The registers of a system call, as the stub saved them: rdi, rsi, rdx, r10, r8, r9.
struct Registers {
  std::uint64_t values[6];
};

struct MapCall {
  std::uint64_t address, bytes, protection, flags, fd, offset;

  bool is_private_file() const noexcept { return static_cast<int>(fd) >= 0 && (flags & MAP_TYPE) == MAP_PRIVATE; }
};

long map(const MapCall& call, std::uint64_t address, std::uint64_t extra_flags) noexcept {
  return raw_syscall(SYS_mmap, address, call.bytes, call.protection, call.flags | extra_flags, call.fd, call.offset);
}

/// Wherever the kernel likes; remembered, so that the root can take it back.
long map_outside(Control& control, const MapCall& call) noexcept {
  const long got = map(call, call.address, 0);
  if (failed(got)) return got;
  const auto begin = static_cast<std::uint64_t>(got);
  if (!touches_arena(control, begin, begin + call.bytes)) control.outside.add(begin, begin + call.bytes);
  return got;
}

/// The dynamic linker's first mapping of a file of just the program's size: it goes where the root kept room for it.
long map_program(Control& control, const MapCall& call) noexcept {
  if (!call.is_private_file() || page_up(call.bytes) != control.program_slot_bytes) return -EAGAIN;
  const std::uint64_t place = std::atomic_ref(control.program_slot).exchange(0, std::memory_order_relaxed);
  return place != 0 ? map(call, place, kPlaced) : -EAGAIN;
}

bool is_data(const MapCall& call) noexcept {
  constexpr std::uint64_t kKind = MAP_TYPE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK | MAP_GROWSDOWN | MAP_HUGETLB;
  return (call.flags & kKind) == (MAP_PRIVATE | MAP_ANONYMOUS) && call.protection == (PROT_READ | PROT_WRITE);
}

/// Smaller data keeps small pages: a second-level TLB reaches that far, and an array's end that is hardly touched
/// would cost a larger part of it.
constexpr std::uint64_t kAdvisedBytesMin = 4 * kHugeBytes;

/// Large data gets huge pages where the machine has some: a copy of single elements from many small pages
/// is held up by looks into page tables. Not so reservations and stacks, of which most is never touched.
void advise_huge(const Control& control, std::uint64_t place, std::uint64_t bytes) noexcept {
  if (control.huge_pages == 0 || page_up(bytes) < kAdvisedBytesMin) return;
  raw_syscall(SYS_madvise, place, page_up(bytes), MADV_HUGEPAGE);  // Refused by a kernel without: then small ones.
}

long map_somewhere(Control& control, const MapCall& call) noexcept {
  if ((call.flags & MAP_32BIT) != 0 || call.bytes == 0) return map_outside(control, call);
  long got = map_program(control, call);
  if (!failed(got)) return got;
  if (call.address != 0 && in_own_partition(control, call.address, call.address + call.bytes)) {
    const std::uint64_t place = page_down(call.address);
    got = map(call, place, kPlaced);
    if (!failed(got)) {
      note_used(control, place, place + page_up(call.bytes));
      return got;
    }
  }
  for (int i = 0; i < kTriesMax; ++i) {
    const std::uint64_t place = claim(control, call.bytes, call.is_private_file());
    if (place == kNone) break;
    got = map(call, place, kPlaced);
    if (!failed(got)) {
      if (is_data(call)) advise_huge(control, place, call.bytes);
      return got;
    }
    if (got == -EEXIST) continue;  // Something that came by another way; its granules stay marked.
    note_free(control, place, place + page_up(call.bytes));
    // Rings of io_uring refuse every address, MAP_SHARED_VALIDATE the flag, huge pages a wrong alignment.
    const bool may_differ = static_cast<int>(call.fd) >= 0 || (call.flags & MAP_HUGETLB) != 0;
    if (!may_differ || (got != -EINVAL && got != -EOPNOTSUPP)) return got;
    break;
  }
  MapCall anywhere = call;
  anywhere.address = 0;
  return map_outside(control, anywhere);
}

long hook_mmap(Control& control, const Registers& registers) noexcept {
  const std::uint64_t* values = registers.values;
  const MapCall call{values[0], values[1], values[2], values[3], values[4], values[5]};
  long got;
  if ((call.flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0) {
    got = map(call, call.address, 0);
    if (!failed(got) && in_own_partition(control, call.address, call.address + call.bytes)) {
      note_used(control, call.address, page_up(call.address + call.bytes));
    }
  } else {
    got = map_somewhere(control, call);
  }
  if (!failed(got) && (call.protection & PROT_EXEC) != 0 && call.is_private_file()) {
    redirect_mapping(control, static_cast<std::uint64_t>(got), call.bytes, static_cast<int>(call.protection),
                     static_cast<int>(call.fd), call.offset);
  }
  return got;
}

long hook_munmap(Control& control, const Registers& registers) noexcept {
  const std::uint64_t begin = registers.values[0];
  const std::uint64_t end = page_up(begin + registers.values[1]);
  if (end > begin && touches_arena(control, begin, end)) {
    if (!in_own_partition(control, begin, end)) return -EINVAL;  // A peer's memory is not ours to unmap.
    const long got = raw_syscall(SYS_munmap, begin, registers.values[1]);
    if (!failed(got)) note_free(control, begin, end);
    return got;
  }
  // Forgotten first: a kill in between leaks the mapping, where the other order would unmap what another task got
  // there.
  control.outside.remove(begin, end);
  return raw_syscall(SYS_munmap, begin, registers.values[1]);
}

long move_mapping(Control& control, std::uint64_t from, std::uint64_t old_bytes, std::uint64_t new_bytes,
                  std::uint64_t flags) noexcept {
  const std::uint64_t place = reserve(control, new_bytes);
  if (place == kNone) return -ENOMEM;
  const long got = raw_syscall(SYS_mremap, from, old_bytes, new_bytes, flags | MREMAP_MAYMOVE | MREMAP_FIXED, place);
  if (failed(got)) {
    unmap(place, new_bytes);
    note_free(control, place, place + page_up(new_bytes));
  } else if ((flags & MREMAP_DONTUNMAP) == 0 && old_bytes != 0) {
    note_free(control, from, from + page_up(old_bytes));
  }
  return got;
}

/// Of a mapping in the partition, to a place that the hook chooses.
long resize_mapping(Control& control, std::uint64_t from, std::uint64_t old_bytes, std::uint64_t new_bytes,
                    std::uint64_t flags) noexcept {
  const std::uint64_t old_end = from + page_up(old_bytes);
  const std::uint64_t new_end = from + page_up(new_bytes);
  if (old_bytes != 0 && (flags & MREMAP_DONTUNMAP) == 0) {
    if (new_end <= old_end) {
      const long got = raw_syscall(SYS_mremap, from, old_bytes, new_bytes, 0, 0);
      if (!failed(got) && new_end < old_end) note_free(control, new_end, old_end);
      return got;
    }
    if (extend_claim(control, old_end, new_end)) {
      const long got = raw_syscall(SYS_mremap, from, old_bytes, new_bytes, 0, 0);
      if (!failed(got)) return got;
      note_free(control, old_end, new_end);
    }
  }
  if ((flags & MREMAP_MAYMOVE) == 0) return -ENOMEM;
  return move_mapping(control, from, old_bytes, new_bytes, flags);
}

long hook_mremap(Control& control, const Registers& registers) noexcept {
  const std::uint64_t from = registers.values[0];
  const std::uint64_t old_bytes = registers.values[1];
  const std::uint64_t new_bytes = registers.values[2];
  const std::uint64_t flags = registers.values[3];
  const std::uint64_t target = registers.values[4];
  const std::uint64_t old_end = page_up(from + old_bytes);
  const bool own = in_own_partition(control, from, old_bytes != 0 ? old_end : from + 1);
  if (own && (flags & MREMAP_FIXED) == 0 && new_bytes != 0) {
    const long got = resize_mapping(control, from, old_bytes, new_bytes, flags);
    // What has grown beyond it, as an array of realloc does, and whatever else does so: which kind it is nobody knows
    // here. (Where it was large before, the kernel keeps the advice.)
    if (!failed(got) && old_bytes != 0 && page_up(old_bytes) < kAdvisedBytesMin) {
      advise_huge(control, static_cast<std::uint64_t>(got), new_bytes);
    }
    return got;
  }
  if (!own && touches_arena(control, from, old_end + 1)) return -EFAULT;  // A peer's memory is not ours to move.
  if (!own) control.outside.remove(from, old_end);
  const long got = raw_syscall(SYS_mremap, from, old_bytes, new_bytes, flags, target);
  if (failed(got)) {
    if (!own) control.outside.add(from, old_end);
    return got;
  }
  const auto begin = static_cast<std::uint64_t>(got);
  const std::uint64_t end = page_up(begin + new_bytes);
  if (own && (flags & MREMAP_DONTUNMAP) == 0) note_free(control, from, old_end);
  if (in_own_partition(control, begin, end)) note_used(control, begin, end);
  if (!touches_arena(control, begin, end)) control.outside.add(begin, end);
  return got;
}

/// The program's libc has taken to the private brk: the guard against the kernel's may go.
void settle(Control& control) noexcept {
  std::uint32_t expected = 0;
  if (!std::atomic_ref(control.settled).compare_exchange_strong(expected, 1, std::memory_order_relaxed)) return;
  raw_syscall(SYS_prlimit64, 0, RLIMIT_DATA, word(control.inherited_data_limit), 0L);
}

/// As the kernel's: the new break, or the old one when it can't be had. Callers serialise it, as they must with the
/// kernel's.
long hook_brk(Control& control, const Registers& registers) noexcept {
  const std::atomic_ref now(control.brk_now);
  const std::uint64_t wanted = registers.values[0];
  const std::uint64_t before = now.load(std::memory_order_relaxed);
  if (wanted != 0) settle(control);
  if (wanted < control.brk_begin || wanted > control.layout.brk_end()) return static_cast<long>(before);
  const std::uint64_t old_end = page_up(before);
  const std::uint64_t new_end = page_up(wanted);
  if (new_end > old_end) {
    const long got = raw_syscall(SYS_mmap, old_end, new_end - old_end, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | kPlaced, -1, 0);
    if (failed(got)) return static_cast<long>(before);
    advise_huge(control, page_up(control.brk_begin), new_end - page_up(control.brk_begin));  // all, or it falls apart
  } else if (new_end < old_end) {
    unmap(new_end, old_end - new_end);
  }
  now.store(wanted, std::memory_order_relaxed);
  return static_cast<long>(wanted);
}

long hook_shmat(Control& control, const Registers& registers) noexcept {
  const std::uint64_t id = registers.values[0];
  const std::uint64_t address = registers.values[1];
  const std::uint64_t flags = registers.values[2];
  shmid_ds segment;
  const bool known = !failed(raw_syscall(SYS_shmctl, id, IPC_STAT, word(&segment)));
  const std::uint64_t bytes = known ? page_up(segment.shm_segsz) : 0;
  if (address == 0) {
    const std::uint64_t place = claim(control, bytes, false);
    if (place != kNone) {
      const long got = raw_syscall(SYS_shmat, id, place, flags);
      if (!failed(got)) {
        control.attached.add(place, place + bytes);
        return got;
      }
      note_free(control, place, place + bytes);
    }
  }
  const long got = raw_syscall(SYS_shmat, id, address, flags);
  const auto begin = static_cast<std::uint64_t>(got);
  if (failed(got) || bytes == 0) return got;
  if (in_own_partition(control, begin, begin + bytes)) {
    note_used(control, begin, begin + bytes);
    control.attached.add(begin, begin + bytes);
  } else if (!touches_arena(control, begin, begin + bytes)) {
    control.outside.add(begin, begin + bytes);
  }
  return got;
}

long hook_shmdt(Control& control, const Registers& registers) noexcept {
  const std::uint64_t address = registers.values[0];
  if (touches_arena(control, address, address + 1) && !in_own_partition(control, address, address + 1)) return -EINVAL;
  control.outside.take(address);
  const long got = raw_syscall(SYS_shmdt, address);
  const RangeTable::Range range = control.attached.take(address);
  if (!failed(got) && range.end > range.begin) note_free(control, range.begin, range.end);
  return got;
}

}  // namespace

/// `returns_to` is in the stub that was called and so says which one it was, and whose.
extern "C" __attribute__((visibility("hidden"), used)) long coracle_pvas_hook(std::uint64_t returns_to,
                                                                              const Registers* registers) noexcept {
  const std::uint64_t page = page_down(returns_to);
  auto& control = *reinterpret_cast<Control*>(page - kControlBytes);
  const std::uint64_t index = (returns_to - page - kStubsOffset - kStubReturnOffset) / kStubBytes;
  switch (control.redirects[index].number) {
    case SYS_mmap:
      return hook_mmap(control, *registers);
    case SYS_munmap:
      return hook_munmap(control, *registers);
    case SYS_mremap:
      return hook_mremap(control, *registers);
    case SYS_brk:
      return hook_brk(control, *registers);
    case SYS_shmat:
      return hook_shmat(control, *registers);
    case SYS_shmdt:
      return hook_shmdt(control, *registers);
    default:
      return -ENOSYS;
  }
}

}  // namespace coracle::internals::pvas

#if defined(__x86_64__)
asm(R"(
    .text
    .globl coracle_pvas_hook_entry
    .hidden coracle_pvas_hook_entry
    .type coracle_pvas_hook_entry, @function
coracle_pvas_hook_entry:
    push %rbp
    mov %rsp, %rbp
    push %r9
    push %r8
    push %r10
    push %rdx
    push %rsi
    push %rdi
    mov 8(%rbp), %rdi
    mov %rsp, %rsi
    and $-16, %rsp
    cld
    call coracle_pvas_hook
    lea -48(%rbp), %rsp
    pop %rdi
    pop %rsi
    pop %rdx
    pop %r10
    pop %r8
    pop %r9
    pop %rbp
    ret
    .size coracle_pvas_hook_entry, . - coracle_pvas_hook_entry
)");
#endif
