// MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw and their forms.
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
using internals::Layout;
using internals::ScatteredSource;
using internals::ScatteredTarget;
using internals::SourceBlocks;
using internals::TargetBlocks;

constexpr BlockNames kSentNames{"sendcounts", "sdispls"};
constexpr BlockNames kReceivedNames{"recvcounts", "rdispls"};

/// Whether plain memory goes as bytes: where it does not, members that have scattered blocks copy straight from those
/// of others, so all must. The same at all.
bool goes_as_bytes(Team& team, std::size_t bytes) {
  return exchanges_at_once(team, bytes) || !copies_straight(team);
}

Task<> exchange_bytes(Team& team, std::span<const std::byte> source, std::span<std::byte> target) {
  const Blocks blocks(team.size(), source.size() / team.size());
  return all_to_all_bytes(team, source, blocks, target, blocks, true, Algorithm::automatic, kNowhere);
}

/// What is received takes the place of what is sent, of which a copy is made.
Task<> exchange_in_place(Team& team, MessageTarget all, ScatteredTarget first) {
  const internals::Preparation preparation(team, "all_to_all");
  const Scratch copy(all.bytes());
  read_part(source_in(all), 0, copy.span());
  if (!all.is_scattered() && goes_as_bytes(team, all.bytes())) {
    co_await exchange_bytes(team, copy.span(), all.span());
    co_return;
  }
  const Layout block = Layout::bytes(static_cast<std::int64_t>(all.bytes() / team.size()));
  co_await team.all_to_all(ScatteredSource{copy.data(), block}, first, kNowhere);
}

class AllToAll : public Call {
 public:
  AllToAll(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount, Datatype* recvtype,
           Comm* comm)
      : Call(comm), sent_count_(sendcount), received_count_(recvcount), in_place_(is_in_place(sendbuf)) {
    refuse_in_place(recvbuf, "recvbuf");
    target_ = ReceivedValues(recvbuf, total_of(recvcount, size(), "recvcount"), recvtype);
    if (in_place_) return;
    source_ = SentValues(sendbuf, total_of(sendcount, size(), "sendcount"), sendtype);
    check_own_bytes(source_.bytes() / size(), target_.bytes() / size());
    refuse_aliases(sendbuf, recvbuf, source_.bytes());
  }
  Task<> start() const {
    const ScatteredTarget target = target_.first(received_count_);
    if (in_place_) return exchange_in_place(team(), target_.memory(), target);
    if (is_plain()) return exchange_bytes(team(), source_.span(), target_.span());
    return team().all_to_all(source_.first(sent_count_), target, kNowhere);
  }
  void finish() const {
    if (in_place_ || !is_plain()) return run(comm(), start());
    internals::all_to_all_blocking(team(), source_.span(), target_.span(), kNowhere, runner());
  }

 private:
  bool is_plain() const { return source_.is_plain() && target_.is_plain() && goes_as_bytes(team(), source_.bytes()); }

  Count sent_count_;
  Count received_count_;
  bool in_place_;
  SentValues source_;
  ReceivedValues target_;
};

Task<> exchange_blocks(Team& team, std::span<const std::byte> source, Blocks sent, std::span<std::byte> target,
                       Blocks received) {
  return all_to_all_bytes(team, source, std::move(sent), target, std::move(received), false, Algorithm::automatic,
                          kNowhere);
}

Task<> exchange_blocks_in_place(Team& team, const ReceivedBlocks& target) {
  const internals::Preparation preparation(team, "all_to_all_v");
  const Blocks row = target.row();
  const Scratch copy(row.total());
  for (std::uint32_t place = 0; place < row.count(); ++place) pack_block(target, row, place, copy.span());
  if (target.is_plain() && !copies_straight(team)) {
    co_await exchange_blocks(team, copy.span(), row, target.span(), target.blocks());
    co_return;
  }
  const Layout byte = Layout::bytes(1);
  std::vector<ScatteredSource> sources;
  for (std::uint32_t place = 0; place < row.count(); ++place)
    sources.push_back({copy.data() + row.offset(place), byte, row.bytes(place)});
  co_await team.all_to_all_w(sources, target.scattered(), kNowhere);
}

/// Of the v and of the w kind, of plain blocks.
class ExchangeOfPlain : public Call {
 public:
  /// `Types`: one datatype, or one for each.
  template <class Types>
  ExchangeOfPlain(const void* sendbuf, Numbers sendcounts, Numbers sdispls, Types sendtypes, void* recvbuf,
                  Numbers recvcounts, Numbers rdispls, Types recvtypes, Comm* comm)
      : Call(comm),
        found_(!is_in_place(sendbuf) && !is_in_place(recvbuf) &&
               source_.find(sendbuf, size(), sendcounts, sdispls, sendtypes) &&
               target_.find(recvbuf, size(), recvcounts, rdispls, recvtypes) && fits(sendbuf, recvbuf)) {}
  bool run(internals::RunTask run) const {
    return found_ && internals::all_to_all_parts_short(team(), sources_, targets_, kNowhere, run);
  }

 private:
  /// Else it is told.
  bool fits(const void* sendbuf, const void* recvbuf) const noexcept {
    const std::size_t bytes = source_[rank()].bytes();
    return bytes == target_[rank()].bytes() && (bytes == 0 || sendbuf != recvbuf);
  }

  PlainBlocks<const std::byte> source_;
  PlainBlocks<std::byte> target_;
  bool found_;
  SourceBlocks sources_{source_.list()};
  TargetBlocks targets_{target_.list()};
};

/// Of the v and of the w kind.
class AllToAllBlocks : public Call {
 public:
  using Plain = ExchangeOfPlain;

  AllToAllBlocks(const void* sendbuf, Numbers sendcounts, Numbers sdispls, Datatype* sendtype, void* recvbuf,
                 Numbers recvcounts, Numbers rdispls, Datatype* recvtype, Comm* comm)
      : Call(comm), in_place_(is_in_place(sendbuf)) {
    refuse_in_place(recvbuf, "recvbuf");
    target_ = ReceivedBlocks(recvbuf, size(), recvcounts, rdispls, recvtype, kReceivedNames);
    if (!in_place_) source_ = SentBlocks(sendbuf, size(), sendcounts, sdispls, sendtype, kSentNames);
    check(sendbuf, recvbuf);
  }
  AllToAllBlocks(const void* sendbuf, Numbers sendcounts, Numbers sdispls, std::span<Datatype* const> sendtypes,
                 void* recvbuf, Numbers recvcounts, Numbers rdispls, std::span<Datatype* const> recvtypes, Comm* comm)
      : Call(comm), in_place_(is_in_place(sendbuf)) {
    refuse_in_place(recvbuf, "recvbuf");
    target_ = ReceivedBlocks(recvbuf, size(), recvcounts, rdispls, recvtypes, kReceivedNames);
    if (!in_place_) source_ = SentBlocks(sendbuf, size(), sendcounts, sdispls, sendtypes, kSentNames);
    check(sendbuf, recvbuf);
  }
  Task<> start() const {
    if (in_place_) return exchange_blocks_in_place(team(), target_);
    if (source_.is_plain() && target_.is_plain() && !copies_straight(team()))
      return exchange_blocks(team(), source_.span(), source_.blocks(), target_.span(), target_.blocks());
    return team().all_to_all_w(source_.scattered(), target_.scattered(), kNowhere);
  }

 private:
  void check(const void* sendbuf, const void* recvbuf) const {
    if (in_place_) return;
    check_own_bytes(source_.bytes(rank()), target_.bytes(rank()));
    // Of the w kind both may be MPI_BOTTOM.
    refuse_aliases(sendbuf, recvbuf, source_.bytes(rank()));
  }

  bool in_place_;
  SentBlocks source_;
  ReceivedBlocks target_;
};

}  // namespace
}  // namespace collectives

constinit decltype(alltoall) alltoall = collectives::FormsOf<collectives::AllToAll, collectives::AllToAllAcross>();
constinit decltype(alltoallv) alltoallv =
    collectives::FormsOf<collectives::AllToAllBlocks, collectives::AllToAllAcross>();
constinit decltype(alltoallw) alltoallw =
    collectives::FormsOf<collectives::AllToAllBlocks, collectives::AllToAllAcross>();

}  // namespace coracle::mpi
