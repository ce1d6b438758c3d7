// Texts of exceptions.
#include "runtime/failure.hpp"

#include <cstdio>

#include "runtime/rank.hpp"

namespace coracle::internals {

std::string failure_text(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& caught) {
    return caught.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

void report_failure(const Rank& rank, const char* what, const std::exception_ptr& error) noexcept {
  std::fprintf(stderr, "coracle: rank %u: %s: %s\n", rank.id(), what, failure_text(error).c_str());
}

}  // namespace coracle::internals
