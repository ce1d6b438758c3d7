// Memory of a communicator, and what goes to and from it.
#include "interfaces/mpi/inside/symmetric_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "collectives/collectives.hpp"
#include "interfaces/mpi/inside/inside.hpp"
#include "runtime/core/error.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::mpi {

using internals::await;
using internals::Errc;
using internals::Error;

SymmetricMemory::SymmetricMemory(Comm& comm, std::size_t bytes, std::size_t signals)
    : comm_(&comm), transfers_(comm.team().rank().core()) {
  const Part own = allocate(bytes, signals);
  parts_ = await(comm.team().gather_all(own));
  const auto without = std::find_if(parts_.begin(), parts_.end(), [](const Part& each) { return !each.is_there; });
  if (without == parts_.end()) return;
  throw Error(Errc::segment_full, fmt::format("rank {} has no room in its segment for {} bytes and {} signals: "
                                              "start the job with a larger one (`coracle run --segment`)",
                                              without - parts_.begin(), without->bytes, without->signal_count));
}

SymmetricMemory::Part SymmetricMemory::allocate(std::size_t bytes, std::size_t signals) {
  try {
    bytes_ = self().allocate<std::byte>(bytes);
    signals_ = self().allocate_signals(signals);
    return {bytes_.remote(), signals_.remote(), bytes, signals, true};
  } catch (const Error& error) {
    if (error.code() != Errc::segment_full) throw;
    return {{}, {}, bytes, signals, false};
  }
}

internals::Remote<std::byte> SymmetricMemory::place(int rank, std::size_t offset, std::size_t bytes) const {
  if (rank < 0 || rank >= size()) [[unlikely]]
    throw Error(Errc::bad_input,
                fmt::format("the rank is {}: of this memory's communicator they are from 0 to {}", rank, size() - 1));
  const Part& part = parts_[static_cast<std::size_t>(rank)];
  if (offset > part.bytes || bytes > part.bytes - offset) [[unlikely]]
    throw Error(Errc::out_of_segment, fmt::format("{} bytes at {} lie outside of the memory of rank {}, which has {}",
                                                  bytes, offset, rank, part.bytes));
  return part.memory + static_cast<std::ptrdiff_t>(offset);
}

internals::Remote<internals::Signal> SymmetricMemory::signal_place(int rank, std::size_t signal) const {
  const Part& part = parts_[static_cast<std::size_t>(rank)];
  if (signal >= part.signal_count) [[unlikely]]
    throw Error(Errc::bad_input,
                fmt::format("the signal is {}: rank {} has {} (counted from 0)", signal, rank, part.signal_count));
  return part.signals + static_cast<std::ptrdiff_t>(signal);
}

void SymmetricMemory::put(int rank, std::size_t offset, const void* source, std::size_t bytes) {
  const auto there = place(rank, offset, bytes);
  internals::Transfer transfer = self().put({static_cast<const std::byte*>(source), bytes}, there);
  transfers_.start(transfer);
}

void SymmetricMemory::put_signal(int rank, std::size_t offset, const void* source, std::size_t bytes,
                                 std::size_t signal) {
  const auto there = place(rank, offset, bytes);
  internals::Transfer transfer =
      self().put_signal({static_cast<const std::byte*>(source), bytes}, there, signal_place(rank, signal));
  transfers_.start(transfer);
}

void SymmetricMemory::get(int rank, std::size_t offset, void* target, std::size_t bytes) {
  const auto there = place(rank, offset, bytes);
  internals::Transfer transfer = self().get(there, {static_cast<std::byte*>(target), bytes});
  transfers_.start(transfer);
}

void SymmetricMemory::flush() {
  internals::OperationGroup::Done done = transfers_.done();
  internals::mpi_progress().wait<AwaitNote>(done);
}

void SymmetricMemory::wait_signal(std::size_t signal, std::uint64_t count) {
  if (signal >= signals_.size())
    throw Error(Errc::bad_input,
                fmt::format("the signal is {}: this rank has {} (counted from 0)", signal, signals_.size()));
  internals::SignalWait reached = self().wait(signals_[signal], count);
  internals::mpi_progress().wait<AwaitNote>(reached);
}

std::uint64_t SymmetricMemory::signal_count(std::size_t signal) const noexcept {
  return signal < signals_.size() ? signals_[signal].value() : 0;
}

void SymmetricMemory::end() {
  flush();
  await(comm_->team().barrier());
}

}  // namespace coracle::mpi
