// Writing to standard error.
#include "runtime/launch/say.hpp"

#include <unistd.h>

#include "runtime/core/signal_text.hpp"

namespace coracle::internals {

void write_to_user(const std::string& text) {
  write_all(STDERR_FILENO, text);
}

}  // namespace coracle::internals
