// MPI_Scatter, MPI_Scatterv and their forms.
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

constexpr BlockNames kScattered{"sendcounts", "displs"};

/// Where this process receives: a root in place nowhere, so that what it sends, which may be constant, is not written.
class Landing {
 public:
  Landing(const ReceivedValues& mine, bool in_place, std::size_t bytes) : row_(mine.memory()) {
    if (in_place) unwanted_.emplace(bytes);
  }
  std::span<std::byte> span() const noexcept { return unwanted_ ? unwanted_->span() : row_.span(); }
  void store() const { row_.store(); }

 private:
  RowToReceive row_;
  std::optional<Scratch> unwanted_;
};

Task<> scatter_packed(Team& team, MessageSource all, const ReceivedValues& mine, bool in_place, std::uint32_t root) {
  const internals::Preparation preparation(team, "scatter");
  const RowToSend from(all);
  const std::size_t bytes = in_place ? all.bytes() / team.size() : mine.bytes();
  const Landing to(mine, in_place, bytes);
  const Blocks blocks(team.size(), bytes);
  co_await scatter_bytes(team, from.span(), to.span(), blocks, true, root, Algorithm::automatic, kNowhere);
  to.store();
}

class Scatter : public Call {
 public:
  Scatter(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount, Datatype* recvtype,
          int root, Comm* comm)
      : Call(comm), root_(checked_root(*comm, root)) {
    const bool gives = rank() == root_;
    in_place_ = gives && is_in_place(recvbuf);
    if (!in_place_) {
      refuse_in_place(recvbuf, "recvbuf of a process that is not the root");
      mine_ = ReceivedValues(recvbuf, recvcount, recvtype);
    }
    if (!gives) return;
    refuse_in_place(sendbuf, "sendbuf");
    all_ = SentValues(sendbuf, total_of(sendcount, size(), "sendcount"), sendtype);
    if (in_place_) return;
    misfit_ = own_misfit(all_.bytes() / size(), mine_.bytes());
    if (misfit_) receive_nothing();
  }
  Task<> start() const { return misfit_ ? fail_after(run(), *misfit_) : run(); }
  void finish() const {
    const bool is_plain = !misfit_ && !in_place_ && all_.is_plain() && mine_.is_plain();
    if (!is_plain || !internals::scatter_short(team(), all_.span(), mine_.span(), root_, kNowhere, runner()))
      mpi::run(comm(), start());
  }

 private:
  Task<> run() const {
    if (in_place_ || !all_.is_plain() || !mine_.is_plain())
      return scatter_packed(team(), all_.memory(), mine_, in_place_, root_);
    const Blocks blocks(size(), mine_.bytes());
    return scatter_bytes(team(), all_.span(), mine_.span(), blocks, true, root_, Algorithm::automatic, kNowhere);
  }
  void receive_nothing() {
    in_place_ = true;
    mine_ = {};
  }

  std::uint32_t root_;
  bool in_place_;
  SentValues all_;
  ReceivedValues mine_;
  std::optional<MpiError> misfit_;
};

/// `all`: of the root.
Task<> scatter_packed_v(Team& team, const SentBlocks& all, const ReceivedValues& mine, bool in_place,
                        std::uint32_t root) {
  const internals::Preparation preparation(team, "scatter_v");
  const bool gives = team.index() == root;
  std::optional<Scratch> packed;
  Blocks blocks(team.size(), 0);
  if (gives) blocks = all.is_plain() ? all.blocks() : all.row();
  if (!all.is_plain()) pack_blocks(all, blocks, packed.emplace(blocks.total()).span());
  const std::span<const std::byte> from = packed ? packed->span() : all.span();
  const Landing to(mine, in_place, in_place ? all.bytes(root) : 0);
  co_await scatter_bytes(team, from, to.span(), blocks, false, root, Algorithm::automatic, kNowhere);
  to.store();
}

/// Of plain blocks.
class ScatterOfPlain : public Call {
 public:
  ScatterOfPlain(const void* sendbuf, Numbers sendcounts, Numbers displs, Datatype* sendtype, void* recvbuf,
                 Count recvcount, Datatype* recvtype, int root, Comm* comm)
      : Call(comm), root_(checked_root(*comm, root)) {
    mine_ = plain_target(recvbuf, recvcount, recvtype);
    if (rank() != root_) return;
    if (!is_in_place(sendbuf) && blocks_.find(sendbuf, size(), sendcounts, displs, sendtype)) {
      all_ = internals::SourceBlocks(blocks_.list());
      if (mine_ && mine_->size() == blocks_[root_].bytes()) return;
    }
    mine_.reset();  // what is wrong is told
  }
  bool run(internals::RunTask run) const {
    return mine_ && internals::scatter_parts_short(team(), all_, *mine_, root_, kNowhere, run);
  }

 private:
  std::uint32_t root_;
  PlainBlocks<const std::byte> blocks_;
  std::optional<std::span<std::byte>> mine_;  // none: it does not go so
  internals::SourceBlocks all_;
};

class ScatterV : public Call {
 public:
  using Plain = ScatterOfPlain;

  ScatterV(const void* sendbuf, Numbers sendcounts, Numbers displs, Datatype* sendtype, void* recvbuf, Count recvcount,
           Datatype* recvtype, int root, Comm* comm)
      : Call(comm), root_(checked_root(*comm, root)) {
    const bool gives = rank() == root_;
    in_place_ = gives && is_in_place(recvbuf);
    if (!in_place_) {
      refuse_in_place(recvbuf, "recvbuf of a process that is not the root");
      mine_ = ReceivedValues(recvbuf, recvcount, recvtype);
    }
    if (!gives) return;
    refuse_in_place(sendbuf, "sendbuf");
    all_ = SentBlocks(sendbuf, size(), sendcounts, displs, sendtype, kScattered);
    if (in_place_) return;
    misfit_ = own_misfit(all_.bytes(root_), mine_.bytes());
    if (misfit_) receive_nothing();
  }
  Task<> start() const { return misfit_ ? fail_after(run(), *misfit_) : run(); }

 private:
  Task<> run() const {
    if (in_place_ || !all_.is_plain() || !mine_.is_plain())
      return scatter_packed_v(team(), all_, mine_, in_place_, root_);
    Blocks blocks = rank() == root_ ? all_.blocks() : Blocks(size(), 0);
    return scatter_bytes(team(), all_.span(), mine_.span(), std::move(blocks), false, root_, Algorithm::automatic,
                         kNowhere);
  }
  void receive_nothing() {
    in_place_ = true;
    mine_ = {};
  }

  std::uint32_t root_;
  bool in_place_;
  SentBlocks all_;
  ReceivedValues mine_;
  std::optional<MpiError> misfit_;
};

}  // namespace
}  // namespace collectives

constinit decltype(scatter) scatter = collectives::FormsOf<collectives::Scatter, collectives::ScatterAcross>();
constinit decltype(scatterv) scatterv = collectives::FormsOf<collectives::ScatterV, collectives::ScatterAcross>();

}  // namespace coracle::mpi
