// The message of a time limit that has passed.
#include "runtime/core/combinators.hpp"

#include <fmt/format.h>

namespace coracle::internals::detail {

void throw_timed_out(std::chrono::nanoseconds limit, const std::exception_ptr& error) {
  std::string under_way = "something that is not a std::exception";
  try {
    std::rethrow_exception(error);
  } catch (const Error& caught) {
    if (caught.code() != std::errc::timed_out) throw;  // it failed by itself before the limit
    under_way = caught.what();
  }
  const double seconds = std::chrono::duration<double>(limit).count();
  throw Error(std::make_error_code(std::errc::timed_out),
              fmt::format("not done within the time limit of {:g} s: {}", seconds, under_way));
}

}  // namespace coracle::internals::detail
