// Copies from the memory of another process of this machine by the kernel, between scattered places, too.
#pragma once

#include <sys/types.h>

#include <system_error>

#include "runtime/messages/message_memory.hpp"

namespace coracle::internals {

/// Reads the first `bytes` of `source`, which lies in the process `pid` (only its layout lies here), into `target`:
/// as many runs of both sides per system call as the kernel takes.
std::error_code copy_from_process(pid_t pid, const MessageTarget& target, const MessageSource& source,
                                  std::uint64_t bytes) noexcept;

}  // namespace coracle::internals
