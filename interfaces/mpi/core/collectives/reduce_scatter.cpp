// MPI_Reduce_scatter, MPI_Reduce_scatter_block and their forms.
#include <numeric>
#include <vector>

#include "collectives/blocking.hpp"
#include "collectives/exchanges.hpp"
#include "collectives/reductions.hpp"
#include "interfaces/mpi/core/collectives/across_reductions.hpp"
#include "interfaces/mpi/core/collectives/arguments.hpp"
#include "interfaces/mpi/core/collectives/reducing.hpp"
#include "interfaces/mpi/core/error.hpp"
#include "interfaces/mpi/core/numbers.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {
namespace collectives {
namespace {

using internals::Algorithm;
using internals::Blocks;

/// With blocks of any sizes, or all of one.
class ReduceScatter : public Reducing {
 public:
  ReduceScatter(const void* sendbuf, void* recvbuf, Numbers recvcounts, Datatype* datatype, Op* op, Comm* comm)
      : Reducing(datatype, op, comm), target_(recvbuf), blocks_(blocks_of(recvcounts)) {
    check(sendbuf);
  }
  ReduceScatter(const void* sendbuf, void* recvbuf, Count recvcount, Datatype* datatype, Op* op, Comm* comm)
      : Reducing(datatype, op, comm), target_(recvbuf), blocks_(blocks_of(recvcount)) {
    check(sendbuf);
  }

  Task<> start() const {
    if (!is_direct() || source_ == target_) return by_elements();
    return reduce_scatter_bytes(team(), bytes_at(source_, total()), bytes_at(target_, mine()), blocks_, reduction(),
                                Algorithm::automatic, kNowhere);
  }
  void finish() const {
    if (!is_direct() || source_ == target_) return run(comm(), start());
    internals::reduce_scatter_blocking(team(), bytes_at(source_, total()), bytes_at(target_, mine()), blocks_,
                                       reduction(), kNowhere, runner());
  }

 private:
  Blocks blocks_of(Numbers recvcounts) const;
  Blocks blocks_of(Count recvcount) const;
  void check(const void* sendbuf);
  Count total() const noexcept { return static_cast<Count>(blocks_.total()) / element_bytes(); }
  Count mine() const noexcept { return static_cast<Count>(blocks_.bytes(rank())) / element_bytes(); }
  Task<> by_elements() const;
  Task<> gather_and_combine(std::span<const std::byte> values, std::span<std::byte> result) const;

  const void* source_ = nullptr;
  void* target_;
  Blocks blocks_;  // of elements
};

Blocks ReduceScatter::blocks_of(Numbers recvcounts) const {
  if (recvcounts.is_null()) raise(ErrorClass::arg, "recvcounts is null: it has a count for each of {}", size());
  bool alike = true;
  for (std::uint32_t place = 0; place < size(); ++place) {
    check_values(target_, checked_count(recvcounts[place], "recvcounts", place), "recvbuf");
    alike &= recvcounts[place] == recvcounts[0];
  }
  // Mostly they are, and need no list then.
  if (alike && bytes_of(recvcounts[0]) <= internals::kObjectBytesMax / size()) return {size(), bytes_of(recvcounts[0])};
  std::vector<std::size_t> counts(size());
  for (std::uint32_t place = 0; place < size(); ++place) counts[place] = static_cast<std::size_t>(recvcounts[place]);
  return {counts, static_cast<std::size_t>(element_bytes())};
}

Blocks ReduceScatter::blocks_of(Count recvcount) const {
  check_values(target_, total_of(recvcount, size(), "recvcount"), "recvbuf");
  return {size(), bytes_of(recvcount)};
}

void ReduceScatter::check(const void* sendbuf) {
  refuse_in_place(target_, "recvbuf");
  // Who gives the same memory twice means that, too.
  source_ = is_in_place(sendbuf) ? target_ : sendbuf;
  check_values(source_, total(), "sendbuf");
}

/// The result is combined apart from what is sent, since others read that.
Task<> ReduceScatter::by_elements() const {
  const internals::Preparation preparation(team(), "reduce_scatter");
  const ElementsToSend values(*this, source_, total());
  const Scratch result(blocks_.bytes(rank()));
  if (too_large())
    co_await gather_and_combine(values.span(), result.span());
  else
    co_await reduce_scatter_bytes(team(), values.span(), result.span(), blocks_, reduction(), Algorithm::automatic,
                                  kNowhere);
  if (works_in_place())
    internals::copy_bytes(result.span(), bytes_at(target_, mine()));
  else
    prepared().store(result.data(), mine(), target_);
}

Task<> ReduceScatter::gather_and_combine(std::span<const std::byte> values, std::span<std::byte> result) const {
  const Scratch all(result.size() * size());
  const Blocks received(size(), result.size());
  co_await all_to_all_bytes(team(), values, blocks_, all.span(), received, false, Algorithm::automatic, kNowhere);
  combine_in_order(reduction(), all.span(), size(), result);
}

}  // namespace
}  // namespace collectives

constinit decltype(reduce_scatter) reduce_scatter =
    collectives::FormsOf<collectives::ReduceScatter, collectives::ReduceScatterAcross>();
constinit decltype(reduce_scatter_block) reduce_scatter_block =
    collectives::FormsOf<collectives::ReduceScatter, collectives::ReduceScatterAcross>();

}  // namespace coracle::mpi
