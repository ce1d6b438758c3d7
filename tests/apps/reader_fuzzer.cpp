// libFuzzer's way into the graph readers: meson configure build/clang -Dfuzz=enabled, then tests/apps/reader-fuzzer
// FOLDER. The first byte chooses the format.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "apps/asp/readers.hpp"
#include "runtime/core/error.hpp"

using coracle::asp::GraphFormat;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    coracle::asp::parse_graph("fuzzed", text, static_cast<GraphFormat>(data[0] % 4));
  } catch (const coracle::internals::Error& error) {
    if (error.code() != coracle::internals::Errc::bad_input) throw;
  }
  return 0;
}
