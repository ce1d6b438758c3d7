// Result<T>: a value or an Error, for those who prefer to ask instead of to catch.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "runtime/error.hpp"

namespace coracle {

template <class T = void>
class [[nodiscard]] Result {
 public:
  explicit Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  explicit Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const noexcept { return content_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  /// The value; throws the error when there is none.
  T& value() {
    if (!ok()) throw error();
    return std::get<0>(content_);
  }
  const Error& error() const { return std::get<1>(content_); }
  std::error_code code() const { return ok() ? std::error_code() : error().code(); }

 private:
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
  std::error_code code() const { return error_ ? error_->code() : std::error_code(); }

 private:
  std::optional<Error> error_;
};

}  // namespace coracle
