// CORACLE_ASSERT: always-on check for a programmer's mistake. Says the condition, the values and the place, then
// aborts, so that the launcher can report rank, signal and backtrace.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace coracle::internals {

/// One of the values in an assertion's message. It refers to texts.
class AssertedValue {
 public:
  enum class Kind : std::uint8_t { signed_number, unsigned_number, real_number, text };

  template <std::signed_integral T>
  AssertedValue(T value) noexcept : kind(Kind::signed_number), signed_number(value) {}
  template <std::unsigned_integral T>
  AssertedValue(T value) noexcept : kind(Kind::unsigned_number), unsigned_number(value) {}
  AssertedValue(double value) noexcept : kind(Kind::real_number), real_number(value) {}
  template <std::convertible_to<std::string_view> T>
  AssertedValue(const T& value) : kind(Kind::text), text(value) {}

  Kind kind;
  union {
    std::int64_t signed_number;
    std::uint64_t unsigned_number;
    double real_number;
    std::string_view text;
  };
};

/// A format as that of fmt, with as many places as there are values: the compiler looks. (What is in a place it does
/// not know: that would take all of fmt in every header.)
template <std::size_t Values>
class AssertionFormat {
 public:
  consteval AssertionFormat(const char* format) : text_(format) {
    std::size_t places = 0;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (text_[i] != '{') continue;
      if (text_[i + 1] == '{')
        ++i;
      else
        ++places;
    }
    if (places != Values) throw "the format of an assertion has not one place for each value";
  }
  std::string_view text() const noexcept { return text_; }

 private:
  std::string_view text_;
};

/// Prints the failed condition and aborts; never returns. Any thread.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line, std::string_view format,
                                   std::initializer_list<AssertedValue> values) noexcept;

/// The same, for the macro.
template <class... Values>
[[noreturn, gnu::cold, gnu::noinline]] void fail_assertion(const char* condition, const char* file, int line,
                                                           AssertionFormat<sizeof...(Values)> format,
                                                           const Values&... values) {
  assertion_failed(condition, file, line, format.text(), {AssertedValue(values)...});
}

/// Who can tell which rank the calling thread is (-1: none), for assertions to say so. Null: nobody.
void name_rank_in_assertions(int (*rank_running_here)() noexcept) noexcept;

}  // namespace coracle::internals

/// CORACLE_ASSERT(condition, "format", values...): the values, numbers and texts, are evaluated only when the condition
/// is false.
#define CORACLE_ASSERT(condition, ...)                                                   \
  do {                                                                                   \
    if (!(condition)) [[unlikely]]                                                       \
      ::coracle::internals::fail_assertion(#condition, __FILE__, __LINE__, __VA_ARGS__); \
  } while (false)
