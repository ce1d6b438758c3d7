// What CUDA's errors mean, and what to do about them, in words.
#pragma once

#include <string>

#include "transports/cuda/api.hpp"

namespace coracle::internals::cuda {

/// "cudaErrorNoDevice (no CUDA-capable device is detected)".
std::string describe(const MemoryApi& api, Status status);
/// What the user can do; "" where only the program can.
const char* remedy_of(Status status) noexcept;
/// Whether after this error the device refuses all further work of this process.
bool ends_context(Status status) noexcept;

/// Throws Error "`what`: `status`; remedy": not enough memory as ENOMEM, what is missing as unsupported, others as EIO.
[[noreturn]] void throw_status(const MemoryApi& api, Status status, const std::string& what);
/// Throws unless it is kSuccess.
void require(const MemoryApi& api, Status status, const char* what);

}  // namespace coracle::internals::cuda
