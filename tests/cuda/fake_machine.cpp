#include "tests/cuda/fake_machine.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace coracle::test {

FakeMachine::~FakeMachine() {
  for (const auto& [name, lent] : lent_) ::close(lent.fd);
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

}  // namespace coracle::test
