// The order of things in a step.
#include "apps/himeno/solver.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "apps/himeno/fields.hpp"

namespace coracle::himeno {
namespace {

constexpr std::uint64_t kPassesMin = 3;

/// `box` from `begin` up to `end` in one dimension.
Box cut(Box box, std::size_t dimension, std::size_t begin, std::size_t end) {
  box.begin[dimension] = begin;
  box.end[dimension] = end;
  return box;
}

}  // namespace

Solver::Solver(Rank& self, const Triple& size, const Triple& ranks, Device& device)
    : self_(self),
      size_(size),
      ranks_(ranks),
      device_(device),
      block_(size, ranks, self.id()),
      halo_(self, size, ranks, device.pressure(), device.remote_pressure()),
      all_(device.add_part({block_.all()})) {
  divide();
}

// Cuts off the core, dimension by dimension, what lies at a neighbour: one point thick, but across k a vector, which
// takes no longer.
void Solver::divide() {
  constexpr std::size_t kThickness[3] = {1, 1, kLanesMax};
  std::vector<Box> shell;
  Box core = block_.all();
  for (std::size_t d = 0; d < 3 && !core.empty(); ++d) {
    for (const bool upper : {false, true}) {
      if (!halo_.is_cut(d, upper)) continue;
      const std::size_t begin = core.begin[d];
      const std::size_t end = core.end[d];
      const std::size_t thickness = std::min(kThickness[d], end - begin);
      const std::size_t place = upper ? end - thickness : begin + thickness;
      shell.push_back(upper ? cut(core, d, place, end) : cut(core, d, begin, place));
      core = upper ? cut(core, d, begin, place) : cut(core, d, place, end);
      if (core.empty()) break;
    }
  }
  if (!shell.empty()) shell_ = device_.add_part(std::move(shell));
  if (core.empty()) return;
  const std::size_t begin = core.begin[0];
  const std::size_t planes = core.end[0] - begin;
  const std::size_t pieces = halo_.has_neighbours() ? std::min(device_.pieces(), planes) : 1;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const Box slice = cut(core, 0, begin + planes * piece / pieces, begin + planes * (piece + 1) / pieces);
    core_.push_back(device_.add_part({slice}));
  }
}

Task<double> Solver::time_memory(double for_s) {
  double best = std::numeric_limits<double>::infinity();
  double spent_s = 0;
  for (std::uint64_t i = 0; i < kPassesMin || spent_s < for_s; ++i) {
    co_await self_.world().barrier();
    const std::uint64_t begin_ns = self_.loop().exact_now_ns();
    co_await device_.stream(all_, i);
    const double seconds = static_cast<double>(self_.loop().exact_now_ns() - begin_ns) * 1e-9;
    const double slowest = co_await self_.world().all_reduce(seconds, max_of);
    best = std::min(best, slowest);
    spent_s += std::max(slowest, 1e-6);  // the same everywhere, so that all end together
  }
  co_return best;
}

Task<> Solver::connect() {
  co_await device_.fill_pressure();
  co_await halo_.connect();
}

Task<std::vector<ExactSum>> Solver::run(std::size_t steps, std::function<void(std::size_t)> progress) {
  std::vector<ExactSum> sums(steps);
  co_await with_scope(step_in, std::ref(*this), steps, std::move(progress), std::ref(sums));
  co_await self_.world().all_reduce(sums, std::plus<>{});
  co_return sums;
}

Task<> Solver::step_in(Scope& scope, Solver& solver, std::size_t steps, std::function<void(std::size_t)> progress,
                       std::vector<ExactSum>& sums) {
  for (std::size_t done = 0; done < steps; ++done) {
    co_await solver.step(scope, sums[done]);
    progress(done + 1);
  }
  co_await solver.halo_.sent();
  co_await solver.device_.settle();
}

Task<> Solver::step(Scope& scope, ExactSum& sum) {
  co_await halo_.arrived(state_);
  if (shell_) co_await device_.relax(*shell_, state_, sum);
  co_await halo_.sent();  // of the state before
  halo_.send(scope, state_ + 1);
  for (std::size_t piece = 0; piece < core_.size(); ++piece) {
    if (piece > 0) co_await yield();  // transports that need this rank's hand get it
    co_await device_.relax(core_[piece], state_, sum);
  }
  ++state_;
}

Task<std::vector<float>> Solver::collect() {
  const auto everyones = co_await self_.world().gather_all(device_.remote_pressure());
  std::vector<float> whole;
  if (self_.id() == 0) {
    const auto planes = size_[1] * size_[2];
    whole.resize(size_[0] * planes);
    for (std::size_t i = 0; i < size_[0]; ++i)
      std::fill_n(whole.begin() + static_cast<std::ptrdiff_t>(i * planes), planes, first_pressure(i, size_[0]));
    for (std::uint32_t peer = 0; peer < self_.size(); ++peer) {
      const Block theirs(size_, ranks_, peer);
      const Triple& first = theirs.first();
      const Layout here = layout_of(theirs.count(), size_[2], planes);
      const Layout there = layout_of(theirs.count(), theirs.row(), theirs.plane());
      const ScatteredTarget target{&whole[first[0] * planes + first[1] * size_[2] + first[2]], here};
      const auto place = static_cast<std::ptrdiff_t>(state_ % 2 * theirs.floats() + theirs.at(1, 1, 1));
      co_await self_.get(everyones[peer] + place, there, 1, target);
    }
  }
  co_await self_.world().barrier();
  co_return whole;
}

}  // namespace coracle::himeno
