// What tests and the fuzzer do with bytes that claim to be a layout.
#pragma once

#include <cstddef>
#include <span>

namespace coracle::internals::test {

/// Decodes, and uses what comes out. True if it was a layout, false if it was refused as it must be; anything else that
/// may happen ends the program.
bool read_layout(std::span<const std::byte> bytes);

}  // namespace coracle::internals::test
