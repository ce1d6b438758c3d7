// Every failure with its reason.
#include "apps/stencil/picture_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include <coracle/error.hpp>

namespace coracle::stencil {

PictureFile::PictureFile(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "wbe")) {
  if (!file_) throw_errno(errno, fmt::format("can't create {}", path));
}

PictureFile::~PictureFile() {
  if (file_) std::fclose(file_);
}

void PictureFile::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) {
    throw_errno(errno, fmt::format("can't write {}", path_));
  }
}

void PictureFile::close() {
  if (std::fclose(std::exchange(file_, nullptr)) != 0) throw_errno(errno, fmt::format("can't write {}", path_));
}

}  // namespace coracle::stencil
