// Coracle: everything that is elsewhere is one co_await. This header is all that a program needs.
#pragma once

#include <utility>

#include "collectives/collectives.hpp"
#include "runtime/boot.hpp"
#include "runtime/channel.hpp"
#include "runtime/combinators.hpp"
#include "runtime/condition.hpp"
#include "runtime/distributed.hpp"
#include "runtime/event.hpp"
#include "runtime/io.hpp"
#include "runtime/join.hpp"
#include "runtime/layout/copy.hpp"
#include "runtime/messages/send_recv.hpp"
#include "runtime/mutex.hpp"
#include "runtime/rank.hpp"
#include "runtime/rpc.hpp"
#include "runtime/semaphore.hpp"
#include "runtime/started.hpp"
#include "runtime/tell.hpp"
#include "storage/paged_array.hpp"
#include "storage/paged_segment.hpp"
#include "transports/connect.hpp"
#include "transports/cuda/own_devices.hpp"
#include "transports/sim/simulate.hpp"

namespace coracle {

/// Runs `app(Rank&)` on every rank of the job that `coracle run` has started (or as the only rank, when started alone)
/// and returns the exit status for main(): 0, or 1 after an error, which has been printed with the rank's number.
///
///     Task<> app(Rank& self) { co_await self.world().barrier(); }
///     int main(int argc, char** argv) { return coracle::run(argc, argv, app); }
///
/// `app` may be a function or any callable; in the `thread` and `sim` placements it is called once per rank of this
/// process. The arguments of main are not interpreted.
inline int run(int, char**, const App& app) {
  static constexpr Wiring wiring{transport_inbox_bytes, connect_transports, say_farewell, simulate, cuda::own_devices};
  return boot(app, wiring);
}

}  // namespace coracle
