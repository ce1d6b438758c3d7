// The start of a program: hands the runtime what it must not know, the transports and the last collective.
#include <coracle/run.hpp>

#include "collectives/collectives.hpp"
#include "runtime/launch/boot.hpp"
#include "transports/connect.hpp"
#include "transports/cuda/device_owner.hpp"
#include "transports/sim/simulation.hpp"

namespace coracle {

int run(int, char**, const App& app) {
  static constexpr internals::Wiring wiring{
      .inbox_bytes = internals::transport_inbox_bytes,
      .connect = internals::connect_transports,
      .finalize = internals::finalize_job,
      .simulate = internals::simulate,
      .own_devices = internals::cuda::own_devices,
  };
  return internals::boot(app, wiring);
}

}  // namespace coracle
