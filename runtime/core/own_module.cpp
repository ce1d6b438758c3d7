// What the linker knows of the file that it made.
#include "runtime/core/own_module.hpp"

// Laid down by the linker in each file that it makes. Hidden: not another's.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's own names
[[gnu::visibility("hidden")]] extern const char __ehdr_start;
[[gnu::visibility("hidden")]] extern const char etext;
[[gnu::visibility("hidden")]] extern const char edata;
// NOLINTEND(bugprone-reserved-identifier)
}

namespace coracle::internals {

const OwnModule kOwnModule{&__ehdr_start, &etext, &edata};

}  // namespace coracle::internals
