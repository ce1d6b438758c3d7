// MPI_Gather, MPI_Gatherv and their forms.
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

constexpr BlockNames kGathered{"recvcounts", "displs"};

Task<> gather_packed(Team& team, MessageSource mine, MessageTarget all, std::uint32_t root) {
  const internals::Preparation preparation(team, "gather");
  const RowToSend from(mine);
  const RowToReceive to(all);
  const Blocks blocks(team.size(), mine.bytes());
  co_await gather_bytes(team, from.span(), to.span(), blocks, true, root, Algorithm::automatic, kNowhere);
  to.store();
}

/// Of a root that can't take what comes.
Task<> gather_for_nobody(Team& team, MessageSource mine, std::uint32_t root) {
  const Scratch all(team.size() * mine.bytes());
  co_await gather_packed(team, mine, MessageTarget(all.span()), root);
}

class Gather : public Call {
 public:
  Gather(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount, Datatype* recvtype,
         int root, Comm* comm)
      : Call(comm), root_(checked_root(*comm, root)) {
    if (rank() == root_)
      take(sendbuf, recvbuf, recvcount, recvtype);
    else
      refuse_in_place(sendbuf, "sendbuf of a process that is not the root");
    if (!is_in_place(sendbuf)) mine_ = SentValues(sendbuf, sendcount, sendtype);
    if (rank() == root_) misfit_ = own_misfit(mine_.bytes(), all_.bytes() / size());
  }
  Task<> start() const {
    if (misfit_) return fail_after(gather_for_nobody(team(), mine_.memory(), root_), *misfit_);
    if (!mine_.is_plain() || !all_.is_plain()) return gather_packed(team(), mine_.memory(), all_.memory(), root_);
    const Blocks blocks(size(), mine_.bytes());
    return gather_bytes(team(), mine_.span(), all_.span(), blocks, true, root_, Algorithm::automatic, kNowhere);
  }
  void finish() const {
    const bool is_plain = !misfit_ && mine_.is_plain() && all_.is_plain();
    if (!is_plain || !internals::gather_short(team(), mine_.span(), all_.span(), root_, kNowhere, runner()))
      mpi::run(comm(), start());
  }

 private:
  void take(const void* sendbuf, void* recvbuf, Count recvcount, Datatype* recvtype) {
    refuse_in_place(recvbuf, "recvbuf");
    all_ = ReceivedValues(recvbuf, total_of(recvcount, size(), "recvcount"), recvtype);
    if (!is_in_place(sendbuf)) return;
    const Count before = Count{rank()} * recvcount * recvtype->extent();
    mine_ = SentValues(displaced(recvbuf, before), recvcount, recvtype);
  }

  std::uint32_t root_;
  SentValues mine_;
  ReceivedValues all_;
  std::optional<MpiError> misfit_;
};

/// `all`: of the root.
Task<> gather_packed_v(Team& team, MessageSource mine, const ReceivedBlocks& all, std::uint32_t root) {
  const internals::Preparation preparation(team, "gather_v");
  const bool takes = team.index() == root;
  const Blocks row = takes ? all.row() : Blocks(team.size(), 0);
  const Scratch packed(row.total());
  const RowToSend from(mine);
  co_await gather_bytes(team, from.span(), packed.span(), row, false, root, Algorithm::automatic, kNowhere);
  if (takes) unpack_blocks(packed.span(), row, all);
}

/// Of plain blocks.
class GatherOfPlain : public Call {
 public:
  GatherOfPlain(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Numbers recvcounts,
                Numbers displs, Datatype* recvtype, int root, Comm* comm)
      : Call(comm), root_(checked_root(*comm, root)) {
    mine_ = plain_source(sendbuf, sendcount, sendtype);
    if (rank() != root_) return;
    if (!is_in_place(recvbuf) && blocks_.find(recvbuf, size(), recvcounts, displs, recvtype)) {
      all_ = internals::TargetBlocks(blocks_.list());
      const std::span<const std::byte> own = blocks_[root_].span();
      if (is_in_place(sendbuf)) mine_ = own;
      if (mine_ && mine_->size() == own.size()) return;
    }
    mine_.reset();  // what is wrong is told
  }
  bool run(internals::RunTask run) const {
    return mine_ && internals::gather_parts_short(team(), *mine_, all_, root_, kNowhere, run);
  }

 private:
  std::uint32_t root_;
  PlainBlocks<std::byte> blocks_;
  std::optional<std::span<const std::byte>> mine_;  // none: it does not go so
  internals::TargetBlocks all_;
};

class GatherV : public Call {
 public:
  using Plain = GatherOfPlain;

  GatherV(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Numbers recvcounts, Numbers displs,
          Datatype* recvtype, int root, Comm* comm)
      : Call(comm), root_(checked_root(*comm, root)) {
    if (rank() == root_)
      take(sendbuf, recvbuf, recvcounts, displs, recvtype);
    else
      refuse_in_place(sendbuf, "sendbuf of a process that is not the root");
    if (!is_in_place(sendbuf)) mine_ = SentValues(sendbuf, sendcount, sendtype);
    if (rank() != root_) return;
    misfit_ = own_misfit(mine_.bytes(), all_.bytes(root_));
    if (misfit_) take_in_place(recvtype);
  }
  Task<> start() const { return misfit_ ? fail_after(run(), *misfit_) : run(); }

 private:
  Task<> run() const {
    // Each process packs, or does not, for itself.
    if (!mine_.is_plain() || !all_.is_plain()) return gather_packed_v(team(), mine_.memory(), all_, root_);
    Blocks blocks = rank() == root_ ? all_.blocks() : Blocks(size(), 0);
    return gather_bytes(team(), mine_.span(), all_.span(), std::move(blocks), false, root_, Algorithm::automatic,
                        kNowhere);
  }
  void take(const void* sendbuf, void* recvbuf, Numbers recvcounts, Numbers displs, Datatype* recvtype) {
    refuse_in_place(recvbuf, "recvbuf");
    all_ = ReceivedBlocks(recvbuf, size(), recvcounts, displs, recvtype, kGathered);
    if (is_in_place(sendbuf)) take_in_place(recvtype);
  }
  /// The root's own block is where it is to be.
  void take_in_place(Datatype* recvtype) {
    const auto& own = all_.scattered()[rank()];
    mine_ = SentValues(own.origin, static_cast<Count>(own.count), recvtype);
  }

  std::uint32_t root_;
  SentValues mine_;
  ReceivedBlocks all_;
  std::optional<MpiError> misfit_;
};

}  // namespace
}  // namespace collectives

constinit decltype(gather) gather = collectives::FormsOf<collectives::Gather, collectives::GatherAcross>();
constinit decltype(gatherv) gatherv = collectives::FormsOf<collectives::GatherV, collectives::GatherAcross>();

}  // namespace coracle::mpi
