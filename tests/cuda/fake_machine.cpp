#include "tests/cuda/fake_machine.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <thread>

#include "runtime/core/thread_sanitizer.hpp"

namespace coracle::internals::test {

FakeSpace& FakeSpace::of_this_process() {
#ifdef CORACLE_THREAD_SANITIZER
  static FakeSpace own;  // it has no shared address spaces, and little room for mappings of one's choice
  return own;
#else
  // One place for all: above ASan's shadow, below the partitions of shared address spaces. Zeroed memory is its first
  // state.
  static FakeSpace* const space = [] {
    void* const place = reinterpret_cast<void*>(0x110000000000);
    void* const got = ::mmap(place, sizeof(FakeSpace), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED && errno != EEXIST) std::abort();
    return static_cast<FakeSpace*>(place);
  }();
  return *space;
#endif
}

bool FakeSpace::admits_this_process() noexcept {
  const pid_t here = ::getpid();
  pid_t nobody = 0;
  return owner_.compare_exchange_strong(nobody, here) || nobody == here;
}

bool FakeSpace::take(std::atomic<unsigned>& count) noexcept {
  unsigned left = count.load();
  while (left > 0)
    if (count.compare_exchange_weak(left, left - 1)) return true;
  return false;
}

FakeMachine::~FakeMachine() {
  for (const auto& [name, lent] : lent_) ::close(lent.fd);
}

void FakeMachine::hold_if_asked() noexcept {
  while (holds) {
    held = true;
    std::this_thread::yield();
  }
}

int FakeMachine::take_memory(std::size_t device, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  if (bytes > free_bytes_[device]) return -1;
  const int fd = ::memfd_create("fake-device", MFD_CLOEXEC);
  if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(bytes)) != 0) return -1;
  free_bytes_[device] -= bytes;
  return fd;
}

void FakeMachine::give_back(std::size_t device, std::size_t bytes, int fd) {
  const std::lock_guard lock(mutex);
  free_bytes_[device] += bytes;
  ::close(fd);
}

std::uint64_t FakeMachine::lend(const Lent& lent) {
  const std::lock_guard lock(mutex);
  lent_[++names_] = {::dup(lent.fd), lent.bytes, lent.device, lent.owner};
  return names_;
}

FakeMachine::Lent FakeMachine::find(std::uint64_t name) {
  const std::lock_guard lock(mutex);
  const auto at = lent_.find(name);
  return at == lent_.end() ? Lent{} : at->second;
}

}  // namespace coracle::internals::test
