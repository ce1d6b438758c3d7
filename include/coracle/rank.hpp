// Rank: who this one is, the memory that ranks share, one-sided transfers, signals, atomics, losses.
#pragma once

#include "runtime/job/job.hpp"
#include "runtime/job/remote.hpp"
#include "runtime/job/slab.hpp"
#include "runtime/rank/handle.hpp"
#include "runtime/rank/peers.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/span.hpp"
#include "runtime/rank/started.hpp"
#include "runtime/rank/transfer.hpp"

namespace coracle {

using internals::Exposed;
using internals::Handle;
using internals::Loss;
using internals::Placement;
using internals::Rank;
using internals::rank_from_environment;
using internals::Remote;
using internals::RemoteRange;
using internals::Signal;
using internals::Slab;
using internals::Span;
using internals::start;
using internals::Started;
using internals::Strided;
using internals::to_string;

}  // namespace coracle
