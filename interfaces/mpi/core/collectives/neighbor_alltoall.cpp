// MPI_Neighbor_alltoall, MPI_Neighbor_alltoallv, MPI_Neighbor_alltoallw and their forms.
#include "interfaces/mpi/core/collectives/arguments.hpp"
#include "interfaces/mpi/core/collectives/block_list.hpp"
#include "interfaces/mpi/core/collectives/neighbours.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {
namespace collectives {
namespace {

constexpr BlockNames kToNeighbours{"sendcounts", "sdispls"};
constexpr BlockNames kOfNeighbours{"recvcounts", "rdispls"};

class NeighbourExchange : public NeighbourCall {
 public:
  NeighbourExchange(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount,
                    Datatype* recvtype, Comm* comm)
      : NeighbourCall(comm) {
    refuse_places(sendbuf, recvbuf);
    source_ = SentValues(sendbuf, total_of(sendcount, destinations(), "sendcount"), sendtype);
    target_ = ReceivedValues(recvbuf, total_of(recvcount, sources(), "recvcount"), recvtype);
    for (std::uint32_t i = 0; i < destinations(); ++i)
      send(source_of(displaced(sendbuf, i * sendcount * sendtype->extent()), sendcount, sendtype));
    for (std::uint32_t i = 0; i < sources(); ++i)
      receive(target_of(displaced(recvbuf, i * recvcount * recvtype->extent()), recvcount, recvtype));
  }
  /// Of the v kind: `Types` is a datatype for each side; of the w kind an array.
  template <class Types>
  NeighbourExchange(const void* sendbuf, Numbers sendcounts, Numbers sdispls, Types sendtypes, void* recvbuf,
                    Numbers recvcounts, Numbers rdispls, Types recvtypes, Comm* comm)
      : NeighbourCall(comm) {
    refuse_places(sendbuf, recvbuf);
    sources_ = SentBlocks(sendbuf, destinations(), sendcounts, sdispls, sendtypes, kToNeighbours);
    targets_ = ReceivedBlocks(recvbuf, sources(), recvcounts, rdispls, recvtypes, kOfNeighbours);
    for (std::uint32_t i = 0; i < destinations(); ++i) send(sources_.memory(i));
    for (std::uint32_t i = 0; i < sources(); ++i) receive(targets_.memory(i));
  }

 private:
  static void refuse_places(const void* sendbuf, const void* recvbuf) {
    refuse_in_place(sendbuf, "sendbuf");
    refuse_in_place(recvbuf, "recvbuf");
  }

  // They keep the datatypes.
  SentValues source_;
  ReceivedValues target_;
  SentBlocks sources_;
  ReceivedBlocks targets_;
};

}  // namespace
}  // namespace collectives

constinit decltype(neighbor_alltoall) neighbor_alltoall = collectives::FormsOf<collectives::NeighbourExchange>();
constinit decltype(neighbor_alltoallv) neighbor_alltoallv = collectives::FormsOf<collectives::NeighbourExchange>();
constinit decltype(neighbor_alltoallw) neighbor_alltoallw = collectives::FormsOf<collectives::NeighbourExchange>();

}  // namespace coracle::mpi
