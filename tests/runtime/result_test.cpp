// Result: taking the value of whatever one has, and another one instead of an error.
#include "runtime/core/result.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace result_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

Result<std::string> success() {
  return Result<std::string>("a value that is too long to lie in the string itself");
}
Result<std::string> failure() {
  return Result<std::string>(Error(Errc::unsupported, "no such thing"));
}

}  // namespace

TEST_CASE("result: of a constant one the value is there to read, or its error is thrown") {
  const Result<std::string> good = success();
  static_assert(std::is_same_v<decltype(good.value()), const std::string&>);
  CHECK(good.value() == success().value());
  const Result<std::string> bad = failure();
  CHECK_THROWS_WITH_AS(static_cast<void>(bad.value()), "no such thing", Error);
  CHECK(bad.code() == Errc::unsupported);
}

TEST_CASE("result: of a temporary the value is moved out, also one that can't be copied") {
  static_assert(std::is_same_v<decltype(success().value()), std::string&&>);
  std::unique_ptr<int> number = Result<std::unique_ptr<int>>(std::make_unique<int>(7)).value();
  CHECK(*number == 7);
  Result<std::unique_ptr<int>> kept(std::make_unique<int>(8));
  number = std::move(kept).value();
  CHECK(*number == 8);
  CHECK(kept.value() == nullptr);
  CHECK_THROWS_AS(static_cast<void>(failure().value()), Error);
}

TEST_CASE("result: the value of one with a name can be changed") {
  Result<std::string> result = success();
  result.value() = "changed";
  CHECK(result.value() == "changed");
}

TEST_CASE("result: value_or gives another value instead of an error, converted to what is wanted") {
  const Result<std::string> good = success();
  CHECK(good.value_or("none") == success().value());
  const Result<std::string> bad = failure();
  CHECK(bad.value_or("none") == "none");
  CHECK(success().value_or("none") == success().value());
  CHECK(failure().value_or(std::string("none")) == "none");
  CHECK(bad.error().what() == std::string("no such thing"));  // it is still there
  CHECK(*Result<std::unique_ptr<int>>(std::make_unique<int>(7)).value_or(nullptr) == 7);
}

}  // namespace result_test
