// MPI_Scan, MPI_Exscan and their forms.
#include "collectives/blocking.hpp"
#include "collectives/exchanges.hpp"
#include "collectives/reductions.hpp"
#include "interfaces/mpi/core/collectives/arguments.hpp"
#include "interfaces/mpi/core/collectives/reducing.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {
namespace collectives {
namespace {

using internals::Algorithm;
using internals::Blocks;

enum class Includes : bool { others, own_too };

/// Of the processes before this one, and this one or not.
class ScanOf : public Reducing {
 public:
  ScanOf(Includes includes, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op, Comm* comm)
      : Reducing(datatype, op, comm),
        inclusive_(includes == Includes::own_too),
        source_(is_in_place(sendbuf) ? recvbuf : sendbuf),
        target_(recvbuf),
        count_(count) {
    refuse_in_place(recvbuf, "recvbuf");
    check_values(source_, count, "sendbuf");
    if (inclusive_ || rank() > 0) check_values(recvbuf, count, "recvbuf");
  }

  Task<> start() const {
    if (!is_direct()) return by_elements();
    return scan_elements(values(), result());
  }
  void finish() const {
    if (!is_direct()) return run(comm(), start());
    const auto scan = inclusive_ ? internals::scan_blocking : internals::exclusive_scan_blocking;
    scan(team(), values(), result(), reduction(), kNowhere, runner());
  }

 private:
  /// The first one of an exclusive scan gets nothing, and may have no memory for it.
  bool takes() const noexcept { return inclusive_ || rank() > 0; }
  std::span<const std::byte> values() const noexcept { return bytes_at(source_, count_); }
  std::span<std::byte> result() const noexcept { return bytes_at(target_, takes() ? count_ : 0); }
  Task<> scan_elements(std::span<const std::byte> values, std::span<std::byte> result) const {
    return inclusive_ ? scan_bytes(team(), values, result, reduction(), kNowhere)
                      : exclusive_scan_bytes(team(), values, result, reduction(), nullptr, kNowhere);
  }
  Task<> by_elements() const;
  Task<> gather_and_combine(std::span<const std::byte> values, std::span<std::byte> result) const;

  bool inclusive_;
  const void* source_;
  void* target_;
  Count count_;
};

Task<> ScanOf::by_elements() const {
  const internals::Preparation preparation(team(), inclusive_ ? "scan" : "exclusive_scan");
  const ElementsToSend values(*this, source_, count_);
  const ElementsToReceive result(*this, target_, takes() ? count_ : 0);
  if (too_large())
    co_await gather_and_combine(values.span(), result.span());
  else
    co_await scan_elements(values.span(), result.span());
  if (takes()) result.store();
}

Task<> ScanOf::gather_and_combine(std::span<const std::byte> values, std::span<std::byte> result) const {
  const Scratch all(values.size() * size());
  const Blocks blocks(size(), values.size());
  co_await gather_all_bytes(team(), values, all.span(), blocks, Algorithm::automatic, kNowhere);
  combine_in_order(reduction(), all.span(), inclusive_ ? rank() + 1 : rank(), result);
}

class Scan : public ScanOf {
 public:
  template <class... Parameters>
  explicit Scan(Parameters... parameters) : ScanOf(Includes::own_too, parameters...) {}
};

class ExclusiveScan : public ScanOf {
 public:
  template <class... Parameters>
  explicit ExclusiveScan(Parameters... parameters) : ScanOf(Includes::others, parameters...) {}
};

}  // namespace
}  // namespace collectives

constinit decltype(scan) scan = collectives::FormsOf<collectives::Scan>();
constinit decltype(exscan) exscan = collectives::FormsOf<collectives::ExclusiveScan>();

}  // namespace coracle::mpi
