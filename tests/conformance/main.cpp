// The conformance suite: one program that every rank runs, in every placement and over every transport. Started by
// `coracle run`; exit status 0 when all checks of all ranks hold.
#include <coracle/coracle.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "tests/conformance/suite.hpp"
#include "transports/tca/tca_transport.hpp"

using namespace coracle;
using namespace coracle::internals;

namespace {

/// Asked for by the tests of devices that fail: tables hang, completion words come late, credits get lost.
Task<> break_device(tca::RemoteDmaDevice& device, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  // By count: the slower the machine, the longer its jobs, and each table that hangs makes them longer.
  const auto tables_per_stall = static_cast<unsigned>(1536 + random() % 1024);
  for (;;) {
    co_await sleep_for(std::chrono::microseconds(random() % 3000));
    tca::DeviceFaults faults;
    faults.tables_per_stall = tables_per_stall;
    faults.late_words = random() % 4 == 0 ? 2 : 0;
    faults.late_ns = random() % 200'000;
    faults.lost_stores = random() % 4 == 0 ? static_cast<unsigned>(random() % 4) : 0;
    device.break_down(faults);
  }
}

Task<> suite(Rank& self) {
  if (const char* seed = std::getenv("CORACLE_DEVICE_FAULTS"); seed != nullptr) {
    auto& transport = dynamic_cast<tca::TcaTransport&>(self.core().transport());
    self.service().spawn(break_device(transport.device(), std::strtoull(seed, nullptr, 10) * 1000 + self.id()));
  }
  const conformance::Part parts[] = {{"transfers", conformance::transfers},
                                     {"handles", conformance::handles},
                                     {"signals", conformance::signals},
                                     {"atomics", conformance::atomics},
                                     {"more atomics", conformance::more_atomics},
                                     {"messages", conformance::messages},
                                     {"tagged messages", conformance::tagged},
                                     {"scattered messages", conformance::scattered},
                                     {"calls", conformance::calls},
                                     {"collectives", conformance::collectives},
                                     {"broadcasts", conformance::broadcasts},
                                     {"family", conformance::family},
                                     {"elements of reductions", conformance::elements},
                                     {"scattered transfers", conformance::scattered_transfers},
                                     {"scattered blocks to all", conformance::exchanges},
                                     {"collectives of two", conformance::pairs},
                                     {"values", conformance::values},
                                     {"functions that are told", conformance::tells},
                                     {"distributed objects", conformance::distributed_objects},
                                     {"errors", conformance::errors},
                                     {"places that are none", conformance::missing_places}};
  for (const auto& part : parts) {
    co_await part.run(self);
    co_await self.world().barrier();
    if (self.id() == 0) std::printf("ok %s\n", part.name);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, suite);
}
