// MPI_Type_get_contents by hand: some of the integers are constants.
#include "interfaces/mpi/core/construction.hpp"
#include "interfaces/mpi/core_functions.hpp"

#include "interfaces/mpi/by_hand.hpp"
#include "interfaces/mpi/openmpi/entry.hpp"
#include "interfaces/mpi/values.hpp"

namespace coracle::mpi::openmpi {
namespace {

/// The values among a construction's integers that differ between ABIs.
void translate_integers(Combiner combiner, std::span<int> integers) noexcept {
  if (combiner == Combiner::subarray) {
    integers.back() = order_to(integers.back());
  } else if (combiner == Combiner::darray) {
    // size, rank, ndims, sizes, distributions, arguments, processes, order.
    const auto dims = static_cast<std::size_t>(integers[2]);
    for (int& each : integers.subspan(3 + dims, dims)) each = distribution_to(each);
    integers.back() = order_to(integers.back());
  }
}

}  // namespace

namespace by_hand {

void type_get_contents(Datatype* datatype, int max_integers, int max_addresses, int max_datatypes, int* integers,
                       Count* addresses, std::span<Datatype*> datatypes) {
  mpi::type_get_contents(datatype, max_integers, max_addresses, max_datatypes, integers, addresses, datatypes);
  const Construction& made = datatype->construction();
  translate_integers(made.combiner, {integers, made.integers.size()});
}

}  // namespace by_hand
}  // namespace coracle::mpi::openmpi
