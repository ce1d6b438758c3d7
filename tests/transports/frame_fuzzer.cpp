// libFuzzer's entry to the frames of the TCP transport. Its corpus is written by `frame-seeds FOLDER`.
#include <cstddef>
#include <cstdint>

#include "tests/transports/frame_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  test::take_frame_input({reinterpret_cast<const std::byte*>(data), bytes});
  return 0;
}
