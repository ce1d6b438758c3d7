// The order of things in a step.
#include "apps/himeno/solver.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace coracle::himeno {
namespace {

constexpr std::uint64_t kPassesMin = 3;

/// `box` from `begin` up to `end` in one dimension.
Box cut(Box box, std::size_t dimension, std::size_t begin, std::size_t end) {
  box.begin[dimension] = begin;
  box.end[dimension] = end;
  return box;
}

double points_of(const Box& box) {
  double points = 1;
  for (std::size_t d = 0; d < 3; ++d) points *= static_cast<double>(box.end[d] - box.begin[d]);
  return points;
}

}  // namespace

Solver::Solver(Rank& self, const Triple& size, const Triple& ranks, const Kernel& kernel, double points_per_s)
    : self_(self),
      size_(size),
      ranks_(ranks),
      kernel_(kernel),
      points_per_s_(points_per_s),
      block_(size, ranks, self.id()),
      fields_(block_),
      pressure_(self.allocate<float>(2 * block_.floats())),
      halo_(self, size, ranks, pressure_),
      core_(block_.all()) {
  divide();
}

// Cuts off the core, dimension by dimension, what lies at a neighbour: one point thick, but across k a vector, which
// takes no longer.
void Solver::divide() {
  constexpr std::size_t kThickness[3] = {1, 1, kLanesMax};
  for (std::size_t d = 0; d < 3 && !core_.empty(); ++d) {
    for (const bool upper : {false, true}) {
      if (!halo_.is_cut(d, upper)) continue;
      const std::size_t begin = core_.begin[d];
      const std::size_t end = core_.end[d];
      const std::size_t thickness = std::min(kThickness[d], end - begin);
      const std::size_t place = upper ? end - thickness : begin + thickness;
      shell_.push_back(upper ? cut(core_, d, place, end) : cut(core_, d, begin, place));
      core_ = upper ? cut(core_, d, begin, place) : cut(core_, d, place, end);
      if (core_.empty()) break;
    }
  }
}

Task<double> Solver::time_memory(double for_s) {
  const std::size_t origin = block_.at(0, 0, 0);
  double best = std::numeric_limits<double>::infinity();
  double spent_s = 0;
  for (std::uint64_t i = 0; i < kPassesMin || spent_s < for_s; ++i) {
    co_await self_.world().barrier();
    const std::uint64_t begin_ns = self_.loop().exact_now_ns();
    kernel_.stream(fields_.coefficients(), pressure(i) + origin, pressure(i + 1) + origin, block_.all());
    const double seconds = static_cast<double>(self_.loop().exact_now_ns() - begin_ns) * 1e-9;
    const double slowest = co_await self_.world().all_reduce(seconds, max_of);
    best = std::min(best, slowest);
    spent_s += std::max(slowest, 1e-6);  // the same everywhere, so that all end together
  }
  co_return best;
}

Task<> Solver::connect() {
  for (const std::uint64_t state : {0U, 1U}) fill_pressure(block_, size_, pressure(state));
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
}

Task<> Solver::step(Scope& scope, ExactSum& sum) {
  co_await halo_.arrived(state_);
  for (const Box& box : shell_) co_await make(box, sum);
  co_await halo_.sent();  // of the state before
  halo_.send(scope, state_ + 1);
  // In parts, between which transports that need this rank's hand get it.
  constexpr std::size_t kParts = 8;
  const std::size_t begin = core_.begin[0];
  const std::size_t planes = core_.empty() ? 0 : core_.end[0] - begin;
  const std::size_t parts = halo_.has_neighbours() ? std::min(kParts, planes) : 1;
  for (std::size_t part = 0; part < parts; ++part) {
    const Box slice = cut(core_, 0, begin + planes * part / parts, begin + planes * (part + 1) / parts);
    co_await make(slice, sum);
    if (part + 1 < parts) co_await yield();
  }
  ++state_;
}

Task<> Solver::make(const Box& box, ExactSum& sum) {
  if (box.empty()) co_return;
  const std::size_t origin = block_.at(0, 0, 0);
  kernel_.relax(fields_.coefficients(), pressure(state_) + origin, pressure(state_ + 1) + origin, box, sum);
  if (points_per_s_ <= 0) co_return;
  const double ns = points_of(box) / points_per_s_ * 1e9;
  co_await self_.busy_for(std::chrono::nanoseconds(static_cast<std::int64_t>(ns)));
}

Task<std::vector<float>> Solver::collect() {
  const auto everyones = co_await self_.world().gather_all(pressure_.remote());
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
