// What stands in for the verbs transport in builds without libibverbs.
#include "runtime/core/error.hpp"
#include "transports/verbs/support.hpp"

namespace coracle::internals::verbs {

Support probe() {
  return {false, false, "Coracle was built without libibverbs",
          "install libibverbs-dev, then configure with `meson setup -Dverbs=enabled` and build again"};
}

std::unique_ptr<Transport> make_transport(Rank&, Transport&, bool must) {
  if (!must) return nullptr;
  const Support support = probe();
  throw Error(Errc::unsupported, "verbs: " + support.detail + "; " + support.remedy);
}

}  // namespace coracle::internals::verbs
