// Texts of exceptions.
#include "runtime/core/failure.hpp"

#include <cstdio>

namespace coracle::internals {
namespace {

constexpr const char* kNoText = "an exception that is not a std::exception";

}  // namespace

std::string failure_text(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& caught) {
    return caught.what();
  } catch (...) {
    return kNoText;
  }
}

// Allocates nothing: what is told may be that there is no memory.
void report_failure(std::uint32_t rank, const char* what, const std::exception_ptr& error) noexcept {
  const auto say = [&](const char* how) { std::fprintf(stderr, "coracle: rank %u: %s: %s\n", rank, what, how); };
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& caught) {
    say(caught.what());
  } catch (...) {
    say(kNoText);
  }
}

}  // namespace coracle::internals
