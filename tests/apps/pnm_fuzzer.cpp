// libFuzzer's way into the reader of pictures: meson configure build/clang -Dfuzz=enabled, then tests/apps/pnm-fuzzer
// FOLDER.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "apps/fft2d/pnm.hpp"
#include "runtime/core/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace coracle::fft2d;
  try {
    const Picture picture = parse_pnm("fuzzed", {reinterpret_cast<const char*>(data), size});
    if (parse_pnm("again", to_pnm(picture)).samples != picture.samples) std::abort();
  } catch (const coracle::internals::Error& error) {
    if (error.code() != coracle::internals::Errc::bad_input) throw;
  }
  return 0;
}
