// What tasks of one rank wait for from each other: events, locks, permits, conditions, channels.
#pragma once

#include "runtime/core/channel.hpp"
#include "runtime/core/condition.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/mutex.hpp"
#include "runtime/core/semaphore.hpp"

namespace coracle {

using internals::Channel;
using internals::Condition;
using internals::Event;
using internals::Mutex;
using internals::Semaphore;
using internals::uninterrupted;

}  // namespace coracle
