// Whether system-call sites can be redirected on this machine: security policies may forbid it, and a libc may ask the
// kernel in a form that we don't know.
#pragma once

#include <string>

#include "runtime/pvas/sites.hpp"

namespace coracle::internals::pvas {

/// Redirects and calls a site of its own, and redirects a copy of the dynamic linker and the libc that this process
/// runs with; what is learned of them stays in `sites`. Returns why it does not work, or nothing when it does. Leaves
/// no mappings.
std::string self_test(SiteCache& sites);

}  // namespace coracle::internals::pvas
