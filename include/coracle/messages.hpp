// Tagged messages between the members of a team.
#pragma once

#include "runtime/messages/send_recv.hpp"
#include "runtime/team/envelope.hpp"

namespace coracle {

using internals::kAnySource;
using internals::kAnyTag;
using internals::MatchedMessage;
using internals::PersistentRecv;
using internals::PersistentSend;
using internals::Received;

}  // namespace coracle
