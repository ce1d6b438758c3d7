// run: from main() to the ranks of a job.
#pragma once

#include "runtime/rank/app.hpp"

namespace coracle {

using internals::App;

/// Runs `app(Rank&)` on every rank of the job that `coracle run` has started (or as the only rank, when started alone)
/// and returns the exit status for main(): 0, or 1 after an error, which has been printed with the rank's number.
///
///     Task<> app(Rank& self) { co_await self.world().barrier(); }
///     int main(int argc, char** argv) { return coracle::run(argc, argv, app); }
///
/// `app` may be a function or any callable; in the `thread` and `sim` placements it is called once per rank of this
/// process. The arguments of main are not interpreted.
int run(int argc, char** argv, const App& app);

}  // namespace coracle
