// The start of a program: hands the runtime what it must not know, the transports and the last collective.
#include "collectives/run.hpp"

#include "collectives/collectives.hpp"
#include "runtime/launch/boot.hpp"
#include "transports/connect.hpp"
#include "transports/cuda/own_devices.hpp"
#include "transports/sim/simulate.hpp"

namespace coracle {

int run(int, char**, const internals::App& app) {
  using namespace internals;
  static constexpr Wiring wiring{transport_inbox_bytes, connect_transports, say_farewell, simulate, cuda::own_devices};
  return boot(app, wiring);
}

}  // namespace coracle
