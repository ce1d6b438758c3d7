// A file of an application: opened here, read and written by the rank's loop.
#pragma once

#include <coracle/coracle.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle {

/// Closed with this object; nothing may be in flight then. Throws Error with the path from every function.
class File {
 public:
  static File open(const std::string& path);
  /// For writing and reading. An existing file is refused unless `replace`, which empties it.
  static File create(const std::string& path, bool replace);
  /// One that another rank has created, for writing and reading; not through a symbolic link.
  static File open_to_write(const std::string& path);
  File(File&& other) noexcept;
  File& operator=(File&&) = delete;
  ~File();

  const std::string& path() const noexcept { return path_; }
  int descriptor() const noexcept { return descriptor_; }
  std::uint64_t bytes() const;
  /// Takes the space for `bytes`, so that what does not fit fails now, where the file system can.
  void reserve(std::uint64_t bytes) const;

 private:
  File(std::string path, int flags);
  std::string path_;
  int descriptor_;
};

/// All of it; throws Error where the file ends before. `file` and `target` belong to it until it has returned.
Task<> read_fully(Io& io, const File& file, std::uint64_t offset, std::byte* target, std::size_t bytes);
Task<> write_fully(Io& io, const File& file, std::uint64_t offset, const std::byte* source, std::size_t bytes);

/// A file written at once: a report, a picture.
void write_whole(std::string_view bytes, const std::string& path);
/// Throws Error where that will not be possible. An old file keeps its text; where there is none, none is left, so that
/// a program that fails leaves none either.
void check_writable(const std::string& path);

/// All of a file, or of a pipe. Throws Error (bad_input) where it can't be read, with `wanted` ("a readable picture"),
/// where it is compressed by gzip, and where it is larger than so many GiB, with `too_large` ("cut the picture").
std::string read_whole(const std::string& path, std::size_t gib_max, std::string_view wanted,
                       std::string_view too_large);

}  // namespace coracle
