// What the machine must have for a shared address space, and which mode it allows.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/pvas/mode.hpp"
#include "runtime/pvas/partition_layout.hpp"
#include "runtime/pvas/sites.hpp"

namespace coracle::internals::pvas {

/// Everything but the self-test; cheap.
Support check_machine();

/// The arena, less the part of it where this kernel places mappings of its own choice in this process.
Arena usable_arena();

struct ModeChoice {
  Mode mode;
  std::string reason;
};

/// Runs the self-test, unless told not to; what it learns stays in `sites`.
ModeChoice choose_mode(SiteCache& sites, bool force_rlimit);

}  // namespace coracle::internals::pvas
