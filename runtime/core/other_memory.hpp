// Copies between this process's memory and another's of this machine, made by the kernel.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <span>

namespace coracle::internals {

/// As process_vm_readv: from the other process's runs to those here, as many bytes as the shorter list has, or fewer;
/// -1 with errno. A kernel that has no such call, or a container that forbids it, may still give the memory as a file
/// (/proc/PID/mem): then through that, one run after the other. EPERM or ENOSYS where neither may be.
ssize_t read_other_memory(pid_t pid, std::span<const iovec> here, std::span<const iovec> there) noexcept;
/// The same in the other direction, as process_vm_writev.
ssize_t write_other_memory(pid_t pid, std::span<const iovec> here, std::span<const iovec> there) noexcept;

/// Whether an error of these says that the kernel lets no process reach another here.
bool is_other_memory_refused(int error) noexcept;

}  // namespace coracle::internals
