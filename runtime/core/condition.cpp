// Waiting for a condition without the lock.
#include "runtime/core/condition.hpp"

#include <exception>

namespace coracle::internals {

Task<> Condition::wait(Mutex::Lock& lock, std::source_location where) {
  CORACLE_ASSERT(lock, "'{}': wait() needs a Lock that holds its mutex", waits_.what());
  Mutex& mutex = *lock.mutex_;
  std::exception_ptr failure;
  lock.unlock();
  try {
    Wait changed(*this);
    changed.place_at(where);
    co_await changed;
  } catch (...) {
    failure = std::current_exception();
  }
  // Not to be cancelled: who catches the error relies on the lock as well.
  Mutex::LockWait again(mutex, false);
  again.place_at(where);
  lock = co_await again;
  if (failure) std::rethrow_exception(failure);
}

}  // namespace coracle::internals
