// Result<T>: a value or an Error, for those who prefer to ask instead of to catch.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "runtime/core/error.hpp"

namespace coracle::internals {

template <class T = void>
class [[nodiscard]] Result {
 public:
  explicit Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  explicit Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const noexcept { return content_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  /// The value; throws the error when there is none. Of a temporary the value is moved out:
  /// `T x = (co_await as_result(f())).value();`
  T& value() & {
    check();
    return *std::get_if<0>(&content_);
  }
  const T& value() const& {
    check();
    return *std::get_if<0>(&content_);
  }
  T&& value() && { return std::move(value()); }
  const T&& value() const&& { return std::move(value()); }
  /// The value, or `other` when there is none. The error is not lost: it stays in error().
  template <class U>
  T value_or(U&& other) const& {
    return ok() ? *std::get_if<0>(&content_) : static_cast<T>(std::forward<U>(other));
  }
  template <class U>
  T value_or(U&& other) && {
    return ok() ? std::move(*std::get_if<0>(&content_)) : static_cast<T>(std::forward<U>(other));
  }
  /// Only when !ok().
  const Error& error() const { return std::get<1>(content_); }
  std::error_code code() const { return ok() ? std::error_code() : error().code(); }

 private:
  void check() const {
    if (!ok()) throw Error(error());
  }
  std::variant<T, Error> content_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  explicit Result(Error error) : error_(std::move(error)) {}

  bool ok() const noexcept { return !error_; }
  explicit operator bool() const noexcept { return ok(); }
  void value() const {
    if (error_) throw Error(*error_);
  }
  /// Only when !ok().
  const Error& error() const { return *error_; }  // NOLINT(bugprone-unchecked-optional-access)
  const std::optional<Error>& failure() const noexcept { return error_; }
  std::error_code code() const { return error_ ? error_->code() : std::error_code(); }

 private:
  std::optional<Error> error_;
};

}  // namespace coracle::internals
