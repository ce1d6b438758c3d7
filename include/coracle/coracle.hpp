// Coracle: everything that is elsewhere is one co_await. This header is all that a program needs.
#pragma once

#include <coracle/error.hpp>

#include <utility>

#include "collectives/choice/choice_words.hpp"
#include "collectives/choice/tuning.hpp"
#include "collectives/collectives.hpp"
#include "runtime/core/channel.hpp"
#include "runtime/core/combinators.hpp"
#include "runtime/core/condition.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/io.hpp"
#include "runtime/core/mutex.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/core/semaphore.hpp"
#include "runtime/launch/boot.hpp"
#include "runtime/layout/copy.hpp"
#include "runtime/messages/send_recv.hpp"
#include "runtime/rank/distributed.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/rpc.hpp"
#include "runtime/rank/started.hpp"
#include "runtime/rank/tell.hpp"
#include "storage/segment/paged_array.hpp"
#include "storage/segment/paged_segment.hpp"
#include "transports/connect.hpp"
#include "transports/cuda/own_devices.hpp"
#include "transports/sim/simulate.hpp"

// What a program may name: no more than this is in namespace coracle, so that a program's own Clock or Flag does not
// collide with one of the library's. All else is in coracle::internals and may change from day to day.
namespace coracle {

// Ranks, their memory, transfers.
using internals::Exposed;
using internals::Handle;
using internals::Rank;
using internals::Remote;
using internals::RemoteRange;
using internals::Signal;
using internals::Slab;
using internals::Strided;

// Tasks, scopes, waits.
using internals::as_result;
using internals::as_task;
using internals::Channel;
using internals::Condition;
using internals::Event;
using internals::EventLoop;
using internals::First;
using internals::join_quietly;
using internals::Mutex;
using internals::Result;
using internals::Scope;
using internals::Semaphore;
using internals::sleep_for;
using internals::start;
using internals::Started;
using internals::Task;
using internals::turn;
using internals::uninterrupted;
using internals::when_all;
using internals::when_any;
using internals::with_scope;
using internals::with_timeout;
using internals::yield;

// Messages, calls, objects that peers find by their names.
using internals::call_object;
using internals::Distributed;
using internals::fetch_object;
using internals::Handler;
using internals::kAnySource;
using internals::kAnyTag;
using internals::MatchedMessage;
using internals::Message;
using internals::PersistentRecv;
using internals::PersistentSend;
using internals::Received;

// Layouts of scattered data.
using internals::copy;
using internals::Layout;
using internals::LayoutField;
using internals::Order;
using internals::pack;
using internals::ScatteredSource;
using internals::ScatteredTarget;
using internals::unpack;

// Teams, collectives, their choice and tuning; what collectives of one's own are made of.
using internals::Algorithm;
using internals::BroadcastChoice;
using internals::BroadcastMethod;
using internals::BroadcastTree;
using internals::commutative;
using internals::max_of;
using internals::min_of;
using internals::parse_broadcast_choice;
using internals::Participation;
using internals::Team;
using internals::TeamNodes;
using internals::Tuning;

// Files and descriptors.
using internals::Io;
using internals::kNoOffset;

// Segments on SSDs.
using internals::HomeSpread;
using internals::PagedArray;
using internals::PagedCounts;
using internals::PagedOptions;
using internals::PagedSegment;
using internals::PinnedPage;
using internals::SsdModel;

// Losses, placements, the start.
using internals::App;
using internals::Loss;
using internals::Placement;
using internals::rank_from_environment;
using internals::to_string;

/// Runs `app(Rank&)` on every rank of the job that `coracle run` has started (or as the only rank, when started alone)
/// and returns the exit status for main(): 0, or 1 after an error, which has been printed with the rank's number.
///
///     Task<> app(Rank& self) { co_await self.world().barrier(); }
///     int main(int argc, char** argv) { return coracle::run(argc, argv, app); }
///
/// `app` may be a function or any callable; in the `thread` and `sim` placements it is called once per rank of this
/// process. The arguments of main are not interpreted.
inline int run(int, char**, const App& app) {
  using namespace internals;
  static constexpr Wiring wiring{transport_inbox_bytes, connect_transports, say_farewell, simulate, cuda::own_devices};
  return boot(app, wiring);
}

}  // namespace coracle
