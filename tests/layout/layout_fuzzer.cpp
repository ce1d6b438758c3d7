// libFuzzer's way into encoded layouts: meson configure build/clang -Dfuzz=enabled, then tests/layout/layout-fuzzer
// FOLDER.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/layout/encoding_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  coracle::internals::test::read_layout(std::as_bytes(std::span(data, size)));
  return 0;
}
