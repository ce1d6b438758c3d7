// MPI_Neighbor_allgather, MPI_Neighbor_allgatherv and their forms.
#include "interfaces/mpi/core/collectives/arguments.hpp"
#include "interfaces/mpi/core/collectives/block_list.hpp"
#include "interfaces/mpi/core/collectives/neighbours.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {
namespace collectives {
namespace {

constexpr BlockNames kFromNeighbours{"recvcounts", "displs"};

class NeighbourGather : public NeighbourCall {
 public:
  NeighbourGather(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount,
                  Datatype* recvtype, Comm* comm)
      : NeighbourCall(comm) {
    give(sendbuf, sendcount, sendtype);
    refuse_in_place(recvbuf, "recvbuf");
    const ReceivedValues all(recvbuf, total_of(recvcount, sources(), "recvcount"), recvtype);
    all_ = all;
    for (std::uint32_t i = 0; i < sources(); ++i)
      receive(target_of(displaced(recvbuf, i * recvcount * recvtype->extent()), recvcount, recvtype));
  }
  NeighbourGather(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Numbers recvcounts,
                  Numbers displs, Datatype* recvtype, Comm* comm)
      : NeighbourCall(comm) {
    give(sendbuf, sendcount, sendtype);
    refuse_in_place(recvbuf, "recvbuf");
    blocks_ = ReceivedBlocks(recvbuf, sources(), recvcounts, displs, recvtype, kFromNeighbours);
    for (std::uint32_t i = 0; i < sources(); ++i) receive(blocks_.memory(i));
  }

 private:
  void give(const void* sendbuf, Count sendcount, Datatype* sendtype) {
    refuse_in_place(sendbuf, "sendbuf");
    mine_ = SentValues(sendbuf, sendcount, sendtype);
    for (std::uint32_t i = 0; i < destinations(); ++i) send(mine_.memory());
  }

  // They keep the datatypes.
  SentValues mine_;
  ReceivedValues all_;
  ReceivedBlocks blocks_;
};

}  // namespace
}  // namespace collectives

constinit decltype(neighbor_allgather) neighbor_allgather = collectives::FormsOf<collectives::NeighbourGather>();
constinit decltype(neighbor_allgatherv) neighbor_allgatherv = collectives::FormsOf<collectives::NeighbourGather>();

}  // namespace coracle::mpi
