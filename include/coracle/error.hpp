// Errors alone, for sources that need no more of Coracle.
#pragma once

#include "runtime/core/error.hpp"

namespace coracle {

using internals::Errc;
using internals::Error;
using internals::make_error_code;
using internals::throw_errno;

}  // namespace coracle
