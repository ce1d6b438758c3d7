// Files for results, which are tried before the results are there.
#include "apps/common/file.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/apps/temporary_folder.hpp"

namespace coracle::file_test {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("files: to try whether results can be written leaves no file where there was none") {
  const apps_test::TemporaryFolder folder;
  const std::string path = folder.file("report");
  check_writable(path);
  CHECK(!std::filesystem::exists(path));
  CHECK_THROWS_WITH_AS(check_writable(folder.file("none/report")), doctest::Contains("can't create"), Error);
}

TEST_CASE("files: to try whether results can be written keeps the text of an old file") {
  const apps_test::TemporaryFolder folder;
  const std::string path = folder.file("report");
  write_whole("old", path);
  check_writable(path);
  CHECK(text_of(path) == "old");
  std::filesystem::create_symlink(path, folder.file("link"));
  check_writable(folder.file("link"));
  CHECK(text_of(path) == "old");
  CHECK(std::filesystem::is_symlink(folder.file("link")));
}

}  // namespace coracle::file_test
