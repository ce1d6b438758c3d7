// Calls of functions at peers, with an answer and without; objects that peers find by their names; active messages.
#pragma once

#include "runtime/rank/distributed.hpp"
#include "runtime/rank/message.hpp"
#include "runtime/rank/rpc.hpp"

namespace coracle {

using internals::call_object;
using internals::Distributed;
using internals::fetch_object;
using internals::Handler;
using internals::Message;

}  // namespace coracle
