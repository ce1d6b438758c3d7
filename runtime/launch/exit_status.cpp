// The sentence for how a child ended.
#include "runtime/launch/exit_status.hpp"

#include <fmt/format.h>

#include <cstring>

namespace coracle {

std::string ExitStatus::text() const {
  if (signal == 0) return fmt::format("exit status {}", code);
  return fmt::format("killed by signal {} ({})", signal, ::strsignal(signal));
}

}  // namespace coracle
