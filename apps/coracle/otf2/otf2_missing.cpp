// In the place of the others here where OTF2's library was not there when Coracle was built.
#include <fmt/format.h>

#include "apps/coracle/otf2/otf2_trace.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals {

std::unique_ptr<TraceOutput> open_otf2_trace(const std::string& path) {
  throw Error(Errc::unsupported,
              fmt::format("can't write the trace to {} (--trace): Coracle was built without OTF2 (install "
                          "libotf2-trace-dev and rebuild, or name a file that ends in .json)",
                          path));
}

}  // namespace coracle::internals
