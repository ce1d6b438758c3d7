// Reaching memory of another process that is not in the job's region: by the kernel.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>

#include "runtime/job/address_map.hpp"
#include "runtime/rank/operation.hpp"

namespace coracle::internals::direct {

/// Does a put or get whose remote place is good but can't be reached by load and store. Atomics give Errc::unsupported.
std::error_code copy_between_processes(Operation& operation, const AddressMap& addresses,
                                       const JobRegion& region) noexcept;

/// Fills `target` from `address` of the process `pid`: 0 or an errno.
int read_from_process(pid_t pid, std::uint64_t address, std::span<std::byte> target) noexcept;

/// Lets any process of this user reach our memory where the kernel asks for that (Yama). Call once per process.
void permit_access_by_peers() noexcept;

}  // namespace coracle::internals::direct
