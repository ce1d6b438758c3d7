// What becomes of errors that nobody awaits.
#include "runtime/rank/tell.hpp"

#include <fmt/format.h>

#include <array>

#include "runtime/core/error.hpp"

namespace coracle::internals::detail {

void report_told(const Rank& rank, std::uint32_t teller, const std::exception_ptr& error) noexcept {
  std::array<char, 80> what{};  // no memory may be left
  fmt::format_to_n(what.data(), what.size() - 1, "a function that rank {} has told it to run failed", teller);
  report_failure(rank.id(), what.data(), error);
}

}  // namespace coracle::internals::detail
