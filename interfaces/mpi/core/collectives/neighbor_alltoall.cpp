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

using collectives::NeighbourExchange;

void neighbor_alltoall(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount,
                       Datatype* recvtype, Comm* comm) {
  collectives::block(NeighbourExchange(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm));
}

void ineighbor_alltoall(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount,
                        Datatype* recvtype, Comm* comm, Request*& request) {
  collectives::begin<NeighbourExchange>(request, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

void neighbor_alltoall_init(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount,
                            Datatype* recvtype, Comm* comm, Info* /*info*/, Request*& request) {
  collectives::prepare<NeighbourExchange>(request, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

void neighbor_alltoallv(const void* sendbuf, Numbers sendcounts, Numbers sdispls, Datatype* sendtype, void* recvbuf,
                        Numbers recvcounts, Numbers rdispls, Datatype* recvtype, Comm* comm) {
  collectives::block(
      NeighbourExchange(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm));
}

void ineighbor_alltoallv(const void* sendbuf, Numbers sendcounts, Numbers sdispls, Datatype* sendtype, void* recvbuf,
                         Numbers recvcounts, Numbers rdispls, Datatype* recvtype, Comm* comm, Request*& request) {
  collectives::begin<NeighbourExchange>(request, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                                        recvtype, comm);
}

void neighbor_alltoallv_init(const void* sendbuf, Numbers sendcounts, Numbers sdispls, Datatype* sendtype,
                             void* recvbuf, Numbers recvcounts, Numbers rdispls, Datatype* recvtype, Comm* comm,
                             Info* /*info*/, Request*& request) {
  collectives::prepare<NeighbourExchange>(request, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                                          recvtype, comm);
}

void neighbor_alltoallw(const void* sendbuf, Numbers sendcounts, Numbers sdispls, std::span<Datatype* const> sendtypes,
                        void* recvbuf, Numbers recvcounts, Numbers rdispls, std::span<Datatype* const> recvtypes,
                        Comm* comm) {
  collectives::block(
      NeighbourExchange(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm));
}

void ineighbor_alltoallw(const void* sendbuf, Numbers sendcounts, Numbers sdispls, std::span<Datatype* const> sendtypes,
                         void* recvbuf, Numbers recvcounts, Numbers rdispls, std::span<Datatype* const> recvtypes,
                         Comm* comm, Request*& request) {
  collectives::begin<NeighbourExchange>(request, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                                        recvtypes, comm);
}

void neighbor_alltoallw_init(const void* sendbuf, Numbers sendcounts, Numbers sdispls,
                             std::span<Datatype* const> sendtypes, void* recvbuf, Numbers recvcounts, Numbers rdispls,
                             std::span<Datatype* const> recvtypes, Comm* comm, Info* /*info*/, Request*& request) {
  collectives::prepare<NeighbourExchange>(request, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                          rdispls, recvtypes, comm);
}

}  // namespace coracle::mpi
