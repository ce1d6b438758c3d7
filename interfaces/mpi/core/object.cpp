// The end of objects: their memory stays readable for a while, so that a stale handle is told as such.
#include "interfaces/mpi/core/object.hpp"

#include <cstring>
#include <new>

namespace coracle::mpi {

namespace {

/// The memory of the objects that went last, all zero, so that the word of a stale handle has no object. As many as
/// programs free in one go before they use one of them by mistake.
class Quarantine {
 public:
  void keep(void* memory, std::size_t bytes) noexcept {
    std::memset(memory, 0, bytes);
    ::operator delete(memory_[next_]);
    memory_[next_] = memory;
    next_ = (next_ + 1) % kObjects;
  }

 private:
  // Each takes new memory until there are so many: of 512 each of the first 500 nonblocking collectives took twice as
  // long, for pages.
  static constexpr std::size_t kObjects = 128;
  void* memory_[kObjects] = {};
  std::size_t next_ = 0;
};

// Without a destructor: objects may go while the process ends.
constinit Quarantine quarantine;

}  // namespace

// Out of line as the one below is, or a compiler that sees through one of the two takes them for no pair.
[[gnu::noinline]] void* Object::operator new(std::size_t bytes) {
  return ::operator new(bytes);
}

// Not in the destructor: compilers leave out stores to an object that ends.
void Object::operator delete(void* memory, std::size_t bytes) noexcept {
  quarantine.keep(memory, bytes);
}

void (*Object::number_ended)(const HandleWord& handle) noexcept = nullptr;

void Object::retire() noexcept {
  if (predefined_) {
    // The program has freed what it never got: it stays.
    uses_ = 1;
    return;
  }
  leave_handle();
  delete this;
}

}  // namespace coracle::mpi
