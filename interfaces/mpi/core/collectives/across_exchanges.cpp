// Which blocks go to whom on the other side.
#include "interfaces/mpi/core/collectives/across_exchanges.hpp"

namespace coracle::mpi::collectives {
namespace {

constexpr BlockNames kFromOthers{"recvcounts", "displs"};
constexpr BlockNames kToOthers{"sendcounts", "displs"};
constexpr BlockNames kExchangedSent{"sendcounts", "sdispls"};
constexpr BlockNames kExchangedReceived{"recvcounts", "rdispls"};

/// Of `place`, in a row of blocks of `count` values each.
MessageSource block_of(const void* buffer, std::uint32_t place, Count count, const Datatype& datatype) {
  return source_of(displaced(buffer, place * count * datatype.extent()), count, &datatype);
}
MessageTarget block_of(void* buffer, std::uint32_t place, Count count, const Datatype& datatype) {
  return target_of(displaced(buffer, place * count * datatype.extent()), count, &datatype);
}

}  // namespace

BroadcastAcross::BroadcastAcross(void* buffer, Count count, Datatype* datatype, int root, Comm* comm)
    : AcrossCall(comm) {
  const Part part = part_of(*comm, root);
  if (part == Part::nothing) return;
  refuse_in_place(buffer, "buffer");
  if (part == Part::other) {
    received_ = ReceivedValues(buffer, count, datatype);
    receive(root, received_.memory());
  } else {
    sent_ = SentValues(buffer, count, datatype);
    for (int place = 0; place < comm->peers(); ++place) send(place, sent_.memory());
  }
}

void GatherAcross::give(const void* sendbuf, Count sendcount, Datatype* sendtype, int root) {
  refuse_in_place(sendbuf, "sendbuf");
  mine_ = SentValues(sendbuf, sendcount, sendtype);
  send(root, mine_.memory());
}

GatherAcross::GatherAcross(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount,
                           Datatype* recvtype, int root, Comm* comm)
    : AcrossCall(comm) {
  const Part part = part_of(*comm, root);
  if (part == Part::other) give(sendbuf, sendcount, sendtype, root);
  if (part != Part::root) return;
  refuse_in_place(recvbuf, "recvbuf");
  all_ = ReceivedValues(recvbuf, total_of(recvcount, remote(), "recvcount"), recvtype);
  for (std::uint32_t i = 0; i < remote(); ++i) receive(static_cast<int>(i), block_of(recvbuf, i, recvcount, *recvtype));
}

GatherAcross::GatherAcross(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Numbers recvcounts,
                           Numbers displs, Datatype* recvtype, int root, Comm* comm)
    : AcrossCall(comm) {
  const Part part = part_of(*comm, root);
  if (part == Part::other) give(sendbuf, sendcount, sendtype, root);
  if (part != Part::root) return;
  refuse_in_place(recvbuf, "recvbuf");
  blocks_ = ReceivedBlocks(recvbuf, remote(), recvcounts, displs, recvtype, kFromOthers);
  for (std::uint32_t i = 0; i < remote(); ++i) receive(static_cast<int>(i), blocks_.memory(i));
}

void ScatterAcross::take(void* recvbuf, Count recvcount, Datatype* recvtype, int root) {
  refuse_in_place(recvbuf, "recvbuf");
  mine_ = ReceivedValues(recvbuf, recvcount, recvtype);
  receive(root, mine_.memory());
}

ScatterAcross::ScatterAcross(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount,
                             Datatype* recvtype, int root, Comm* comm)
    : AcrossCall(comm) {
  const Part part = part_of(*comm, root);
  if (part == Part::other) take(recvbuf, recvcount, recvtype, root);
  if (part != Part::root) return;
  refuse_in_place(sendbuf, "sendbuf");
  all_ = SentValues(sendbuf, total_of(sendcount, remote(), "sendcount"), sendtype);
  for (std::uint32_t i = 0; i < remote(); ++i) send(static_cast<int>(i), block_of(sendbuf, i, sendcount, *sendtype));
}

ScatterAcross::ScatterAcross(const void* sendbuf, Numbers sendcounts, Numbers displs, Datatype* sendtype, void* recvbuf,
                             Count recvcount, Datatype* recvtype, int root, Comm* comm)
    : AcrossCall(comm) {
  const Part part = part_of(*comm, root);
  if (part == Part::other) take(recvbuf, recvcount, recvtype, root);
  if (part != Part::root) return;
  refuse_in_place(sendbuf, "sendbuf");
  blocks_ = SentBlocks(sendbuf, remote(), sendcounts, displs, sendtype, kToOthers);
  for (std::uint32_t i = 0; i < remote(); ++i) send(static_cast<int>(i), blocks_.memory(i));
}

void GatherAllAcross::give(const void* sendbuf, Count sendcount, Datatype* sendtype) {
  refuse_in_place(sendbuf, "sendbuf");
  mine_ = SentValues(sendbuf, sendcount, sendtype);
  for (std::uint32_t i = 0; i < remote(); ++i) send(static_cast<int>(i), mine_.memory());
}

GatherAllAcross::GatherAllAcross(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                                 Count recvcount, Datatype* recvtype, Comm* comm)
    : AcrossCall(comm) {
  refuse_in_place(recvbuf, "recvbuf");
  give(sendbuf, sendcount, sendtype);
  all_ = ReceivedValues(recvbuf, total_of(recvcount, remote(), "recvcount"), recvtype);
  for (std::uint32_t i = 0; i < remote(); ++i) receive(static_cast<int>(i), block_of(recvbuf, i, recvcount, *recvtype));
}

GatherAllAcross::GatherAllAcross(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                                 Numbers recvcounts, Numbers displs, Datatype* recvtype, Comm* comm)
    : AcrossCall(comm) {
  refuse_in_place(recvbuf, "recvbuf");
  give(sendbuf, sendcount, sendtype);
  blocks_ = ReceivedBlocks(recvbuf, remote(), recvcounts, displs, recvtype, kFromOthers);
  for (std::uint32_t i = 0; i < remote(); ++i) receive(static_cast<int>(i), blocks_.memory(i));
}

AllToAllAcross::AllToAllAcross(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount,
                               Datatype* recvtype, Comm* comm)
    : AcrossCall(comm) {
  refuse_in_place(sendbuf, "sendbuf");
  refuse_in_place(recvbuf, "recvbuf");
  source_ = SentValues(sendbuf, total_of(sendcount, remote(), "sendcount"), sendtype);
  target_ = ReceivedValues(recvbuf, total_of(recvcount, remote(), "recvcount"), recvtype);
  for (std::uint32_t i = 0; i < remote(); ++i) {
    send(static_cast<int>(i), block_of(sendbuf, i, sendcount, *sendtype));
    receive(static_cast<int>(i), block_of(recvbuf, i, recvcount, *recvtype));
  }
}

void AllToAllAcross::exchange_blocks() {
  for (std::uint32_t i = 0; i < remote(); ++i) {
    send(static_cast<int>(i), sources_.memory(i));
    receive(static_cast<int>(i), targets_.memory(i));
  }
}

AllToAllAcross::AllToAllAcross(const void* sendbuf, Numbers sendcounts, Numbers sdispls, Datatype* sendtype,
                               void* recvbuf, Numbers recvcounts, Numbers rdispls, Datatype* recvtype, Comm* comm)
    : AcrossCall(comm) {
  refuse_in_place(sendbuf, "sendbuf");
  refuse_in_place(recvbuf, "recvbuf");
  sources_ = SentBlocks(sendbuf, remote(), sendcounts, sdispls, sendtype, kExchangedSent);
  targets_ = ReceivedBlocks(recvbuf, remote(), recvcounts, rdispls, recvtype, kExchangedReceived);
  exchange_blocks();
}

AllToAllAcross::AllToAllAcross(const void* sendbuf, Numbers sendcounts, Numbers sdispls,
                               std::span<Datatype* const> sendtypes, void* recvbuf, Numbers recvcounts, Numbers rdispls,
                               std::span<Datatype* const> recvtypes, Comm* comm)
    : AcrossCall(comm) {
  refuse_in_place(sendbuf, "sendbuf");
  refuse_in_place(recvbuf, "recvbuf");
  sources_ = SentBlocks(sendbuf, remote(), sendcounts, sdispls, sendtypes, kExchangedSent);
  targets_ = ReceivedBlocks(recvbuf, remote(), recvcounts, rdispls, recvtypes, kExchangedReceived);
  exchange_blocks();
}

}  // namespace coracle::mpi::collectives
