// A folder for one test, gone with it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "runtime/core/assert.hpp"

namespace coracle::apps_test {

class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "coracle-test-XXXXXX").string()) {
    CORACLE_ASSERT(mkdtemp(path_.data()) != nullptr, "can't make {}", path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace coracle::apps_test
