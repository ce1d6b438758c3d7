#include "tests/cuda/fake_stream.hpp"

#include <chrono>
#include <cstring>

#include "runtime/core/timer.hpp"

namespace coracle::internals::test {
namespace {

thread_local bool in_a_function = false;

}  // namespace

bool FakeContext::fails(FakeMachine& machine, unsigned FakeFaults::*faults) {
  const std::lock_guard lock(mutex);
  if (error.load() != cuda::kSuccess) return true;
  if (!machine.take(faults)) return false;
  error = machine.now().failing_with;
  return true;
}

FakeStream::FakeStream(FakeMachine& machine, FakeContext& context, int device)
    : machine_(machine), context_(context), device_(device), ring_(kRoom), thread_([this] { run(); }) {}

FakeStream::~FakeStream() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool FakeStream::in_function() noexcept {
  return in_a_function;
}

bool FakeStream::put(const FakeWork& work) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (count_ == kRoom) return false;
    ring_[(first_ + count_++) % kRoom] = work;
  }
  changed_.notify_all();
  return true;
}

bool FakeStream::at_rest() noexcept {
  const std::lock_guard lock(mutex_);
  return count_ == 0;
}

bool FakeStream::stalled() noexcept {
  const std::lock_guard lock(mutex_);
  return stalled_;
}

void FakeStream::resume() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stalled_ = false;
  }
  changed_.notify_all();
}

void FakeStream::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || count_ > 0; });
    if (ending_) return;
    const FakeWork work = ring_[first_];
    lock.unlock();
    // After an error nothing is carried out any more: no copy, no word, no function.
    if (context_.error.load() == cuda::kSuccess) carry_out(work);
    if (work.graph != nullptr) --work.graph->in_flight;
    lock.lock();
    first_ = (first_ + 1) % kRoom;
    --count_;
  }
}

void FakeStream::carry_out(const FakeWork& work) {
  switch (work.what) {
    case FakeWork::What::copy:
      return copy(work.box);
    case FakeWork::What::graph:
      for (const cuda::Box& box : work.graph->boxes) copy(box);
      return;
    case FakeWork::What::word:
      if (machine_.take(&FakeFaults::lost_words)) return;
      if (machine_.take(&FakeFaults::late_words))
        std::this_thread::sleep_for(std::chrono::nanoseconds(machine_.now().late_ns));
      // release: as the driver's barrier before the word.
      return __atomic_store_n(work.word, work.value, __ATOMIC_RELEASE);
    case FakeWork::What::host:
      if (machine_.take(&FakeFaults::stalled_functions)) stall();
      in_a_function = true;
      work.function(work.data);
      in_a_function = false;
      return;
    case FakeWork::What::event:
      work.event->time_ns = real_clock().now_ns();
      return;
    case FakeWork::What::kernel:
      return run_kernel(*work.kernel);
  }
}

namespace {

/// A word arrives as a whole, and after what was copied before: somebody may poll it.
void copy_row(std::byte* target, const std::byte* source, std::size_t bytes) {
  std::uint64_t word = 0;
  if (bytes != sizeof word || reinterpret_cast<std::uintptr_t>(target) % sizeof word != 0) {
    std::memmove(target, source, bytes);
    return;
  }
  std::memcpy(&word, source, sizeof word);
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(target), word, __ATOMIC_RELEASE);
}

}  // namespace

void FakeStream::copy(const cuda::Box& box) {
  if (context_.fails(machine_, &FakeFaults::failing_copies)) return;
  if (machine_.take(&FakeFaults::stalls)) stall();
  for (std::size_t slice = 0; slice < box.slices; ++slice)
    for (std::size_t row = 0; row < box.rows; ++row)
      copy_row(box.target_row(row, slice), box.source_row(row, slice), box.width);
  if (!machine_.take(&FakeFaults::wrong_copies)) return;
  // Added, so that a second wrong copy does not undo it.
  std::byte& wrong = box.target_row(box.rows - 1, box.slices - 1)[box.width / 2];
  wrong = static_cast<std::byte>(static_cast<unsigned char>(wrong) + 1);
}

void FakeStream::run_kernel(const std::function<void()>& kernel) {
  if (!context_.fails(machine_, &FakeFaults::failing_kernels)) kernel();
}

void FakeStream::stall() {
  std::unique_lock lock(mutex_);
  stalled_ = true;
  changed_.wait(lock, [&] { return !stalled_ || ending_; });
}

}  // namespace coracle::internals::test
