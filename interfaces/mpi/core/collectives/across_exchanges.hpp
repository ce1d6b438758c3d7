// Data moved over an inter-communicator: each block is a message from who has it to who wants it.
#pragma once

#include "interfaces/mpi/core/collectives/across.hpp"
#include "interfaces/mpi/core/collectives/arguments.hpp"
#include "interfaces/mpi/core/collectives/block_list.hpp"
#include "interfaces/mpi/core/numbers.hpp"

namespace coracle::mpi::collectives {

class BroadcastAcross : public AcrossCall {
 public:
  BroadcastAcross(void* buffer, Count count, Datatype* datatype, int root, Comm* comm);

 private:
  // They keep the datatypes.
  SentValues sent_;
  ReceivedValues received_;
};

/// MPI_Gather, MPI_Gatherv.
class GatherAcross : public AcrossCall {
 public:
  GatherAcross(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount,
               Datatype* recvtype, int root, Comm* comm);
  GatherAcross(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Numbers recvcounts,
               Numbers displs, Datatype* recvtype, int root, Comm* comm);

 private:
  void give(const void* sendbuf, Count sendcount, Datatype* sendtype, int root);

  SentValues mine_;
  ReceivedValues all_;
  ReceivedBlocks blocks_;
};

/// MPI_Scatter, MPI_Scatterv.
class ScatterAcross : public AcrossCall {
 public:
  ScatterAcross(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount,
                Datatype* recvtype, int root, Comm* comm);
  ScatterAcross(const void* sendbuf, Numbers sendcounts, Numbers displs, Datatype* sendtype, void* recvbuf,
                Count recvcount, Datatype* recvtype, int root, Comm* comm);

 private:
  void take(void* recvbuf, Count recvcount, Datatype* recvtype, int root);

  SentValues all_;
  SentBlocks blocks_;
  ReceivedValues mine_;
};

/// MPI_Allgather, MPI_Allgatherv.
class GatherAllAcross : public AcrossCall {
 public:
  GatherAllAcross(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount,
                  Datatype* recvtype, Comm* comm);
  GatherAllAcross(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Numbers recvcounts,
                  Numbers displs, Datatype* recvtype, Comm* comm);

 private:
  void give(const void* sendbuf, Count sendcount, Datatype* sendtype);

  SentValues mine_;
  ReceivedValues all_;
  ReceivedBlocks blocks_;
};

/// MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw.
class AllToAllAcross : public AcrossCall {
 public:
  AllToAllAcross(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount,
                 Datatype* recvtype, Comm* comm);
  AllToAllAcross(const void* sendbuf, Numbers sendcounts, Numbers sdispls, Datatype* sendtype, void* recvbuf,
                 Numbers recvcounts, Numbers rdispls, Datatype* recvtype, Comm* comm);
  AllToAllAcross(const void* sendbuf, Numbers sendcounts, Numbers sdispls, std::span<Datatype* const> sendtypes,
                 void* recvbuf, Numbers recvcounts, Numbers rdispls, std::span<Datatype* const> recvtypes, Comm* comm);

 private:
  void exchange_blocks();

  SentValues source_;
  ReceivedValues target_;
  SentBlocks sources_;
  ReceivedBlocks targets_;
};

}  // namespace coracle::mpi::collectives
