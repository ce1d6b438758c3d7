#include "storage/mapped/helper_threads.hpp"

#include <pthread.h>
#include <signal.h>

#include <new>
#include <system_error>
#include <utility>

#include "runtime/core/assert.hpp"

namespace coracle::internals::storage {

HelperThreads::HelperThreads(EventLoop& loop, bool one_core) : loop_(loop), one_core_(one_core) {
  loop_.add_poller(*this);
}

HelperThreads::~HelperThreads() {
  CORACLE_ASSERT(running_ == 0, "helper threads ended while {} functions run on them", running_);
  loop_.remove_poller(*this);
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

/// What fails here only costs time.
void HelperThreads::gather() noexcept {
  const int core = ::sched_getcpu();
  if (!one_core_ || core < 0 || ::sched_getaffinity(0, sizeof usual_cores_, &usual_cores_) != 0) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(core), &one);
  gathered_ = ::sched_setaffinity(0, sizeof one, &one) == 0;  // new threads inherit it
  for (std::thread& thread : threads_) ::pthread_setaffinity_np(thread.native_handle(), sizeof one, &one);
}

void HelperThreads::part() noexcept {
  if (std::exchange(gathered_, false)) ::sched_setaffinity(0, sizeof usual_cores_, &usual_cores_);
}

bool HelperThreads::submit(Run& run) noexcept {
  if (running_ == 0) gather();
  bool busy;
  {
    const std::lock_guard lock(mutex_);
    busy = queued_ + 1 > idle_;
  }
  // Before it is queued, so that it can be refused; idle threads get no other work meanwhile.
  if (busy && !add_thread()) {
    if (running_ == 0) part();
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    run.next_ = std::exchange(queue_, &run);
    ++queued_;
  }
  ++running_;
  work_.notify_one();
  return true;
}

bool HelperThreads::add_thread() noexcept {
  // Signals are for the loop's thread, but those of what a thread does itself come to it.
  sigset_t most, before;
  ::sigfillset(&most);
  for (const int own : {SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGABRT, SIGTRAP}) ::sigdelset(&most, own);
  ::pthread_sigmask(SIG_SETMASK, &most, &before);
  bool added = true;
  try {
    threads_.emplace_back(&HelperThreads::serve, this);
  } catch (const std::system_error&) {
    added = false;
  } catch (const std::bad_alloc&) {
    added = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return added;
}

void HelperThreads::serve() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    work_.wait(lock, [this] { return ending_ || queue_ != nullptr; });
    --idle_;
    if (queue_ == nullptr) return;
    Run& run = *queue_;
    queue_ = run.next_;
    --queued_;
    lock.unlock();
    run.function_(run.context_);
    Run* newest = finished_.load(std::memory_order_relaxed);  // the exchange below checks it
    do run.next_ = newest;
    // seq_cst: pairs with the load and the exchange in poll().
    while (!finished_.compare_exchange_weak(newest, &run, std::memory_order_seq_cst, std::memory_order_relaxed));
    loop_.doorbell().ring();
    lock.lock();
  }
}

bool HelperThreads::poll() noexcept {
  // seq_cst: pairs with the push in serve(); of the loop's announce() and this load, and the push and the load in
  // ring(), one side sees the other (see Doorbell).
  if (finished_.load(std::memory_order_seq_cst) == nullptr) return false;
  // acquire: pairs with the push, for all that the function has done.
  Run* run = finished_.exchange(nullptr, std::memory_order_acquire);
  while (run != nullptr) {
    Run* next = run->next_;
    --running_;
    run->complete();
    run = next;
  }
  if (running_ == 0) part();
  return true;
}

}  // namespace coracle::internals::storage
