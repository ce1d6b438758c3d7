// Infos: keys in order, lengths of values, and MPI_INFO_ENV.
#include "interfaces/mpi/core/info.hpp"

#include <doctest/doctest.h>

#include <string>

#include "interfaces/mpi/core/error.hpp"
#include "interfaces/mpi/core_functions.hpp"
#include "tests/mpi/error_of.hpp"

namespace mpi_info_test {

namespace {

using namespace coracle::mpi;
using coracle::mpi::tests::error_of;

/// "value", or "-" where there is none.
std::string value_of(Info* info, const char* key, int valuelen = 255) {
  std::string value;
  bool flag = false;
  info_get(info, key, valuelen, value, flag);
  return flag ? value : "-";
}

std::string key_of(Info* info, int n) {
  std::string key;
  info_get_nthkey(info, n, key);
  return key;
}

int keys_of(Info* info) {
  int count = -1;
  info_get_nkeys(info, count);
  return count;
}

}  // namespace

TEST_CASE("mpi infos: keys keep the order of their first setting") {
  Info* info = nullptr;
  info_create(info);
  info_set(info, "b", "1");
  info_set(info, "a", "2");
  info_set(info, "b", "3");
  CHECK(keys_of(info) == 2);
  CHECK(key_of(info, 0) == "b");
  CHECK(key_of(info, 1) == "a");
  CHECK(value_of(info, "b") == "3");
  CHECK(value_of(info, "c") == "-");
  info_delete(info, "b");
  CHECK(key_of(info, 0) == "a");
  CHECK(error_of([&] { info_delete(info, "b"); }).is(ErrorClass::info_nokey, "\"b\""));
  CHECK(error_of([&] { key_of(info, 1); }).is(ErrorClass::arg, "n is 1"));
  info_free(info);
  CHECK(info == nullptr);
}

TEST_CASE("mpi infos: a value is cut to valuelen, and its length is told") {
  Info* info = nullptr;
  info_create(info);
  info_set(info, "key", "a value");
  CHECK(value_of(info, "key", 7) == "a value");
  CHECK(value_of(info, "key", 3) == "a v");
  CHECK(value_of(info, "key", 0).empty());
  int length = -1;
  bool flag = false;
  info_get_valuelen(info, "key", length, flag);
  CHECK(flag);
  CHECK(length == 7);
  length = -1;
  info_get_valuelen(info, "none", length, flag);
  CHECK_FALSE(flag);
  CHECK(length == -1);
  info_free(info);
}

TEST_CASE("mpi infos: a duplicate goes its own way") {
  Info* info = nullptr;
  info_create(info);
  info_set(info, "key", "old");
  Info* copy = nullptr;
  info_dup(info, copy);
  info_set(info, "key", "new");
  CHECK(value_of(copy, "key") == "old");
  info_free(info);
  info_free(copy);
}

TEST_CASE("mpi infos: keys and values have limits") {
  Info* info = nullptr;
  info_create(info);
  const auto set = [&](const std::string& key, const std::string& value) {
    return error_of([&] { info_set(info, key.c_str(), value.c_str()); });
  };
  CHECK(set(std::string(kInfoKeyMax - 1, 'k'), std::string(kInfoValueMax - 1, 'v')).code == 0);
  CHECK(set(std::string(kInfoKeyMax, 'k'), "v").is(ErrorClass::info_key, "36 characters"));
  CHECK(set("", "v").is(ErrorClass::info_key, "empty"));
  CHECK(set("k", std::string(kInfoValueMax, 'v')).is(ErrorClass::info_value, "256 characters"));
  CHECK(set("k", "").is(ErrorClass::info_value, "empty"));
  CHECK(error_of([&] { info_set(nullptr, "k", "v"); }).is(ErrorClass::info, "MPI_INFO_NULL"));
  CHECK(error_of([&] { value_of(info, nullptr); }).is(ErrorClass::info_key, "empty"));
  CHECK(keys_of(info) == 1);
  info_free(info);
}

TEST_CASE("mpi infos: MPI_INFO_ENV tells how the program was started, and can't be freed") {
  const std::string long_argument(300, 'x');
  const char* arguments[] = {"program", "-n", "3", long_argument.c_str()};
  describe_environment(arguments, 16, ThreadLevel::funneled);
  Info* info = &environment_info();
  CHECK(value_of(info, "command") == "program");
  CHECK(value_of(info, "argv") == ("-n 3 " + long_argument).substr(0, kInfoValueMax - 1));
  CHECK(value_of(info, "maxprocs") == "16");
  CHECK(value_of(info, "thread_level") == "MPI_THREAD_FUNNELED");
  CHECK(value_of(info, "wdir").front() == '/');
  CHECK(value_of(info, "host") != "-");
  CHECK(error_of([&] { info_free(info); }).is(ErrorClass::info, "MPI_INFO_ENV"));
}

}  // namespace mpi_info_test
