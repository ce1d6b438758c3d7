// What an exception that nobody can catch any more says.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

namespace coracle::internals {

/// Its what(), or that it has none.
std::string failure_text(const std::exception_ptr& error);

/// Tells standard error that on `rank` something (`what`, the first half of the sentence) has failed, and how.
void report_failure(std::uint32_t rank, const char* what, const std::exception_ptr& error) noexcept;

}  // namespace coracle::internals
