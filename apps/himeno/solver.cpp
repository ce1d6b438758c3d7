// Links to neighbours, and what goes over them; then the order of things in a step. The serial run: arrays with names,
// three loops, and the sum of the definition.
#include "apps/himeno/solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "apps/himeno/block.hpp"

namespace coracle::himeno {
namespace {

// Directions are numbered by three digits to the base of three: 0, 1 and 2 are one step down, none and one up.
constexpr std::size_t kDirections = 27;

/// 16 bytes.
constexpr std::size_t kRowFloats = 4;
static_assert(kLanesMax % kRowFloats == 0);

constexpr std::array<int, 3> steps_of(std::size_t direction) noexcept {
  return {static_cast<int>(direction / 9) - 1, static_cast<int>(direction / 3 % 3) - 1,
          static_cast<int>(direction % 3) - 1};
}

constexpr std::size_t opposite(std::size_t direction) noexcept {
  return kDirections - 1 - direction;
}

/// Faces and edges: a step in one or two dimensions.
bool is_needed(std::size_t direction) noexcept {
  const auto still = std::ranges::count(steps_of(direction), 0);
  return still == 1 || still == 2;
}

std::optional<std::uint32_t> neighbour(const Triple& place, const Triple& ranks, std::size_t direction) noexcept {
  const auto steps = steps_of(direction);
  std::size_t rank = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::size_t there = place[d] + static_cast<std::size_t>(steps[d]);  // below 0: it wraps around
    if (there >= ranks[d]) return std::nullopt;
    rank = rank * ranks[d] + there;
  }
  return static_cast<std::uint32_t>(rank);
}

bool is_one_run(const Layout& layout) {
  return layout.block_count() == 1;
}

}  // namespace

Layout layout_of(const Triple& points, std::size_t row, std::size_t plane) {
  const auto bytes = [](std::size_t floats) { return static_cast<std::int64_t>(floats * sizeof(float)); };
  const auto count = [&](std::size_t d) { return static_cast<std::int64_t>(points[d]); };
  const Layout line = Layout::of<float>().contiguous(count(2));
  return line.hvector(count(1), 1, bytes(row)).hvector(count(0), 1, bytes(plane));
}

Halo::Halo(Rank& self, const Triple& size, const Triple& ranks, float* pressure, Remote<float> remote)
    : self_(self),
      block_(size, ranks, self.id()),
      pressure_(pressure),
      remote_(remote),
      arrived_(self.allocate_signals(kDirections)) {
  for (std::size_t direction = 0; direction < kDirections; ++direction)
    if (is_needed(direction)) add_link(size, ranks, direction);
}

void Halo::add_link(const Triple& size, const Triple& ranks, std::size_t direction) {
  const auto peer = neighbour(block_.place(), ranks, direction);
  if (!peer) return;
  const auto steps = steps_of(direction);
  const Block theirs(size, ranks, *peer);
  Triple from = {1, 1, 1};
  Triple to = {1, 1, 1};
  Triple points = block_.count();
  std::size_t dimensions = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    if (steps[d] == 0) continue;
    const bool up = steps[d] > 0;
    from[d] = up ? block_.count()[d] : 1;
    to[d] = up ? 0 : theirs.count()[d] + 1;
    points[d] = 1;
    ++dimensions;
    if (std::ranges::count(steps, 0) == 2) cut_[d][up ? 1 : 0] = true;
  }
  // Where k is not cut, what lies behind a row may go along: the grid's outermost point, which is the same there, and
  // what no one reads. So a face across i is one run of memory, and the rows of one across j are of whole
  // kRowFloats, as devices that copy by themselves want it (there is room: rows end at a whole kLanesMax).
  if (ranks[2] == 1 && steps[0] == 0) points[2] = (points[2] + kRowFloats - 1) / kRowFloats * kRowFloats;
  const bool is_whole_plane = steps[0] != 0 && dimensions == 1 && ranks[2] == 1;
  const Triple run = {1, 1, (points[1] - 1) * block_.row() + points[2]};
  const Triple& sent = is_whole_plane ? run : points;
  links_.push_back({*peer, direction, theirs, block_.at(from[0], from[1], from[2]), theirs.at(to[0], to[1], to[2]),
                    layout_of(sent, block_.row(), block_.plane()), layout_of(sent, theirs.row(), theirs.plane())});
}

Task<> Halo::connect() {
  const Mailbox mine{remote_, arrived_.remote()};
  mailboxes_ = co_await self_.world().gather_all(mine);
}

Task<> Halo::arrived(std::uint64_t state) {
  for (const Link& link : links_) co_await self_.wait(arrived_[link.direction], state, link.peer);
}

void Halo::send(Scope& scope, std::uint64_t state) {
  for (const Link& link : links_) {
    if (is_one_run(link.here) && is_one_run(link.there)) {
      const std::span<const float> run(source(link, state), link.here.size() / sizeof(float));
      self_.put_signal_nbi(run, target(link, state), signal(link));
    } else {
      sending_.push_back(start(scope, put_scattered(link, state)));
    }
  }
}

Task<> Halo::sent() {
  for (Started<>& sending : sending_) co_await sending.done();
  sending_.clear();
  co_await self_.nbi_done();
}

Task<> Halo::put_scattered(const Link& link, std::uint64_t state) {
  const ScatteredSource from{source(link, state), link.here};
  co_await self_.put(from, target(link, state), link.there);
  co_await self_.raise(signal(link));
}

const float* Halo::source(const Link& link, std::uint64_t state) const noexcept {
  return pressure_ + state % 2 * block_.floats() + link.from;
}

Remote<float> Halo::target(const Link& link, std::uint64_t state) const {
  return mailboxes_[link.peer].pressure + static_cast<std::ptrdiff_t>(state % 2 * link.theirs.floats() + link.to);
}

// What comes from us comes to them from the opposite direction.
Remote<Signal> Halo::signal(const Link& link) const {
  return mailboxes_[link.peer].arrived + static_cast<std::ptrdiff_t>(opposite(link.direction));
}

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
  const auto since = [this](std::uint64_t begin_ns) {
    return static_cast<double>(self_.loop().exact_now_ns() - begin_ns) * 1e-9;
  };
  double best = std::numeric_limits<double>::infinity();
  double spent_s = 0;
  const std::uint64_t first_ns = self_.loop().exact_now_ns();
  for (std::uint64_t i = 0; i < kPassesMin || spent_s < for_s; ++i) {
    co_await self_.world().barrier();
    const std::uint64_t begin_ns = self_.loop().exact_now_ns();
    co_await device_.stream(all_, i);
    // The slowest pass; and the time spent, with that of meeting, the same everywhere, so that all end together.
    std::vector<double> slowest{since(begin_ns), since(first_ns)};
    co_await self_.world().all_reduce(slowest, max_of);
    best = std::min(best, slowest[0]);
    spent_s = slowest[1];
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

namespace {

/// A value for each point.
class Field {
 public:
  Field(const Triple& size, float value) : size_(size), values_(product(size), value) {}
  float operator()(std::size_t i, std::size_t j, std::size_t k) const { return values_[place(i, j, k)]; }
  float& operator()(std::size_t i, std::size_t j, std::size_t k) { return values_[place(i, j, k)]; }
  std::vector<float>& values() noexcept { return values_; }

 private:
  std::size_t place(std::size_t i, std::size_t j, std::size_t k) const noexcept {
    return (i * size_[1] + j) * size_[2] + k;
  }

  Triple size_;
  std::vector<float> values_;
};

struct Problem {
  explicit Problem(const Triple& size) : p(size, 0.0F) {
    for (std::size_t i = 0; i < size[0]; ++i)
      for (std::size_t j = 0; j < size[1]; ++j)
        for (std::size_t k = 0; k < size[2]; ++k) p(i, j, k) = first_pressure(i, size[0]);
    for (const float value : {1.0F, 1.0F, 1.0F, 1.0F / 6.0F}) a.emplace_back(size, value);
    for (int m = 0; m < 3; ++m) {
      b.emplace_back(size, 0.0F);
      c.emplace_back(size, 1.0F);
    }
    bnd.emplace_back(size, 1.0F);
    wrk1.emplace_back(size, 0.0F);
  }

  float change(std::size_t i, std::size_t j, std::size_t k) const {
    const float sum =
        a[0](i, j, k) * p(i + 1, j, k) + a[1](i, j, k) * p(i, j + 1, k) + a[2](i, j, k) * p(i, j, k + 1) +
        b[0](i, j, k) * (p(i + 1, j + 1, k) - p(i + 1, j - 1, k) - p(i - 1, j + 1, k) + p(i - 1, j - 1, k)) +
        b[1](i, j, k) * (p(i, j + 1, k + 1) - p(i, j - 1, k + 1) - p(i, j + 1, k - 1) + p(i, j - 1, k - 1)) +
        b[2](i, j, k) * (p(i + 1, j, k + 1) - p(i - 1, j, k + 1) - p(i + 1, j, k - 1) + p(i - 1, j, k - 1)) +
        c[0](i, j, k) * p(i - 1, j, k) + c[1](i, j, k) * p(i, j - 1, k) + c[2](i, j, k) * p(i, j, k - 1) +
        wrk1[0](i, j, k);
    return (sum * a[3](i, j, k) - p(i, j, k)) * bnd[0](i, j, k);
  }

  Field p;
  std::vector<Field> a;
  std::vector<Field> b;
  std::vector<Field> c;
  std::vector<Field> bnd;
  std::vector<Field> wrk1;
};

ExactSum step(Problem& problem, Field& next, const Triple& size) {
  ExactSum squares;
  for (std::size_t i = 1; i + 1 < size[0]; ++i)
    for (std::size_t j = 1; j + 1 < size[1]; ++j)
      for (std::size_t k = 1; k + 1 < size[2]; ++k) {
        const float change = problem.change(i, j, k);
        squares.add_square(change);
        next(i, j, k) = problem.p(i, j, k) + kOmega * change;
      }
  problem.p.values() = next.values();
  return squares;
}

}  // namespace

SerialRun run_serially(const Triple& size, std::size_t steps) {
  Problem problem(size);
  Field next = problem.p;
  SerialRun run;
  for (std::size_t n = 0; n < steps; ++n) run.sums.push_back(step(problem, next, size));
  run.pressure = std::move(problem.p.values());
  return run;
}

std::string difference(const SerialRun& serial, const std::vector<ExactSum>& sums, const std::vector<float>& pressure,
                       const Triple& size) {
  for (std::size_t n = 0; n < serial.sums.size(); ++n)
    if (serial.sums[n] != sums[n])
      return fmt::format("the residual of iteration {} is {:.17g}, but {:.17g} serially", n + 1, sums[n].value(),
                         serial.sums[n].value());
  for (std::size_t at = 0; at < pressure.size(); ++at)
    if (std::bit_cast<std::uint32_t>(pressure[at]) != std::bit_cast<std::uint32_t>(serial.pressure[at]))
      return fmt::format("the pressure at ({}, {}, {}) is {:.9g}, but {:.9g} serially", at / size[2] / size[1],
                         at / size[2] % size[1], at % size[2], pressure[at], serial.pressure[at]);
  return "";
}

}  // namespace coracle::himeno
