// The loop knows which coroutine it has resumed. Which ones have been started from there, each by an await in another,
// is noted nowhere, since an await that is ready at once is too cheap for that. But whoever starts one keeps its
// address until it comes back: so it lies on the stack or in a register, and the coroutine there says so itself: it is
// nested in its parent. Compilers may also lay a frame into its parent's, and then keep no address.
#include "runtime/job/running_coroutine.hpp"

#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <span>
#include <string_view>

#include "runtime/core/other_memory.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals {
namespace {

using Address = std::uintptr_t;

/// False where not all of it can be read.
bool read_memory(Address from, std::span<std::byte> to) noexcept {
  const iovec here{to.data(), to.size()};
  const iovec there{reinterpret_cast<void*>(from), to.size()};
  return read_other_memory(::getpid(), {&here, 1}, {&there, 1}) == static_cast<ssize_t>(to.size());
}

/// What lies before a promise, as all compilers have it: the functions that resume and destroy the coroutine.
constexpr std::size_t kPromiseOffset = 2 * sizeof(void*);

/// A copy of the beginning of a coroutine frame, if that is what lies there.
class FrameCopy {
 public:
  /// `handle`: std::coroutine_handle::address(). False for what is no live coroutine of `loop`.
  bool read(Address handle, const EventLoop& loop) noexcept {
    if (handle % kAlignment != 0 || handle < kPage || !read_memory(handle, bytes_)) return false;
    handle_ = handle;
    if (!promise().belongs_to(loop)) return false;
    Address resume = 0;
    std::memcpy(&resume, bytes_.data(), sizeof resume);  // null: it has ended; of a freed frame: no function
    if (resume == 0) return false;
    return reinterpret_cast<Address>(_Unwind_FindEnclosingFunction(reinterpret_cast<void*>(resume + 1))) == resume;
  }

  Address handle() const noexcept { return handle_; }
  const PromiseBase& promise() const noexcept {
    return *reinterpret_cast<const PromiseBase*>(bytes_.data() + kPromiseOffset);
  }
  /// Handle of the coroutine that awaits it; 0: none.
  Address parent() const noexcept {
    const auto address = reinterpret_cast<Address>(promise().parent());
    return address == 0 ? 0 : address - kPromiseOffset;
  }
  /// A task that was made in the memory of one that has ended may look so, too, but is awaited nowhere yet.
  bool started_by_await() const noexcept { return promise().nested() && parent() != 0 && has_place(); }

  /// Where it is awaited is known, and the text can be read.
  bool has_place() const noexcept {
    static_assert(sizeof(std::source_location) == sizeof(void*));
    std::array<std::byte, 24> place;  // two names and the line, behind a pointer
    Address at = 0;
    std::memcpy(&at, &promise().awaited_at(), sizeof at);
    if (at == 0 || !read_memory(at, place)) return false;
    std::array<std::byte, 1> letter;
    return read_memory(reinterpret_cast<Address>(promise().awaited_at().file_name()), letter);
  }

 private:
  static constexpr Address kPage = 4096;
  static constexpr Address kAlignment = 2 * sizeof(void*);
  alignas(PromiseBase) std::array<std::byte, kPromiseOffset + sizeof(PromiseBase)> bytes_;
  Address handle_ = 0;
};

/// The interrupted code's registers, as words, and its stack pointer.
struct Registers {
  explicit Registers(const void* context) noexcept {
    const auto* machine = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
    words = {reinterpret_cast<const Address*>(machine->uc_mcontext.gregs), NGREG};
    stack = static_cast<Address>(machine->uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
    words = {reinterpret_cast<const Address*>(machine->uc_mcontext.regs), 31};
    stack = machine->uc_mcontext.sp;
#else
    static_cast<void>(machine);
#endif
  }
  std::span<const Address> words;
  Address stack = 0;
};

/// Coroutines that were started by an await and have not suspended since, the innermost of them among the first.
class NestedCoroutines {
 public:
  NestedCoroutines(const EventLoop& loop, const void* context) noexcept : loop_(loop) {
    const Registers registers(context);
    add_of(registers.words);
    const auto begin = reinterpret_cast<Address>(loop.stack_begin());
    const Address end = begin - registers.stack < kStackBytesMax ? begin : registers.stack + kStackBytesUnknown;
    std::array<Address, 128> words;
    constexpr Address kBytes = sizeof words;
    for (Address at = registers.stack & ~(kBytes - 1); at < end && size_ < kMax; at += kBytes)
      if (read_memory(at, std::as_writable_bytes(std::span(words)))) add_of(words);
  }

  /// The innermost of those that `running` has led to; `running` where there is none.
  Address innermost(Address running) const noexcept {
    Address found = running;
    int deepest = 0;
    for (const Nested& each : std::span(all_).first(size_)) {
      const auto is_child = [&](const Nested& other) { return other.parent == each.handle; };
      if (std::any_of(all_.begin(), all_.begin() + size_, is_child)) continue;
      const int depth = depth_below(running, each.parent);
      if (depth <= deepest) continue;
      deepest = depth;
      found = each.handle;
    }
    for (int i = 0; i < kLaidInsideMax; ++i) {
      const Address child = child_inside(found);
      if (child == 0) break;
      found = child;
    }
    return found;
  }

 private:
  struct Nested {
    Address handle;
    Address parent;
  };
  static constexpr std::size_t kMax = 64;
  static constexpr int kLaidInsideMax = 16;
  static constexpr Address kFrameBytesMax = 2048;  // of one with another inside, as far as it is looked at
  static constexpr Address kStackBytesMax = 8 << 20;
  static constexpr Address kStackBytesUnknown = 256 << 10;

  void add_of(std::span<const Address> words) noexcept {
    for (const Address word : words) {
      Address& seen = seen_[word / kPromiseOffset % seen_.size()];
      if (word == seen) continue;
      seen = word;
      add(word);
      add(word - kPromiseOffset);
    }
  }
  void add(Address handle) noexcept {
    const auto is_it = [handle](const Nested& other) { return other.handle == handle; };
    if (size_ == kMax || std::any_of(all_.begin(), all_.begin() + size_, is_it)) return;
    FrameCopy frame;
    if (frame.read(handle, loop_) && frame.started_by_await()) all_[size_++] = {handle, frame.parent()};
  }
  /// The one that `handle` has started and whose frame lies in its own; 0: none. (clang does so where it sees both.)
  Address child_inside(Address handle) const noexcept {
    FrameCopy frame;
    for (Address at = kPromiseOffset; at < kFrameBytesMax; at += kPromiseOffset)
      if (frame.read(handle + at, loop_) && frame.started_by_await() && frame.parent() == handle) return handle + at;
    return 0;
  }
  /// How many coroutines below `running` a child of `handle` is; 0: that one has not led to it.
  int depth_below(Address running, Address handle) const noexcept {
    constexpr int kStepsMax = 4096;
    FrameCopy frame;
    for (int i = 1; i <= kStepsMax; ++i) {
      if (handle == running) return i;
      if (!frame.read(handle, loop_) || !frame.started_by_await()) return 0;
      handle = frame.parent();
    }
    return 0;
  }

  const EventLoop& loop_;
  std::array<Nested, kMax> all_;
  std::size_t size_ = 0;
  std::array<Address, 256> seen_{};  // few that differ lie on a stack that has overflowed
};

void add_place(SignalText& text, const FrameCopy& frame) noexcept {
  const std::source_location& where = frame.promise().awaited_at();
  if (frame.has_place())
    text.add("{}:{}", file_name_of(where.file_name()), where.line());
  else
    text.add("an unknown place");
}

/// True for the runtime's own coroutine around the user's first one.
bool is_of_the_loop(const FrameCopy& frame) noexcept {
  return frame.has_place() &&
         std::string_view(file_name_of(frame.promise().awaited_at().file_name())) == "event_loop.cpp";
}

}  // namespace

void add_running_coroutine(SignalText& text, EventLoop& loop, const void* context, const char* before) noexcept {
  constexpr int kCallersMax = 32;
  const auto running = reinterpret_cast<Address>(loop.running().address());
  if (running == 0) return;
  const NestedCoroutines nested(loop, context);
  FrameCopy frame;
  if (!frame.read(nested.innermost(running), loop)) return;
  text.add("{}in ", before);
  for (int i = 0; frame.parent() != 0; ++i) {
    if (is_of_the_loop(frame)) {
      text.add("main task\n");
      return;
    }
    add_place(text, frame);
    text.add(" <- ");
    if (i == kCallersMax || !frame.read(frame.parent(), loop)) {
      text.add("...\n");
      return;
    }
  }
  const bool is_beside = &frame.promise().scope() == &loop.root_scope();
  text.add("{}\n", is_beside ? "a task beside the main task" : "a task spawned in a scope");
}

}  // namespace coracle::internals
