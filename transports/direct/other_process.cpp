// Copies by the kernel between two processes.
#include "transports/direct/direct.hpp"

#include <sys/prctl.h>
#include <sys/uio.h>

#include <cerrno>

#include "runtime/core/error.hpp"
#include "runtime/core/other_memory.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals::direct {
namespace {

template <class Call>
int copy_all(Call call, pid_t pid, std::byte* here, std::uint64_t there, std::size_t bytes) noexcept {
  // The kernel may move less than was asked for; it says nothing more until the next call.
  for (std::size_t done = 0; done < bytes;) {
    const iovec local{here + done, bytes - done};
    const iovec remote{reinterpret_cast<void*>(there + done), bytes - done};
    const ssize_t moved = call(pid, std::span(&local, 1), std::span(&remote, 1));
    if (moved < 0) return errno;
    if (moved == 0) return EFAULT;
    done += static_cast<std::size_t>(moved);
  }
  return 0;
}

}  // namespace

std::error_code copy_between_processes(Operation& operation, const AddressMap& addresses,
                                       const JobRegion& region) noexcept {
  if (operation.verb != Operation::Verb::put && operation.verb != Operation::Verb::get) return Errc::unsupported;
  if (operation.bytes == 0) return {};
  // relaxed: a RemoteAddress of the peer came by a message, after it had stored its pid.
  const pid_t pid = region.block(operation.remote.rank).pid.load(std::memory_order_relaxed);
  auto* here = static_cast<std::byte*>(operation.local);
  const std::uint64_t there = addresses.address_there(operation.remote);
  const int error = operation.verb == Operation::Verb::put
                        ? copy_all(write_other_memory, pid, here, there, operation.bytes)
                        : copy_all(read_other_memory, pid, here, there, operation.bytes);
  return {error, std::generic_category()};
}

int read_from_process(pid_t pid, std::uint64_t address, std::span<std::byte> target) noexcept {
  return copy_all(read_other_memory, pid, target.data(), address, target.size());
}

void permit_access_by_peers() noexcept {
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

}  // namespace coracle::internals::direct
