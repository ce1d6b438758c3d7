// Copies between this process's memory and another's of this machine, made by the kernel.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace coracle::internals {

/// As process_vm_readv: from the other process's runs to those here, as many bytes as the shorter list has, or fewer;
/// -1 with errno. A kernel that has no such call, or a container that forbids it, may still give the memory as a file
/// (/proc/PID/mem): then through that, one run after the other. EPERM or ENOSYS where neither may be.
ssize_t read_other_memory(pid_t pid, std::span<const iovec> here, std::span<const iovec> there) noexcept;
/// The same in the other direction, as process_vm_writev.
ssize_t write_other_memory(pid_t pid, std::span<const iovec> here, std::span<const iovec> there) noexcept;

/// All of `target` from `there` of the other process, or all of `source` to it: 0 or an errno.
int read_whole_from_other(pid_t pid, std::uint64_t there, std::span<std::byte> target) noexcept;
int write_whole_to_other(pid_t pid, std::span<const std::byte> source, std::uint64_t there) noexcept;

/// Whether an error of these says that the kernel lets no process reach another here.
bool is_other_memory_refused(int error) noexcept;

/// Lets other processes of this user, such as a job's ranks, reach this one's memory where Yama asks for permission.
void permit_other_processes() noexcept;

/// Whether processes that permit it reach each other's memory here, though neither has started the other: tried by a
/// child, which reads from this process. This process permits it no longer then.
bool is_other_memory_in_reach() noexcept;

}  // namespace coracle::internals
