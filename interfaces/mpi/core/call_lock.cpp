// Who holds the lock, who turns the loop, and who wakes whom.
#include "interfaces/mpi/core/call_lock.hpp"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "interfaces/mpi/core/program_call.hpp"

namespace coracle::mpi {

/// Until its thread has what it waits for, or has failed: then another one that waits turns the loop.
class CallLock::Wait {
 public:
  explicit Wait(CallLock& lock) noexcept : lock_(lock) {}
  ~Wait() {
    if (turns_) lock_.is_turned_ = false;
    if (!lock_.is_turned_ && !lock_.waiting_.empty()) lock_.wake(*lock_.waiting_.front());
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  /// It is this thread that turns the loop, or sleeps for all.
  void turns() noexcept { turns_ = lock_.is_turned_ = true; }

 private:
  CallLock& lock_;
  bool turns_ = false;
};

void CallLock::begin(internals::EventLoop& loop, const CallNote*& waiting) noexcept {
  loop_ = &loop;
  noted_ = &waiting;
}

void CallLock::end() noexcept {
  loop_ = nullptr;
  noted_ = nullptr;
}

std::uintptr_t CallLock::this_thread() noexcept {
  return static_cast<std::uintptr_t>(::pthread_self());
}

void CallLock::take() {
  lock_.take();
  // relaxed: only the thread itself finds its own number there.
  holder_.store(this_thread(), std::memory_order_relaxed);
  depth_ = 1;
  outer_frames_ = internals::FramePool::use(&frames_);
  if (loop_ != nullptr) loop_->begin_on_stack(__builtin_frame_address(0));
}

/// What the call has done may be what others wait for, or must be done by the loop.
void CallLock::give(bool falls_asleep) noexcept {
  if (!waiting_.empty()) wake_done();
  if (is_asleep_ && loop_ != nullptr) loop_->doorbell().ring();
  if (falls_asleep) is_asleep_ = true;
  internals::FramePool::use(outer_frames_);
  holder_.store(0, std::memory_order_relaxed);  // as in take()
  lock_.give();
}

void CallLock::enter() {
  if (holder_.load(std::memory_order_relaxed) == this_thread()) {
    ++depth_;
    return;
  }
  take();
  ++calls_;
}

void CallLock::leave() noexcept {
  if (--depth_ != 0) return;
  --calls_;
  give();
}

void CallLock::give_keeping(Kept& kept, bool falls_asleep) noexcept {
  kept.thread = this_thread();
  kept.depth = depth_;
  kept.call = std::exchange(program_call, {});
  if (noted_ != nullptr) kept.note = std::exchange(*noted_, nullptr);
  give(falls_asleep);
}

void CallLock::take_with(Kept& kept) {
  take();
  depth_ = kept.depth;
  program_call = kept.call;
  if (noted_ != nullptr) *noted_ = kept.note;
  kept = {};
}

void CallLock::wait(Question done) {
  // In a coroutine that the loop has resumed: nobody else can turn that before the coroutine has returned.
  if (turns_ > 0) return loop_->run_until(done);
  Wait here(*this);
  while (!done()) {
    if (!is_turned_) {
      here.turns();
      turn_for_all(done);
    } else {
      Waiting self;
      self.done = done;
      sleep_until_woken(self);
    }
  }
}

bool CallLock::turn() {
  struct Turn {
    explicit Turn(std::uint32_t& of_all) noexcept : turns(of_all) { ++turns; }
    ~Turn() { --turns; }
    std::uint32_t& turns;
  };
  const Turn turn(turns_);
  return loop_->turn();
}

void CallLock::turn_for_all(const Question& done) {
  std::uint32_t idle_turns = 0;
  while (!done()) {
    if (turn()) {
      idle_turns = 0;
      wake_done();
    } else if (!done()) {
      loop_->idle(idle_turns);
    }
    if (lock_.is_wanted()) {
      loop_->end_idle();  // others go on meanwhile
      give_keeping(turner_);
      take_with(turner_);
    }
  }
  loop_->end_idle();
}

void CallLock::sleep_until_woken(Waiting& self) {
  waiting_.push_back(&self);
  give_keeping(self.kept);
  {
    std::unique_lock guard(mutex_);
    self.woken.wait(guard, [&self] { return self.is_woken; });
  }
  take_with(self.kept);
}

void CallLock::wake(Waiting& one) noexcept {
  std::erase(waiting_, &one);
  const std::lock_guard guard(mutex_);
  one.is_woken = true;
  one.woken.notify_one();  // under the mutex: it is there until that is free
}

void CallLock::wake_done() noexcept {
  for (std::size_t i = 0; i < waiting_.size();) {
    if (waiting_[i]->done())
      wake(*waiting_[i]);
    else
      ++i;
  }
}

/// Others may come while the loop sleeps, unless it is a coroutine of its own that turns it.
void CallLock::open() noexcept {
  if (turns_ > 0) return;
  give_keeping(turner_, true);
}

void CallLock::close() noexcept {
  if (!is_asleep_) return;
  take_with(turner_);
  is_asleep_ = false;
}

bool CallLock::is_taken_elsewhere() const noexcept {
  const std::uintptr_t holder = holder_.load(std::memory_order_relaxed);
  return holder != 0 && holder != this_thread();
}

const CallNote* CallLock::own_note() const noexcept {
  if (is_taken_elsewhere() || noted_ == nullptr) return nullptr;
  const std::uintptr_t self = this_thread();
  if (holder_.load(std::memory_order_relaxed) == self) return *noted_;
  if (turner_.thread == self) return turner_.note;
  const auto own = std::ranges::find_if(waiting_, [self](const Waiting* each) { return each->kept.thread == self; });
  return own != waiting_.end() ? (*own)->kept.note : nullptr;
}

}  // namespace coracle::mpi
