// In the place of pmix_client.cpp where PMIx's headers were not there when Coracle was built.
#include "runtime/core/error.hpp"
#include "runtime/launch/pmix_client.hpp"

namespace coracle::internals {

std::unique_ptr<PmixClient> PmixClient::connect() {
  throw Error(
      Errc::unsupported,
      "a resource manager has started this process, but Coracle was built without PMIx (install libpmix-dev and "
      "rebuild, or unset PMIX_NAMESPACE to run without)");
}

PmixClient::Support PmixClient::probe() {
  return {false, "built without PMIx", "install libpmix-dev and rebuild, for mpirun and srun --mpi=pmix"};
}

}  // namespace coracle::internals
