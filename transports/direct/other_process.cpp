// Puts, gets and atomics that can't just be done by load and store; copies by the kernel between two processes.
#include "transports/direct/direct.hpp"

#include <cstring>

#include "runtime/core/error.hpp"
#include "runtime/core/other_memory.hpp"
#include "runtime/job/address_map.hpp"
#include "runtime/job/exposed_access.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals::direct {
namespace {

/// Of which the remote place is good but can't be reached by load and store.
std::error_code copy_between_processes(Operation& operation, const AddressMap& addresses,
                                       const JobRegion& region) noexcept {
  if (operation.verb != Operation::Verb::put && operation.verb != Operation::Verb::get) return Errc::unsupported;
  if (operation.bytes == 0) return {};
  // relaxed: a RemoteAddress of the peer came by a message, after it had stored its pid.
  const pid_t pid = region.block(operation.remote.rank).pid.load(std::memory_order_relaxed);
  auto* here = static_cast<std::byte*>(operation.local);
  const std::uint64_t there = addresses.address_there(operation.remote);
  const int error = operation.verb == Operation::Verb::put ? write_whole_to_other(pid, {here, operation.bytes}, there)
                                                           : read_whole_from_other(pid, there, {here, operation.bytes});
  return {error, std::generic_category()};
}

std::error_code move_bytes(Rank& rank, Operation& operation) noexcept {
  const AddressMap& addresses = rank.core().addresses();
  const ExposedAccess access(rank.core().region(), rank.id(), operation.remote);
  if (const std::error_code error = addresses.check(operation.remote, operation.bytes)) return error;
  std::byte* there = addresses.reach(operation.remote, operation.bytes);
  if (there == nullptr) return copy_between_processes(operation, addresses, rank.core().region());
  if (operation.is_atomic()) {
    if (!local::is_aligned(there, operation)) return Errc::misaligned;
    local::perform_atomic(operation, there);
  } else if (operation.bytes > 0) {
    const bool is_put = operation.verb == Operation::Verb::put;
    std::memcpy(is_put ? there : operation.local, is_put ? operation.local : there, operation.bytes);
  }
  return {};
}

std::error_code raise_signal(Rank& rank, const Operation& operation) noexcept {
  const ExposedAccess access(rank.core().region(), rank.id(), operation.signal);
  std::byte* counter = rank.core().addresses().reach(operation.signal, sizeof(std::uint64_t));
  if (counter == nullptr) return Errc::out_of_segment;  // withdrawn while the bytes were copied
  local::raise_signal(counter, operation.signal_add, rank.core().region().block(operation.signal.rank).doorbell);
  return {};
}

}  // namespace

void transfer(Rank& rank, Operation& operation) noexcept {
  const AddressMap& addresses = rank.core().addresses();
  std::error_code error = addresses.check(operation.remote, operation.bytes);
  if (!error && operation.signal_add > 0 && addresses.reach(operation.signal, sizeof(std::uint64_t)) == nullptr) {
    error = addresses.check(operation.signal, sizeof(std::uint64_t));
    if (!error) error = Errc::out_of_segment;
  }
  if (!error) error = move_bytes(rank, operation);
  if (!error && operation.signal_add > 0) error = raise_signal(rank, operation);
  operation.finish(error);
}

}  // namespace coracle::internals::direct
