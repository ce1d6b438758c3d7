// What was put through a cache becomes durable at the homes of its pages.
#pragma once

#include "runtime/core/task.hpp"

namespace coracle::internals::storage {

class CacheController;

/// What was put through this cache before is durable when it returns. Throws the first failure.
Task<> flush(CacheController& controller);

}  // namespace coracle::internals::storage
