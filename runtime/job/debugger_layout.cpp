// The distances, and the note that leads to them.
#include "runtime/job/debugger_layout.hpp"

#include <cstddef>

#include "runtime/core/event_loop.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/core/task.hpp"
#include "runtime/job/diagnostics.hpp"
#include "runtime/job/job.hpp"

// Compilers promise no distances in classes that are not of standard layout, but all of them know them.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace coracle::internals {

#define CORACLE_DISTANCE(type, member) static_cast<std::uint32_t>(offsetof(type, member))

constexpr DebuggerLayout DebuggerLayout::make() noexcept {
  using State = internals::Diagnostics::State;
  using OfThread = internals::Diagnostics::Thread;
  using OfRank = internals::Diagnostics::Registration;
  using AScope = internals::Scope;
  using AWaiter = internals::Waiter;
  constexpr std::uint32_t kReady = CORACLE_DISTANCE(EventLoop, ready_);
  return {
      .version = kVersion,
      .bytes = sizeof(DebuggerLayout),
      .diagnostics = &State::installed,
      .in_diagnostics = {.threads = CORACLE_DISTANCE(State, threads)},
      .in_thread = {.id = CORACLE_DISTANCE(OfThread, id),
                    .first = CORACLE_DISTANCE(OfThread, first),
                    .next = CORACLE_DISTANCE(OfThread, next),
                    .running = CORACLE_DISTANCE(OfThread, running)},
      .in_registration = {.rank = CORACLE_DISTANCE(OfRank, rank_),
                          .block = CORACLE_DISTANCE(OfRank, block_),
                          .loop = CORACLE_DISTANCE(OfRank, loop_),
                          .next = CORACLE_DISTANCE(OfRank, next_)},
      .in_block = {.phase = CORACLE_DISTANCE(RankBlock, phase), .pid = CORACLE_DISTANCE(RankBlock, pid)},
      .in_loop = {.clock = CORACLE_DISTANCE(EventLoop, clock_),
                  .now_ns = CORACLE_DISTANCE(EventLoop, now_ns_),
                  .running = CORACLE_DISTANCE(EventLoop, running_),
                  .resumed_next = CORACLE_DISTANCE(EventLoop, next_),
                  .stack_limit = CORACLE_DISTANCE(EventLoop, stack_limit_),
                  .stack_bytes_max = Scheduler::kStackBytesMax,
                  .ready_slots = kReady + CORACLE_DISTANCE(ReadyQueue, slots_),
                  .ready_capacity = kReady + CORACLE_DISTANCE(ReadyQueue, capacity_),
                  .ready_head = kReady + CORACLE_DISTANCE(ReadyQueue, head_),
                  .ready_tail = kReady + CORACLE_DISTANCE(ReadyQueue, tail_),
                  .root_scope = CORACLE_DISTANCE(EventLoop, root_scope_),
                  .doorbell = CORACLE_DISTANCE(EventLoop, doorbell_)},
      .in_scope = {.link = CORACLE_DISTANCE(AScope, previous_) - CORACLE_DISTANCE(ScopeLink, previous_),
                   .waiters = CORACLE_DISTANCE(AScope, waiters_),
                   .scopes = CORACLE_DISTANCE(AScope, scopes_),
                   .running = CORACLE_DISTANCE(AScope, running_),
                   .join = CORACLE_DISTANCE(AScope, join_),
                   .cancelled = CORACLE_DISTANCE(AScope, cancelled_)},
      .in_link = {.next = CORACLE_DISTANCE(ScopeLink, next_), .previous = CORACLE_DISTANCE(ScopeLink, previous_)},
      .in_waiter = {.link = CORACLE_DISTANCE(AWaiter, previous_) - CORACLE_DISTANCE(ScopeLink, previous_),
                    .coroutine = CORACLE_DISTANCE(AWaiter, coroutine_),
                    .what = CORACLE_DISTANCE(AWaiter, what_),
                    .peer = CORACLE_DISTANCE(AWaiter, peer_),
                    .since_ns = CORACLE_DISTANCE(AWaiter, since_ns_),
                    .where = CORACLE_DISTANCE(AWaiter, where_)},
      .in_promise = {.parent = CORACLE_DISTANCE(PromiseBase, parent_),
                     .loop = CORACLE_DISTANCE(PromiseBase, loop_),
                     .scope = CORACLE_DISTANCE(PromiseBase, scope_),
                     .awaited_at = CORACLE_DISTANCE(PromiseBase, awaited_at_),
                     .mode = CORACLE_DISTANCE(PromiseBase, mode_),
                     .offset_in_frame = 2 * sizeof(void*)},
  };
}

#undef CORACLE_DISTANCE

constinit const DebuggerLayout DebuggerLayout::kLayout = make();
/// Of C, for the name by which the note below knows it (declared in diagnostics.hpp).
[[gnu::used]] const DebuggerLayout* const coracle_debugger_layout = &DebuggerLayout::kLayout;

}  // namespace coracle::internals

#pragma GCC diagnostic pop

// "Coracle", kind 1: the distance from the note's last word to the pointer above.
asm(R"(
  .pushsection .note.coracle, "a", %note
  .balign 4
  .long 8, 8, 1
  .asciz "Coracle"
  .quad coracle_debugger_layout - .
  .popsection
)");
