// What tests of the control frames share: a stream of real frames, and a reader that must survive any bytes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace coracle::internals::test {

/// A valid stream: prelude, and one frame of every type with a payload.
std::vector<std::byte> control_stream_bytes();

/// Reads the stream as a launcher would. False when it is refused, by Error (bad_input, unsupported); anything else
/// escapes.
bool read_control_stream(std::span<const std::byte> bytes);

}  // namespace coracle::internals::test
