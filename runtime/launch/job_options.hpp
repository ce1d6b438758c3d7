// What the user of the launcher asks for.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "runtime/job.hpp"

namespace coracle {

/// Where ranks run.
enum class Binding {
  none,  ///< Wherever the kernel puts them.
  core,  ///< One core each when there are enough cores; else as `none`.
};

struct JobOptions {
  JobShape shape;  ///< `inbox_bytes` as the transports want it; `idle` is the launcher's to fill in.
  std::string program;
  std::vector<std::string> arguments;  ///< Without the program's name.
  Binding binding = Binding::core;
  std::optional<std::chrono::nanoseconds> timeout;  ///< For the whole job.
  bool verbose = false;
};

}  // namespace coracle
