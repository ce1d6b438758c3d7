// MPI_Allgather, MPI_Allgatherv and their forms.
#include "collectives/blocking.hpp"
#include "collectives/exchanges.hpp"
#include "interfaces/mpi/core/collectives/arguments.hpp"
#include "interfaces/mpi/core/collectives/block_list.hpp"
#include "interfaces/mpi/core/collectives/call.hpp"
#include "interfaces/mpi/core/collectives/plain_blocks.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {
namespace collectives {
namespace {

using internals::Algorithm;

constexpr BlockNames kGatheredByAll{"recvcounts", "displs"};

Task<> gather_all_packed(Team& team, MessageSource mine, MessageTarget all) {
  const internals::Preparation preparation(team, "gather_all");
  const RowToSend from(mine);
  const RowToReceive to(all);
  const Blocks blocks(team.size(), mine.bytes());
  co_await gather_all_bytes(team, from.span(), to.span(), blocks, Algorithm::automatic, kNowhere);
  to.store();
}

class GatherAll : public Call {
 public:
  GatherAll(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount,
            Datatype* recvtype, Comm* comm)
      : Call(comm) {
    refuse_in_place(recvbuf, "recvbuf");
    all_ = ReceivedValues(recvbuf, total_of(recvcount, size(), "recvcount"), recvtype);
    if (is_in_place(sendbuf)) {
      const Count before = Count{rank()} * recvcount * recvtype->extent();
      mine_ = SentValues(displaced(recvbuf, before), recvcount, recvtype);
    } else {
      mine_ = SentValues(sendbuf, sendcount, sendtype);
    }
    check_own_bytes(mine_.bytes(), all_.bytes() / size());
  }
  Task<> start() const {
    if (!is_plain()) return gather_all_packed(team(), mine_.memory(), all_.memory());
    const Blocks blocks(size(), mine_.bytes());
    return gather_all_bytes(team(), mine_.span(), all_.span(), blocks, Algorithm::automatic, kNowhere);
  }
  void finish() const {
    if (!is_plain()) return run(comm(), start());
    internals::gather_all_blocking(team(), mine_.span(), all_.span(), kNowhere, runner());
  }

 private:
  bool is_plain() const noexcept { return mine_.is_plain() && all_.is_plain(); }

  SentValues mine_;
  ReceivedValues all_;
};

Task<> gather_all_packed_v(Team& team, MessageSource mine, const ReceivedBlocks& all) {
  const internals::Preparation preparation(team, "gather_all");
  const Blocks row = all.row();
  const Scratch packed(row.total());
  const RowToSend from(mine);
  co_await gather_all_bytes(team, from.span(), packed.span(), row, Algorithm::automatic, kNowhere);
  unpack_blocks(packed.span(), row, all);
}

class GatherAllV : public Call {
 public:
  GatherAllV(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Numbers recvcounts,
             Numbers displs, Datatype* recvtype, Comm* comm)
      : Call(comm) {
    refuse_in_place(recvbuf, "recvbuf");
    all_ = ReceivedBlocks(recvbuf, size(), recvcounts, displs, recvtype, kGatheredByAll);
    const auto& own = all_.scattered()[rank()];
    mine_ = is_in_place(sendbuf) ? SentValues(own.origin, static_cast<Count>(own.count), recvtype)
                                 : SentValues(sendbuf, sendcount, sendtype);
    check_own_bytes(mine_.bytes(), all_.bytes(rank()));
  }
  static bool try_plain(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Numbers recvcounts,
                        Numbers displs, Datatype* recvtype, Comm* comm) {
    const Call call(comm);
    PlainBlocks<std::byte> all;
    if (is_in_place(recvbuf) || !all.find(recvbuf, call.size(), recvcounts, displs, recvtype)) return false;
    const std::optional<std::span<const std::byte>> mine = plain_source(sendbuf, sendcount, sendtype);
    if (!mine && !is_in_place(sendbuf)) return false;
    const std::span<const std::byte> own = mine ? *mine : all[call.rank()].span();
    if (own.size() != all[call.rank()].bytes()) return false;  // is told
    return internals::gather_all_parts_blocking(call.team(), own, internals::TargetBlocks(all.list()), kNowhere,
                                                call.runner());
  }
  Task<> start() const {
    if (!mine_.is_plain() || !all_.is_plain()) return gather_all_packed_v(team(), mine_.memory(), all_);
    return gather_all_bytes(team(), mine_.span(), all_.span(), all_.blocks(), Algorithm::automatic, kNowhere);
  }

 private:
  ReceivedBlocks all_;
  SentValues mine_;
};

}  // namespace
}  // namespace collectives

constinit decltype(allgather) allgather = collectives::FormsOf<collectives::GatherAll>();
constinit decltype(allgatherv) allgatherv = collectives::FormsOf<collectives::GatherAllV>();

}  // namespace coracle::mpi
