// libFuzzer's entry to the frames of the TCP transport. `frame-seeds FOLDER` writes a corpus to start from; what was
// worth keeping is in frame_corpus, which the unit tests read.
#include <cstddef>
#include <cstdint>

#include "tests/transports/frame_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  coracle::internals::test::take_frame_input({reinterpret_cast<const std::byte*>(data), bytes});
  return 0;
}
