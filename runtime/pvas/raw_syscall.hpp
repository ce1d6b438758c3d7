// System calls without libc: between clone and a task's first instruction, and inside the hook, there is no TLS that
// libc could use, so neither errno nor stack protectors nor locks may be touched there.
#pragma once

#include <cstdint>

namespace coracle::internals::pvas {

/// The kernel's result: a value, or -errno. x86-64 only.
template <typename... Arguments>
inline long raw_syscall(long number, Arguments... arguments) noexcept {
#if defined(__x86_64__)
  const long values[6] = {static_cast<long>(arguments)...};
  register long r10 asm("r10") = values[3];
  register long r8 asm("r8") = values[4];
  register long r9 asm("r9") = values[5];
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(values[0]), "S"(values[1]), "d"(values[2]), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#else
  static_cast<void>(number);
  (static_cast<void>(arguments), ...);
  return -38;  // ENOSYS
#endif
}

/// For passing pointers to raw_syscall.
inline long word(const volatile void* pointer) noexcept {
  return static_cast<long>(reinterpret_cast<std::uintptr_t>(pointer));
}

/// True for the kernel's results -4095..-1.
inline bool failed(long result) noexcept {
  return static_cast<unsigned long>(result) > -4096UL;
}

}  // namespace coracle::internals::pvas
