// MPI_Allgather, MPI_Allgatherv and their forms.
#include "collectives/blocking.hpp"
#include "collectives/exchanges.hpp"
#include "interfaces/mpi/core/collectives/across_exchanges.hpp"
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

/// The same of plain blocks.
class GatherAllOfPlain : public Call {
 public:
  GatherAllOfPlain(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Numbers recvcounts,
                   Numbers displs, Datatype* recvtype, Comm* comm)
      : Call(comm) {
    if (is_in_place(recvbuf) || !blocks_.find(recvbuf, size(), recvcounts, displs, recvtype)) return;
    all_ = internals::TargetBlocks(blocks_.list());
    const std::span<const std::byte> own = blocks_[rank()].span();
    const std::optional<std::span<const std::byte>> mine =
        is_in_place(sendbuf) ? own : plain_source(sendbuf, sendcount, sendtype);
    if (!mine || mine->size() != own.size()) return;  // it is told
    mine_ = *mine;
    found_ = true;
  }
  bool run(internals::RunTask run) const {
    return found_ && internals::gather_all_parts_short(team(), mine_, all_, kNowhere, run);
  }

 private:
  PlainBlocks<std::byte> blocks_;
  std::span<const std::byte> mine_;
  bool found_ = false;
  internals::TargetBlocks all_;
};

class GatherAllV : public Call {
 public:
  using Plain = GatherAllOfPlain;

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

constinit decltype(allgather) allgather = collectives::FormsOf<collectives::GatherAll, collectives::GatherAllAcross>();
constinit decltype(allgatherv) allgatherv =
    collectives::FormsOf<collectives::GatherAllV, collectives::GatherAllAcross>();

}  // namespace coracle::mpi
