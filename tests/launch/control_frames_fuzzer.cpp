// libFuzzer's way into the control frames: meson configure build/clang -Dfuzz=enabled, then
// tests/launch/control-frames-fuzzer FOLDER.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/launch/control_frames_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  coracle::internals::test::read_control_stream(std::as_bytes(std::span(data, size)));
  return 0;
}
