// Checks of the verbs transport between the two ranks of a job, over real queue pairs (tests/guest). Its argument names
// one check; without it all run that leave both ranks alive.
#include <cstdio>
#include <cstring>
#include <string>

#include "tests/verbs/checks.hpp"

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::verbs_checks;

namespace {

struct Check {
  const char* name;
  Task<> (*run)(Pair);
  bool alone;
};

constexpr Check kChecks[] = {{"transfers", transfers, false},
                             {"signals", signals, false},
                             {"atomics", atomics, false},
                             {"messages", messages, false},
                             {"memory", memory, false},
                             {"sleeping", sleeping, false},
                             {"device-atomics", device_atomics, false},
                             {"bad-key", bad_key, true},
                             {"death", death, true}};

std::string wanted;

Task<> checks(Rank& self) {
  CHECK_HERE(self.size() == 2);
  Owned owned(self);
  verbs::VerbsTransport& transport = owned.transport();
  if (self.id() == 0) std::printf("%s\n", transport.endpoint().port().describe().c_str());
  co_await self.world().barrier();
  int count = 0;
  for (const Check& check : kChecks) {
    if (wanted.empty() ? check.alone : wanted != check.name) continue;
    Pair pair{self, transport, 1 - self.id(), owned};
    co_await check.run(pair);
    ++count;
    if (!check.alone) co_await self.world().barrier();
    if (self.id() == 0) std::printf("ok %s\n", check.name);
  }
  CHECK_HERE(count > 0);
  if (!self.core().peers().any_lost())
    while (!transport.leave()) co_await yield();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) wanted = argv[1];
  return run(argc, argv, checks);
}
