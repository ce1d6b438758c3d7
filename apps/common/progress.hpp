// One line on a terminal that says how far the work is.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace coracle {

/// Prints to standard error, and only where that is a terminal.
class ProgressLine {
 public:
  explicit ProgressLine(bool is_wanted);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Some times a second at most; cheap between.
  void show(std::size_t done, std::size_t all);

  /// Makes room for other output.
  void clear();

 private:
  bool is_shown_;
  bool is_dirty_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace coracle
