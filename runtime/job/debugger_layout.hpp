// DebuggerLayout: where a debugger finds the loops of a process, their scopes, waits and coroutines; tools/gdb reads
// it. A release build tells debuggers nothing of its types, and a stripped program not even names. So this is a
// constant that a note of the program's file (.note.coracle) leads to, in each copy of the program that a process has
// loaded.
#pragma once

#include <cstdint>

namespace coracle::internals {

/// All but the first three are distances in bytes. Whoever changes this raises kVersion, and teaches tools/gdb.
struct DebuggerLayout {
  static constexpr std::uint32_t kVersion = 1;

  std::uint32_t version;
  std::uint32_t bytes;
  const void* diagnostics;  ///< Address of the pointer to what Diagnostics knows; it is null where none lives.

  struct Diagnostics {
    std::uint32_t threads;
  } in_diagnostics;
  struct Thread {
    std::uint32_t id, first, next, running;
  } in_thread;
  struct Registration {
    std::uint32_t rank, block, loop, next;
  } in_registration;
  struct Block {
    std::uint32_t phase, pid;
  } in_block;
  struct Loop {
    std::uint32_t clock, now_ns, running, resumed_next, stack_limit, stack_bytes_max;
    std::uint32_t ready_slots, ready_capacity, ready_head, ready_tail;
    std::uint32_t root_scope, doorbell;
  } in_loop;
  struct Scope {
    std::uint32_t link, waiters, scopes, running, join, cancelled;
  } in_scope;
  struct Link {
    std::uint32_t next, previous;
  } in_link;
  struct Waiter {
    std::uint32_t link, coroutine, what, peer, since_ns, where;
  } in_waiter;
  struct Promise {
    std::uint32_t parent, loop, scope, awaited_at, mode, offset_in_frame;
  } in_promise;

  static const DebuggerLayout kLayout;

 private:
  static constexpr DebuggerLayout make() noexcept;
};

}  // namespace coracle::internals
