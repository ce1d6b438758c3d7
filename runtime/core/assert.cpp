// The cold half of CORACLE_ASSERT.
#include "runtime/core/assert.hpp"

#include <fmt/args.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace coracle::internals {
namespace {

std::atomic<int (*)() noexcept> rank_namer = nullptr;

std::string message_of(std::string_view format, std::initializer_list<AssertedValue> values) {
  fmt::dynamic_format_arg_store<fmt::format_context> arguments;
  for (const AssertedValue& value : values) {
    switch (value.kind) {
      case AssertedValue::Kind::signed_number:
        arguments.push_back(value.signed_number);
        break;
      case AssertedValue::Kind::unsigned_number:
        arguments.push_back(value.unsigned_number);
        break;
      case AssertedValue::Kind::real_number:
        arguments.push_back(value.real_number);
        break;
      case AssertedValue::Kind::text:
        arguments.push_back(value.text);
        break;
    }
  }
  try {
    return fmt::vformat(format, arguments);
  } catch (const fmt::format_error&) {  // which the compiler does not see: better the bare format than no word
    return std::string(format);
  }
}

}  // namespace

void name_rank_in_assertions(int (*rank_running_here)() noexcept) noexcept {
  rank_namer.store(rank_running_here);
}

void assertion_failed(const char* condition, const char* file, int line, std::string_view format,
                      std::initializer_list<AssertedValue> values) noexcept {
  const std::string message = message_of(format, values);
  char who[32] = "";
  const auto namer = rank_namer.load();
  if (const int rank = namer == nullptr ? -1 : namer(); rank >= 0) std::snprintf(who, sizeof who, "rank %d: ", rank);
  std::fprintf(stderr, "coracle: %sassertion failed: %s: %.*s (%s:%d)\n", who, condition,
               static_cast<int>(message.size()), message.data(), file, line);
  std::abort();
}

}  // namespace coracle::internals
