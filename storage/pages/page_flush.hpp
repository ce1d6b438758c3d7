// What was put through a cache becomes durable at the homes of its pages.
#pragma once

#include "runtime/core/task.hpp"

namespace coracle::internals::storage {

class CacheKeeper;

/// What was put through this cache before is durable when it returns. Throws the first failure.
Task<> flush(CacheKeeper& keeper);

}  // namespace coracle::internals::storage
