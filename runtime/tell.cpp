// What becomes of errors that nobody awaits.
#include "runtime/tell.hpp"

#include <fmt/format.h>

#include "runtime/failure.hpp"

namespace coracle::internals::detail {

void report_told(const Rank& rank, std::uint32_t teller, const std::exception_ptr& error) noexcept {
  report_failure(rank, fmt::format("a function that rank {} has told it to run failed", teller).c_str(), error);
}

}  // namespace coracle::internals::detail
