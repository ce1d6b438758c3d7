// Layouts of scattered data, and copies between them.
#pragma once

#include "runtime/layout/layout.hpp"

namespace coracle {

using internals::copy;
using internals::Layout;
using internals::LayoutField;
using internals::Order;
using internals::pack;
using internals::ScatteredSource;
using internals::ScatteredTarget;
using internals::unpack;

}  // namespace coracle
