// The search looks for `syscall` and reads backwards. Only the mov is overwritten: the `syscall` stays where it is, so
// code that jumps straight to it does what it always did.
#include "runtime/pvas/sites.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>

#include "runtime/pvas/control.hpp"
#include "runtime/pvas/raw_syscall.hpp"

namespace coracle::internals::pvas {
namespace {

constexpr unsigned kMovBytes = 5;
constexpr unsigned kJumpBytes = 5;
constexpr unsigned kSyscallBytes = 2;
constexpr unsigned kBetweenBytesMax = 6;  ///< Two instructions.

bool is_redirected(std::uint32_t number) noexcept {
  return number == SYS_mmap || number == SYS_munmap || number == SYS_mremap || number == SYS_brk ||
         number == SYS_shmat || number == SYS_shmdt;
}

std::uint32_t read_u32(const unsigned char* bytes) noexcept {
  return static_cast<std::uint32_t>(bytes[0]) | static_cast<std::uint32_t>(bytes[1]) << 8 |
         static_cast<std::uint32_t>(bytes[2]) << 16 | static_cast<std::uint32_t>(bytes[3]) << 24;
}

/// The length of an instruction that only moves, xors or sign-extends between registers, neither reads nor writes eax,
/// and leaves the stack pointer alone: it may run before the mov as well as after it. 0 for any other.
unsigned register_instruction_bytes(const unsigned char* bytes) noexcept {
  const bool has_rex = bytes[0] >= 0x40 && bytes[0] <= 0x4f;
  const unsigned char rex = has_rex ? *bytes++ : 0;
  const unsigned char opcode = bytes[0];
  const unsigned char operands = bytes[1];
  const bool known =
      opcode == 0x89 || opcode == 0x8b || opcode == 0x31 || opcode == 0x33 || (opcode == 0x63 && has_rex);
  if (!known || operands < 0xc0) return 0;
  const unsigned reg = (operands >> 3 & 7U) | ((rex & 4U) << 1);
  const unsigned rm = (operands & 7U) | ((rex & 1U) << 3);
  const auto free_to_use = [](unsigned number) { return number != 0 && number != 4; };
  return free_to_use(reg) && free_to_use(rm) ? (has_rex ? 3 : 2) : 0;
}

/// True when [begin, end) holds nothing but such instructions; text[end] and one more byte may be read.
bool are_register_instructions(const unsigned char* text, std::uint64_t begin, std::uint64_t end) noexcept {
  while (begin < end) {
    const unsigned size = register_instruction_bytes(text + begin);
    if (size == 0) return false;
    begin += size;
  }
  return begin == end;
}

/// musl's detached threads unmap the stack they stand on and exit without it; the hook needs a stack to return to.
bool exits_next(const unsigned char* text, std::uint64_t at, std::uint64_t bytes) noexcept {
  for (std::uint64_t mov = at + kSyscallBytes; mov < at + 10 && mov + kMovBytes <= bytes; ++mov) {
    if (text[mov] == 0xb8 && read_u32(text + mov + 1) == SYS_exit) return true;
  }
  return false;
}

/// `at` is the offset of a `syscall`; fills `site` when one of ours leads to it.
bool site_before(const unsigned char* text, std::uint64_t at, std::uint64_t bytes, Site& site) noexcept {
  for (unsigned between = 0; between <= kBetweenBytesMax && at >= kMovBytes + between; ++between) {
    const std::uint64_t mov = at - kMovBytes - between;
    if (text[mov] != 0xb8) continue;
    const std::uint32_t number = read_u32(text + mov + 1);
    if (!is_redirected(number) || !are_register_instructions(text, mov + kMovBytes, at)) continue;
    if (number == SYS_munmap && exits_next(text, at, bytes)) return false;
    site = {static_cast<std::uint32_t>(mov), static_cast<std::uint16_t>(number), static_cast<std::uint8_t>(between)};
    return true;
  }
  return false;
}

bool same_text(const SiteList& known, const SiteList& wanted) noexcept {
  return known.inode == wanted.inode && known.device == wanted.device && known.offset == wanted.offset &&
         known.bytes == wanted.bytes && known.changed_s == wanted.changed_s && known.changed_ns == wanted.changed_ns;
}

const SiteList* look_up(SiteCache& cache, const SiteList& wanted) noexcept {
  const std::uint64_t used = std::atomic_ref(cache.used).load(std::memory_order_relaxed);
  for (std::uint64_t i = 0; i < used && i < SiteCache::kMax; ++i) {
    // Acquire pairs with the release in remember(): the list is whole once it is ready.
    const bool ready = std::atomic_ref(cache.lists[i].ready).load(std::memory_order_acquire) != 0;
    if (ready && same_text(cache.lists[i], wanted)) return &cache.lists[i];
  }
  return nullptr;
}

/// A task killed in here leaves an entry that never becomes ready.
void remember(SiteCache& cache, const SiteList& list) noexcept {
  const std::uint64_t i = std::atomic_ref(cache.used).fetch_add(1, std::memory_order_relaxed);
  if (i >= SiteCache::kMax) return;
  SiteList& entry = cache.lists[i];
  // Member by member: a plain assignment may become a call of memcpy, and so into the root's libc.
  entry.device = list.device;
  entry.inode = list.inode;
  entry.changed_s = list.changed_s;
  entry.changed_ns = list.changed_ns;
  entry.offset = list.offset;
  entry.bytes = list.bytes;
  entry.count = list.count;
  for (std::uint32_t site = 0; site < list.count; ++site) entry.sites[site] = list.sites[site];
  std::atomic_ref(entry.ready).store(1, std::memory_order_release);  // Pairs with the acquire in look_up().
}

bool redirect(Control& control, std::uint64_t begin, const Site& site) noexcept {
  const std::uint64_t mov = begin + site.offset;
  const std::uint64_t jump = mov + site.between;
  const std::uint64_t stubs = control.layout.stubs_begin();
  const auto reach = static_cast<std::int64_t>(stubs - jump);
  if (reach > 0x7fff0000 || reach < -0x7fff0000) return false;
  const std::uint64_t index = std::atomic_ref(control.redirect_count).fetch_add(1, std::memory_order_relaxed);
  if (index >= kRedirectsMax) return false;
  control.redirects[index] = {mov + kMovBytes + site.between + kSyscallBytes, site.number};
  auto* code = reinterpret_cast<unsigned char*>(mov);
  for (unsigned i = 0; i < site.between; ++i) code[i] = code[kMovBytes + i];
  code += site.between;
  const auto distance = static_cast<std::uint32_t>(stub_address(control.layout, index) - (jump + kJumpBytes));
  code[0] = 0xe9;
  for (unsigned i = 0; i < 4; ++i) code[1 + i] = static_cast<unsigned char>(distance >> (8 * i));
  return true;
}

}  // namespace

void find_sites(const unsigned char* text, std::uint64_t bytes, SiteList& list) noexcept {
  list.count = 0;
  for (std::uint64_t at = 0; at + 1 < bytes && list.count < SiteList::kMax; ++at) {
    if (text[at + 1] != 0x05) {
      at += text[at + 1] == 0x0f ? 0 : 1;  // Neither this nor the next byte can begin a `syscall`.
      continue;
    }
    if (text[at] == 0x0f && site_before(text, at, bytes, list.sites[list.count])) ++list.count;
  }
}

long redirect_sites(Control& control, std::uint64_t begin, const SiteList& list) noexcept {
  long done = 0;
  for (std::uint32_t i = 0; i < list.count; ++i) done += redirect(control, begin, list.sites[i]) ? 1 : 0;
  return done;
}

long redirect_mapping(Control& control, std::uint64_t begin, std::uint64_t bytes, int protection, int fd,
                      std::uint64_t offset) noexcept {
  struct stat status;
  const long got = raw_syscall(SYS_fstat, fd, word(&status));
  if (failed(got)) return got;
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  if (offset >= file_bytes) return 0;
  if (bytes > file_bytes - offset) bytes = file_bytes - offset;  // Behind the file's end a read raises SIGBUS.
  SiteList found;
  found.device = status.st_dev;
  found.inode = status.st_ino;
  found.changed_s = static_cast<std::uint64_t>(status.st_ctim.tv_sec);
  found.changed_ns = static_cast<std::uint64_t>(status.st_ctim.tv_nsec);
  found.offset = offset;
  found.bytes = bytes;
  const SiteList* list = look_up(*control.sites, found);
  if (list == nullptr) {
    if ((protection & PROT_READ) == 0) return -EACCES;
    find_sites(reinterpret_cast<const unsigned char*>(begin), bytes, found);
    // What was searched need not stay mapped: a program runs little of its libraries. Nothing has been written here.
    raw_syscall(SYS_madvise, static_cast<long>(begin), bytes, MADV_DONTNEED);
    remember(*control.sites, found);
    list = &found;
  }
  if (list->count == 0) return 0;
  const long opened = raw_syscall(SYS_mprotect, static_cast<long>(begin), bytes, PROT_READ | PROT_WRITE);
  if (failed(opened)) return opened;
  const long done = redirect_sites(control, begin, *list);
  const long closed = raw_syscall(SYS_mprotect, static_cast<long>(begin), bytes, protection);
  if (!failed(closed)) return done;
  // A policy against changed text (SELinux execmod): put the file's own back.
  const long restored = raw_syscall(SYS_mmap, static_cast<long>(begin), bytes, protection, MAP_PRIVATE | MAP_FIXED, fd,
                                    static_cast<long>(offset));
  return failed(restored) ? restored : closed;
}

}  // namespace coracle::internals::pvas
