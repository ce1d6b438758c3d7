// OutputFile: a file that is made before what it is to hold is known.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace coracle::internals {

/// One that nothing was written to is not left behind, unless it was there before.
class OutputFile {
 public:
  /// Throws Error, whose text begins with `cannot`: "can't write the trace to t.json".
  OutputFile(std::string path, const std::string& cannot);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const noexcept { return path_; }
  /// Until finish().
  std::FILE* get() const noexcept { return file_.get(); }
  /// Once, when all is written, or could not be. "": it is whole; else why it is not.
  std::string finish(bool is_written);

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  std::string path_;
  bool was_there_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace coracle::internals
