// The file behind a picture, shared by the formats: it says which file failed, and why.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace coracle::stencil {

/// Throws Error with the system's reason from every function.
class PictureFile {
 public:
  explicit PictureFile(const std::string& path);
  ~PictureFile();
  PictureFile(const PictureFile&) = delete;
  PictureFile& operator=(const PictureFile&) = delete;

  void write(std::string_view bytes);

  /// Call last: only then is all written.
  void close();

 private:
  std::string path_;
  std::FILE* file_;
};

}  // namespace coracle::stencil
