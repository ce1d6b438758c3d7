// The threads' queue and the way back to the loop.
#include "runtime/core/file_threads.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace coracle::internals {
namespace {

ssize_t call_once(const IoRequest& request) noexcept {
  const bool at_position = request.offset() == kNoOffset;
  const auto offset = static_cast<off_t>(request.offset());
  switch (request.verb()) {
    case IoRequest::Verb::read:
      return at_position ? ::read(request.fd(), request.buffer(), request.bytes())
                         : ::pread(request.fd(), request.buffer(), request.bytes(), offset);
    case IoRequest::Verb::write:
      return at_position ? ::write(request.fd(), request.buffer(), request.bytes())
                         : ::pwrite(request.fd(), request.buffer(), request.bytes(), offset);
    default:
      return ::fdatasync(request.fd());
  }
}

}  // namespace

std::int64_t perform_blocking(const IoRequest& request) noexcept {
  ssize_t result;
  do result = call_once(request);
  while (result < 0 && errno == EINTR);
  return result < 0 ? -errno : result;
}

FileThreads::~FileThreads() {
  {
    const std::lock_guard lock(mutex_);
    CORACLE_ASSERT(queue_.empty(), "{} file requests are still queued", queued_);
    ending_ = true;
  }
  work_.notify_all();
  for (std::size_t i = 0; i < thread_count_; ++i) threads_[i].join();
}

void FileThreads::submit(IoRequest& request) noexcept {
  bool busy;
  {
    const std::lock_guard lock(mutex_);
    request.note().with_threads = true;
    queue_.push_back(request);
    busy = ++queued_ > idle_;
  }
  if (busy && thread_count_ < kThreadsMax && !add_thread() && thread_count_ == 0) {
    withdraw(request);
    perform(request);  // no thread to be had at all: rather a loop that blocks than a request that fails
    return;
  }
  work_.notify_one();
}

bool FileThreads::withdraw(IoRequest& request) noexcept {
  const std::lock_guard lock(mutex_);
  if (!request.note().with_threads) return false;
  request.note().with_threads = false;
  queue_.remove(request);
  --queued_;
  return true;
}

IoRequest* FileThreads::take_finished() noexcept {
  // seq_cst: pairs with the push in perform(); of the loop's announce() and this load, and the push and the load in
  // ring(), one side sees the other (see Doorbell).
  if (finished_.load(std::memory_order_seq_cst) == nullptr) return nullptr;
  // acquire: pairs with the push, for the request's note and buffer.
  IoRequest* newest = finished_.exchange(nullptr, std::memory_order_acquire);
  IoRequest* oldest = nullptr;
  while (newest != nullptr) {
    IoRequest* before = std::exchange(newest->note().next, oldest);
    oldest = std::exchange(newest, before);
  }
  return oldest;
}

bool FileThreads::add_thread() noexcept {
  // Signals are for the loop's thread, which knows what they mean.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  bool added = true;
  try {
    threads_[thread_count_] = std::thread(&FileThreads::serve, this);
    ++thread_count_;
  } catch (const std::system_error&) {
    added = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return added;
}

void FileThreads::serve() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    work_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    --idle_;
    if (queue_.empty()) return;
    IoRequest& request = queue_.pop_front();
    --queued_;
    request.note().with_threads = false;
    lock.unlock();
    perform(request);
    lock.lock();
  }
}

void FileThreads::perform(IoRequest& request) noexcept {
  request.note().result = perform_blocking(request);
  IoRequest* newest = finished_.load(std::memory_order_relaxed);  // the exchange below checks it
  do request.note().next = newest;
  // seq_cst: pairs with the load and the exchange in take_finished().
  while (!finished_.compare_exchange_weak(newest, &request, std::memory_order_seq_cst, std::memory_order_relaxed));
  doorbell_.ring();
}

}  // namespace coracle::internals
