// The conformance suite: one program that every rank runs, in every placement and over every transport. Started by
// `coracle run`; exit status 0 when all checks of all ranks hold.
#include <coracle/coracle.hpp>

#include <cstdio>
#include <cstring>

#include "tests/conformance/suite.hpp"

using namespace coracle;

namespace {

Task<> suite(Rank& self) {
  const conformance::Part parts[] = {{"transfers", conformance::transfers},
                                     {"handles", conformance::handles},
                                     {"signals", conformance::signals},
                                     {"atomics", conformance::atomics},
                                     {"messages", conformance::messages},
                                     {"tagged messages", conformance::tagged},
                                     {"scattered messages", conformance::scattered},
                                     {"calls", conformance::calls},
                                     {"collectives", conformance::collectives},
                                     {"broadcasts", conformance::broadcasts},
                                     {"family", conformance::family},
                                     {"scattered transfers", conformance::scattered_transfers},
                                     {"scattered blocks to all", conformance::exchanges},
                                     {"errors", conformance::errors}};
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
