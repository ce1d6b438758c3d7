// Deals the rows out and fills them; then the loop over blocks of pivots, one step ahead of itself.
#include "apps/asp/solver.hpp"

#include <time.h>

#include <utility>

#include "runtime/core/assert.hpp"

namespace coracle::asp {

std::size_t good_block_size(std::size_t vertices, std::uint32_t ranks) noexcept {
  constexpr std::size_t kBest = 64;  // measured: larger ones gain little and make the others wait longer for pivots
  const std::size_t wanted = vertices / (std::size_t{4} * ranks) / kPivotsStep * kPivotsStep;
  return std::clamp(wanted, kPivotsStep, kBest);
}

OwnedRows::OwnedRows(const BlockLayout& layout, std::uint32_t rank, const Graph& graph)
    : layout_(layout), rank_(rank), stride_(row_stride(layout.vertices)) {
  CORACLE_ASSERT(layout.block % kPivotsStep == 0 && layout.block > 0 && layout.block <= kPivotsMax, "blocks of {} rows",
                 layout.block);
  const std::size_t owned = rank < layout.blocks() ? (layout.blocks() - 1 - rank) / layout.ranks + 1 : 0;
  data_.reset(new (kAlignment) float[owned * layout.block * stride_]);
  for (std::size_t index = first_block(); index < layout.blocks(); index += layout.ranks) {
    const DistanceRows rows = block(index);
    for (std::size_t i = 0; i < rows.count; ++i) {
      graph.fill_row(static_cast<Vertex>(layout.first_row(index) + i), {rows.row(i), stride_});
    }
  }
}

DistanceRows OwnedRows::block(std::size_t index) const noexcept {
  const std::size_t place = index / layout_.ranks;
  return {data_.get() + place * layout_.block * stride_, layout_.row_count(index), stride_};
}

std::span<const float> OwnedRows::row(std::size_t vertex) const noexcept {
  const DistanceRows rows = block(vertex / layout_.block);
  return {rows.row(vertex % layout_.block), layout_.vertices};
}

namespace {

double seconds(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

Solver::Solver(Rank& self, OwnedRows& rows, std::optional<BroadcastChoice> broadcast,
               std::function<void(std::size_t, std::size_t)> progress)
    : self_(self),
      rows_(rows),
      layout_(rows.layout()),
      stride_(row_stride(layout_.vertices)),
      broadcast_(broadcast),
      progress_(std::move(progress)),
      pivots_(self.allocate<float>(kBuffers * layout_.block * stride_)),
      arrived_(self.allocate_signals(kBuffers)),
      freed_(self.allocate_signals(1)),
      arrivals_s_(layout_.blocks(), -1) {}

Task<> Solver::run() {
  const Mailbox mine{pivots_.remote(), arrived_.remote(), freed_.remote()};
  mailboxes_ = co_await self_.world().gather_all(mine);
  co_await self_.world().barrier();
  start_ns_ = self_.loop().exact_now_ns();
  const double start = seconds(CLOCK_MONOTONIC);
  co_await with_scope(solve_in, std::ref(*this));
  effort_.operations = min_plus_.operations();
  effort_.waiting_s = seconds(CLOCK_MONOTONIC) - start - effort_.computing_s;
}

Task<> Solver::solve(Scope& scope) {
  co_await begin_block(scope, 0);
  for (std::size_t block = 0; block < layout_.blocks(); ++block) {
    co_await wait_for_block(block);
    const bool makes_next = block + 1 < layout_.blocks() && rows_.owns(block + 1);
    // The others need these pivots next: they come before the rest of the work.
    if (makes_next) apply(block, block + 1);
    if (block + 1 < layout_.blocks()) co_await begin_block(scope, block + 1);
    co_await apply_to_rest(block, makes_next);
    if (!broadcast_) co_await free_buffer(block);
    progress_(block + 1, layout_.blocks());
  }
  for (std::vector<Started<>>& broadcasts : broadcasts_) {
    for (Started<>& broadcast : broadcasts) co_await broadcast.done();
    broadcasts.clear();
  }
}

Task<> Solver::begin_block(Scope& scope, std::size_t block) {
  if (broadcast_) {
    // The buffer held a block that this rank has done with, but whoever sent it may have to wait for late ranks.
    std::vector<Started<>>& before = broadcasts_[block % kBuffers];
    for (Started<>& broadcast : before) co_await broadcast.done();
    before.clear();
  }
  if (rows_.owns(block)) {
    co_await make_block(scope, block);
  } else if (broadcast_) {
    note_arrival(block);
    for (std::size_t step = 0; step < layout_.row_count(block); ++step)
      start_broadcast(scope, block, step, *broadcast_);
  }
}

Task<> Solver::make_block(Scope& scope, std::size_t block) {
  note_arrival(block);
  if (!broadcast_ && block >= kBuffers) {
    // All others must have done with the block that lay in this buffer. None can be further: they need this block
    // first.
    freed_wanted_ += self_.size() - 1;
    co_await self_.wait(freed_[0], freed_wanted_);
  }
  const DistanceRows own = rows_.block(block);
  for (std::size_t step = 0; step < own.count; ++step) {
    compute(
        [&] { min_plus_.make_pivot(own, layout_.first_row(block), step, pivots_.data() + pivot_offset(block, 0)); });
    if (broadcast_)
      start_broadcast(scope, block, step, *broadcast_);
    else
      put_pivot(block, step);
  }
  compute([&] { min_plus_.finish_block(own, pivots(block)); });
  if (!broadcast_) co_await self_.nbi_done();
}

void Solver::note_arrival(std::size_t block) {
  if (arrivals_s_[block] < 0) arrivals_s_[block] = static_cast<double>(self_.loop().exact_now_ns() - start_ns_) * 1e-9;
}

// Row k is broadcast at step k.
void Solver::start_broadcast(Scope& scope, std::size_t block, std::size_t step, const BroadcastChoice& choice) {
  const std::span<float> pivot = pivots_.local().subspan(pivot_offset(block, step), stride_);
  broadcasts_[block % kBuffers].push_back(start(scope, self_.world().broadcast(pivot, layout_.owner(block), choice)));
}

// Every rank writes to all others itself, beginning with its neighbour, so that not all ranks write to the same one at
// a time.
void Solver::put_pivot(std::size_t block, std::size_t step) {
  const std::size_t offset = pivot_offset(block, step);
  const std::span<const float> pivot = pivots_.local().subspan(offset, stride_);
  for (std::uint32_t distance = 1; distance < self_.size(); ++distance) {
    const Mailbox& mailbox = mailboxes_[(self_.id() + distance) % self_.size()];
    const auto place = static_cast<std::ptrdiff_t>(offset);
    const auto buffer = static_cast<std::ptrdiff_t>(block % kBuffers);
    self_.put_signal_nbi(pivot, mailbox.pivots + place, mailbox.arrived + buffer);
  }
}

Task<> Solver::wait_for_block(std::size_t block) {
  if (rows_.owns(block)) co_return;
  note_arrival(block);
  const std::size_t buffer = block % kBuffers;
  if (broadcast_) {
    for (Started<>& broadcast : broadcasts_[buffer]) co_await broadcast.done();
    co_return;
  }
  arrived_wanted_[buffer] += layout_.row_count(block);
  co_await self_.wait(arrived_[buffer], arrived_wanted_[buffer]);
}

Task<> Solver::apply_to_rest(std::size_t block, bool makes_next) {
  for (std::size_t own = rows_.first_block(); own < layout_.blocks(); own += layout_.ranks) {
    if (own == block || (makes_next && own == block + 1)) continue;
    apply(block, own);
    co_await yield();  // transports that need this rank's hand get it
  }
}

Task<> Solver::free_buffer(std::size_t block) {
  const std::size_t next = block + kBuffers;  // whose owner will fill the buffer again
  if (next < layout_.blocks() && !rows_.owns(next)) co_await self_.raise(mailboxes_[layout_.owner(next)].freed);
}

void Solver::apply(std::size_t pivot_block, std::size_t block) {
  compute([&] { min_plus_.apply(rows_.block(block), pivots(pivot_block)); });
}

template <class Work>
void Solver::compute(Work work) {
  const double start = seconds(CLOCK_MONOTONIC);
  const double cpu_start = seconds(CLOCK_THREAD_CPUTIME_ID);
  work();
  effort_.computing_cpu_s += seconds(CLOCK_THREAD_CPUTIME_ID) - cpu_start;
  effort_.computing_s += seconds(CLOCK_MONOTONIC) - start;
}

}  // namespace coracle::asp
