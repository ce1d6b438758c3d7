// Transfers of few long blocks: by the puts and gets that the transport has.
#include <algorithm>
#include <functional>

#include "runtime/core/scope.hpp"
#include "runtime/layout/cursor.hpp"
#include "runtime/rank/rank_core.hpp"
#include "runtime/rank/transfer.hpp"
#include "runtime/rank/transfers.hpp"

namespace coracle::internals::scattered {
namespace {

/// Enough to fill the way there and back of the networks that we know.
constexpr int kBlocksAtOnce = 16;

struct Blocks {
  RankCore& core;
  Operation::Verb verb;
  std::byte* local_origin;
  RemoteAddress remote_origin;
  layouts::Cursor local;
  layouts::Cursor remote;

  bool at_end() const { return local.at_end(); }
  /// The run that comes next, as an operation.
  Transfer next();
};

std::int64_t place_of(const layouts::Group& group) {
  return group.offset + (group.offsets != nullptr ? group.offsets[0] : 0);
}

Transfer Blocks::next() {
  const bool is_put = verb == Operation::Verb::put;
  Transfer run(core, verb, is_put ? "put" : "get", remote_origin.rank);
  run.bytes = static_cast<std::size_t>(std::min(local.group().block_bytes, remote.group().block_bytes));
  run.local = local_origin + place_of(local.group());
  run.remote = remote_origin;
  run.remote.offset += static_cast<std::uint64_t>(place_of(remote.group()));
  local.advance_bytes(run.bytes);
  remote.advance_bytes(run.bytes);
  return run;
}

Task<> transfer_some(Blocks& blocks) {
  while (!blocks.at_end()) co_await blocks.next();
}

Task<> transfer_all(Scope& scope, Blocks& blocks) {
  for (int i = 0; i < kBlocksAtOnce && !blocks.at_end(); ++i) scope.spawn(transfer_some(blocks));
  co_return;
}

}  // namespace

TransferRoute choose_route(const TransportTraits& traits, const LayoutShape& local,
                           const LayoutShape& remote) noexcept {
  if (local.blocks <= 1 && remote.blocks <= 1) return TransferRoute::blocks;
  // What a byte costs to be packed here and unpacked there is what a block costs as an operation of its own.
  constexpr double kNsPerByte = 0.25;
  const auto runs_max = static_cast<double>(local.blocks) + static_cast<double>(remote.blocks) - 1;
  const double run_bytes = static_cast<double>(local.bytes) / runs_max;
  return run_bytes * kNsPerByte > traits.overhead_ns ? TransferRoute::blocks : TransferRoute::pieces;
}

Task<> transfer_blocks(RankCore& core, Operation::Verb verb, ScatteredTarget local, RemoteAddress origin,
                       const Layout& layout, std::uint64_t count) {
  Blocks blocks{core,
                verb,
                static_cast<std::byte*>(local.origin),
                origin,
                layouts::Cursor(local.layout, local.count, 0),
                layouts::Cursor(layout, count, 0)};
  if (blocks.at_end()) co_return;
  co_await with_scope(transfer_all, std::ref(blocks));
}

}  // namespace coracle::internals::scattered
