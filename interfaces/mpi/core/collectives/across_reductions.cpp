// Values that go to the other side, and are combined there.
#include "interfaces/mpi/core/collectives/across_reductions.hpp"

#include "collectives/data/blocks.hpp"
#include "interfaces/mpi/core/collectives/arguments.hpp"
#include "interfaces/mpi/core/error.hpp"
#include "runtime/core/combinators.hpp"

namespace coracle::mpi::collectives {
namespace {

// Who combines what the other side has sent.
constexpr int kLeader = 0;

}  // namespace

Task<> ReducingAcross::give(const void* sendbuf, Count count, int to, std::uint32_t tag) const {
  const ElementsToSend values(*this, sendbuf, count);
  co_await comm().send_internal(MessageSource(values.span()), to, tag);
}

Task<> ReducingAcross::take(std::span<std::byte> result, std::uint32_t tag) const {
  const auto number = static_cast<std::uint32_t>(comm().peers());
  const Scratch all(number * result.size());
  std::vector<Task<>> coming;
  for (std::uint32_t i = 0; i < number; ++i)
    coming.push_back(comm().receive_internal(MessageTarget(all.span().subspan(i * result.size(), result.size())),
                                             static_cast<int>(i), tag));
  co_await internals::all_of(std::move(coming));
  combine_in_order(reduction(), all.span(), number, result);
}

ReduceAcross::ReduceAcross(const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op, int root,
                           Comm* comm)
    : ReducingAcross(datatype, op, comm),
      part_(part_of(*comm, root)),
      root_(root),
      source_(sendbuf),
      target_(recvbuf),
      count_(count) {
  if (part_ == Part::root) {
    refuse_in_place(recvbuf, "recvbuf");
    check_values(recvbuf, count, "recvbuf");
  } else if (part_ == Part::other) {
    refuse_in_place(sendbuf, "sendbuf");
    check_values(sendbuf, count, "sendbuf");
  }
}

Task<> ReduceAcross::start() const {
  const std::uint32_t tag = comm().next_internal_tag();
  switch (part_) {
    case Part::root:
      return take_all(tag);
    case Part::other:
      return give(source_, count_, root_, tag);
    case Part::nothing:
      break;
  }
  return internals::all_of({});
}

Task<> ReduceAcross::take_all(std::uint32_t tag) const {
  const ElementsToReceive result(*this, target_, count_);
  co_await take(result.span(), tag);
  result.store();
}

ReduceToPartsAcross::ReduceToPartsAcross(const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op,
                                         Comm* comm)
    : ReduceToPartsAcross(sendbuf, recvbuf, datatype, op, comm, Parts()) {
  count_ = count;
  check();
}

void ReduceToPartsAcross::check() {
  refuse_in_place(source_, "sendbuf");
  refuse_in_place(target_, "recvbuf");
  check_values(source_, count_, "sendbuf");
  check_values(target_, mine(), "recvbuf");
}

Task<> ReduceToPartsAcross::start() const {
  const std::uint32_t tag = comm().next_internal_tag();
  const std::uint32_t local_tag = comm().local().next_internal_tag();
  std::vector<Task<>> both;
  both.push_back(rank() == kLeader ? combine_and_tell(tag, local_tag) : hear(local_tag));
  both.push_back(give(source_, count_, kLeader, tag));
  return internals::all_of(std::move(both));
}

std::span<const std::byte> ReduceToPartsAcross::part_of(std::span<const std::byte> result, std::uint32_t place) const {
  if (parts_.empty()) return result;
  Count before = 0;
  for (std::uint32_t i = 0; i < place; ++i) before += parts_[i];
  return result.subspan(bytes_of(before), bytes_of(parts_[place]));
}

Task<> ReduceToPartsAcross::combine_and_tell(std::uint32_t tag, std::uint32_t local_tag) const {
  const Scratch result(bytes_of(count_));
  co_await take(result.span(), tag);
  std::vector<Task<>> told;
  for (std::uint32_t i = 0; i < size(); ++i)
    if (static_cast<int>(i) != kLeader)
      told.push_back(
          comm().local().send_internal(MessageSource(part_of(result.span(), i)), static_cast<int>(i), local_tag));
  const ElementsToReceive own(*this, target_, mine());
  internals::copy_bytes(part_of(result.span(), kLeader), own.span());
  own.store();
  co_await internals::all_of(std::move(told));
}

Task<> ReduceToPartsAcross::hear(std::uint32_t local_tag) const {
  const ElementsToReceive own(*this, target_, mine());
  co_await comm().local().receive_internal(MessageTarget(own.span()), kLeader, local_tag);
  own.store();
}

ReduceScatterAcross::ReduceScatterAcross(const void* sendbuf, void* recvbuf, Numbers recvcounts, Datatype* datatype,
                                         Op* op, Comm* comm)
    : ReduceToPartsAcross(sendbuf, recvbuf, datatype, op, comm, Parts()) {
  if (recvcounts.is_null()) raise(ErrorClass::arg, "recvcounts is null: it has a count for each of {}", size());
  for (std::uint32_t place = 0; place < size(); ++place) {
    parts_.push_back(checked_count(recvcounts[place], "recvcounts", place));
    if (__builtin_add_overflow(count_, parts_.back(), &count_))
      raise(ErrorClass::count, "recvcounts are more than any memory together");
  }
  check();
}

ReduceScatterAcross::ReduceScatterAcross(const void* sendbuf, void* recvbuf, Count recvcount, Datatype* datatype,
                                         Op* op, Comm* comm)
    : ReduceToPartsAcross(sendbuf, recvbuf, datatype, op, comm, Parts()) {
  count_ = total_of(recvcount, size(), "recvcount");
  parts_.assign(size(), recvcount);
  check();
}

}  // namespace coracle::mpi::collectives
