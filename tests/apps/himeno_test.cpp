// Himeno's pieces: the exact sum, the kernels beside the definition, how points are shared, the command line, and what
// several simulated ranks compute.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "apps/himeno/benchmark.hpp"
#include "apps/himeno/block.hpp"
#include "apps/himeno/device.hpp"
#include "apps/himeno/gpu_device.hpp"
#include "apps/himeno/kernel.hpp"
#include "apps/himeno/report.hpp"
#include "apps/himeno/solver.hpp"
#include "tests/apps/parse_words.hpp"
#include "tests/sim/job.hpp"
#include "transports/cuda/gpu.hpp"
#include "transports/tca/tca_transport.hpp"

namespace coracle::himeno::himeno_test {

using namespace internals;
namespace {

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

/// Arrays of random values, with the strides of a block, and what the definition makes of them.
class RandomProblem {
 public:
  RandomProblem(const Block& block, std::uint32_t seed) : block_(block), random_(seed) {
    for (std::vector<float>& array : arrays_) {
      array.resize(block.floats());
      for (float& value : array) value = std::uniform_real_distribution<float>(-1, 1)(random_);
    }
    coefficients_.plane = block.plane();
    coefficients_.row = block.row();
    const float** const places[] = {&coefficients_.a[0], &coefficients_.a[1], &coefficients_.a[2], &coefficients_.a[3],
                                    &coefficients_.b[0], &coefficients_.b[1], &coefficients_.b[2], &coefficients_.c[0],
                                    &coefficients_.c[1], &coefficients_.c[2], &coefficients_.bnd,  &coefficients_.wrk1};
    for (std::size_t n = 0; n < 12; ++n) *places[n] = arrays_[n].data() + block.at(0, 0, 0);
  }

  const Coefficients& coefficients() const { return coefficients_; }
  const float* pressure() const { return arrays_[12].data() + block_.at(0, 0, 0); }

  /// The new value of a point; its square goes to `sum`.
  float make(std::size_t i, std::size_t j, std::size_t k, ExactSum& sum) const {
    const auto p = [&](int di, int dj, int dk) {
      return arrays_[12][block_.at(i + static_cast<std::size_t>(di), j + static_cast<std::size_t>(dj),
                                   k + static_cast<std::size_t>(dk))];
    };
    const auto of = [&](std::size_t array) { return arrays_[array][block_.at(i, j, k)]; };
    const float s0 = of(0) * p(1, 0, 0) + of(1) * p(0, 1, 0) + of(2) * p(0, 0, 1) +
                     of(4) * (p(1, 1, 0) - p(1, -1, 0) - p(-1, 1, 0) + p(-1, -1, 0)) +
                     of(5) * (p(0, 1, 1) - p(0, -1, 1) - p(0, 1, -1) + p(0, -1, -1)) +
                     of(6) * (p(1, 0, 1) - p(-1, 0, 1) - p(1, 0, -1) + p(-1, 0, -1)) + of(7) * p(-1, 0, 0) +
                     of(8) * p(0, -1, 0) + of(9) * p(0, 0, -1) + of(11);
    const float ss = (s0 * of(3) - p(0, 0, 0)) * of(10);
    sum.add_square(ss);
    return p(0, 0, 0) + 0.8F * ss;
  }

 private:
  Block block_;
  std::mt19937 random_;
  std::vector<float> arrays_[13];
  Coefficients coefficients_{};
};

void check_box(const Kernel& kernel, const RandomProblem& problem, const Block& block, const Box& box) {
  constexpr float kPoison = 12345;
  std::vector<float> next(block.floats(), kPoison);
  ExactSum sum;
  kernel.relax(problem.coefficients(), problem.pressure(), next.data() + block.at(0, 0, 0), box, sum);
  std::vector<float> expected(block.floats(), kPoison);
  ExactSum expected_sum;
  for (std::size_t i = box.begin[0]; i < box.end[0]; ++i)
    for (std::size_t j = box.begin[1]; j < box.end[1]; ++j)
      for (std::size_t k = box.begin[2]; k < box.end[2]; ++k)
        expected[block.at(i, j, k)] = problem.make(i, j, k, expected_sum);
  CHECK(std::ranges::equal(next, expected, {}, bits, bits));
  CHECK(sum == expected_sum);
}

/// What the ranks of a simulated job find, at rank 0.
SerialRun run_simulated(const Triple& size, const Triple& ranks, std::uint32_t nodes, std::uint64_t seed,
                        std::size_t steps, RemoteTransport transport = RemoteTransport::automatic) {
  sim::SimJob job;
  job.size = static_cast<std::uint32_t>(product(ranks));
  job.nodes = nodes;
  job.seed = seed;
  job.transport = transport;
  SerialRun found;
  struct Program {
    static Task<> solve(Rank& self, Triple size, Triple ranks, std::size_t steps, SerialRun& found) {
      Processor processor(self, size, ranks, *usable_kernels().front(), 1e7);
      Solver solver(self, size, ranks, processor);
      co_await solver.connect();
      std::vector<ExactSum> sums = co_await solver.run(steps / 2, [](std::size_t) {});
      const std::vector<ExactSum> more = co_await solver.run(steps - steps / 2, [](std::size_t) {});
      sums.insert(sums.end(), more.begin(), more.end());
      const std::vector<float> pressure = co_await solver.collect();
      if (self.id() == 0) found = {sums, pressure};
      co_await self.world().barrier();
    }
  };
  const sim::SimulationResult outcome =
      job.run([&](Rank& self) { return Program::solve(self, size, ranks, steps, found); });
  CHECK(sim::text_of(outcome) == "");
  return found;
}

/// One exchange of arrays in which each point holds its number in the whole grid. (The benchmark's own b is 0, so that
/// no residual would tell of wrong edges.)
class Exchange {
 public:
  Exchange(const Triple& size, const Triple& ranks) : size_(size), ranks_(ranks) {}

  Task<> run(Rank& self) const {
    const Block block(size_, ranks_, self.id());
    const Slab<float> pressure = self.allocate<float>(2 * block.floats());
    float* const array = pressure.data() + block.floats();
    std::fill_n(array, block.floats(), kNothing);
    for (std::size_t i = 1; i <= block.count()[0]; ++i)
      for (std::size_t j = 1; j <= block.count()[1]; ++j)
        for (std::size_t k = 1; k <= block.count()[2]; ++k) array[block.at(i, j, k)] = number(block, {i, j, k});
    Halo halo(self, size_, ranks_, pressure.data(), pressure.remote());
    co_await halo.connect();
    co_await with_scope(send_in, std::ref(halo));
    co_await halo.arrived(1);
    co_await self.world().barrier();
    check(block, array);
  }

 private:
  static constexpr float kNothing = -1;

  static Task<> send_in(Scope& scope, Halo& halo) {
    halo.send(scope, 1);
    co_await halo.sent();
  }

  float number(const Block& block, const Triple& point) const {
    Triple whole{};
    for (std::size_t d = 0; d < 3; ++d) whole[d] = block.first()[d] + point[d] - 1;
    return static_cast<float>((whole[0] * size_[1] + whole[1]) * size_[2] + whole[2]);
  }

  // Faces and edges hold the neighbours' points, but not corners and what lies outside of all blocks. (Between the rows
  // of a face that came as one run anything may lie.)
  void check(const Block& block, const float* array) const {
    for (std::size_t i = 0; i < block.count()[0] + 2; ++i)
      for (std::size_t j = 0; j < block.count()[1] + 2; ++j)
        for (std::size_t k = 0; k < block.count()[2] + 2; ++k) {
          const Triple point = {i, j, k};
          int outside = 0;
          bool is_outermost = false;
          for (std::size_t d = 0; d < 3; ++d) {
            const std::size_t whole = block.first()[d] + point[d] - 1;
            is_outermost = is_outermost || whole == 0 || whole + 1 == size_[d];
            outside += point[d] == 0 || point[d] > block.count()[d] ? 1 : 0;
          }
          const float expected = is_outermost || outside == 3 ? kNothing : number(block, point);
          EXPECT(array[block.at(i, j, k)] == expected);
        }
  }

  Triple size_;
  Triple ranks_;
};

std::variant<Options, int> parse(std::initializer_list<const char*> arguments) {
  return apps_test::parse_words(parse_options, {arguments.begin(), arguments.end()});
}

int status_of(std::initializer_list<const char*> arguments) {
  return apps_test::status_of_words(parse_options, {arguments.begin(), arguments.end()});
}

}  // namespace

TEST_CASE("exact sum: any order and grouping gives the same bits, and what long doubles give nearly") {
  constexpr std::uint32_t kSeed = 7;
  std::mt19937 random(kSeed);
  std::vector<float> values(5000);
  for (float& value : values)
    value = std::ldexp(std::uniform_real_distribution<float>(-1, 1)(random), -static_cast<int>(random() % 30));
  long double expected = 0;
  for (const float value : values) expected += static_cast<long double>(value) * static_cast<long double>(value);
  ExactSum first;
  for (const float value : values) first.add_square(value);
  CHECK(first.value() == doctest::Approx(static_cast<double>(expected)).epsilon(1e-15));
  for (int round = 0; round < 5; ++round) {
    std::ranges::shuffle(values, random);
    ExactSum parts[7];
    for (std::size_t n = 0; n < values.size(); ++n) parts[n % 7].add_square(values[n]);
    ExactSum all;
    for (const ExactSum& part : parts) all = part + all;
    CHECK(all == first);
  }
}

TEST_CASE("exact sum: words that were added up by halves are the same sum") {
  std::mt19937_64 random(11);
  ExactSum expected;
  std::uint64_t halves[4] = {};
  for (int n = 0; n < 1000; ++n) {
    const auto top = static_cast<std::int64_t>(random() >> 3U) - (std::int64_t{1} << 58);
    const auto rest = static_cast<std::int64_t>(random() >> 3U) - (std::int64_t{1} << 60);
    expected.add_words(top, rest);
    std::uint64_t words[kSumWords];
    to_words({top, rest}, words);
    for (std::size_t word = 0; word < kSumWords; ++word) halves[word] += words[word];
  }
  ExactSum sum;
  sum.add_halves(halves);
  CHECK(sum == expected);
}

TEST_CASE("exact sum: squares enter exactly, and carries go up") {
  ExactSum sum;
  sum.add_square(0x1p-44F);  // 2^-88: two units
  CHECK(sum == ExactSum{2, 0});
  sum.add_square(1.0F);
  CHECK(sum == ExactSum{2, std::int64_t{1} << 25});
  CHECK(ExactSum{~std::uint64_t{0}, 0} + ExactSum{1, 0} == ExactSum{0, 1});
  ExactSum words;
  words.add_words(3, -1);
  CHECK(words.value() == 3 * 0x1p-44 - 0x1p-89);
  words.add_words(-3, 1);
  CHECK(words == ExactSum{});
}

TEST_CASE("kernels: each gives the definition's bits, in boxes that begin and end anywhere") {
  const Block block({6, 7, 72}, {1, 1, 1}, 0);
  const RandomProblem problem(block, 3);
  for (const Kernel* kernel : usable_kernels()) {
    CAPTURE(kernel->name);
    for (const std::size_t begin : {1U, 2U, 17U})
      for (const std::size_t end :
           {begin, begin + 1, begin + 3, begin + 4, begin + 9, begin + 16, begin + 23, begin + 33, std::size_t{71}}) {
        CAPTURE(begin);
        CAPTURE(end);
        check_box(*kernel, problem, block, {{1, 1, begin}, {5, 6, end}});
        check_box(*kernel, problem, block, {{2, 3, begin}, {3, 4, end}});
        check_box(*kernel, problem, block, {{2, 3, end}, {3, 4, begin}});  // nothing
      }
  }
}

TEST_CASE("kernels: passing through the memory touches the box and nothing else") {
  const Block block({4, 4, 40}, {1, 1, 1}, 0);
  const RandomProblem problem(block, 4);
  for (const Kernel* kernel : usable_kernels()) {
    std::vector<float> next(block.floats(), 99);
    kernel->stream(problem.coefficients(), problem.pressure(), next.data() + block.at(0, 0, 0), block.all());
    CHECK(std::ranges::count(next, 99.0F) == static_cast<std::ptrdiff_t>(block.floats() - product(block.count())));
  }
}

TEST_CASE("blocks: hold each inner point once, and rows are aligned") {
  const Triple size = {9, 12, 50};
  for (const Triple& ranks : {Triple{1, 1, 1}, Triple{2, 3, 5}, Triple{7, 1, 2}, Triple{1, 10, 48}}) {
    std::vector<int> held(product(size), 0);
    for (std::uint32_t rank = 0; rank < product(ranks); ++rank) {
      const Block block(size, ranks, rank);
      CHECK(block.at(1, 1, 1) % kLanesMax == 0);
      CHECK(block.row() % kLanesMax == 0);
      CHECK(block.at(block.count()[0] + 1, block.count()[1] + 1, block.count()[2] + 1) < block.floats());
      CHECK((block.place()[0] * ranks[1] + block.place()[1]) * ranks[2] + block.place()[2] == rank);
      for (std::size_t i = 0; i < block.count()[0]; ++i)
        for (std::size_t j = 0; j < block.count()[1]; ++j)
          for (std::size_t k = 0; k < block.count()[2]; ++k)
            ++held[((block.first()[0] + i) * size[1] + block.first()[1] + j) * size[2] + block.first()[2] + k];
    }
    CHECK(static_cast<std::size_t>(std::ranges::count(held, 1)) == product(inner(size)));
    CHECK(static_cast<std::size_t>(std::ranges::count(held, 0)) == product(size) - product(inner(size)));
  }
}

TEST_CASE("arrangements: use all ranks, prefer cuts across i, and say when there are too many") {
  const Triple small = {64, 64, 128};
  CHECK(arrange(1, small) == Triple{1, 1, 1});
  CHECK(arrange(2, small) == Triple{2, 1, 1});
  CHECK(arrange(4, small) == Triple{2, 2, 1});
  for (std::uint32_t ranks = 1; ranks < 64; ++ranks) {
    const auto found = arrange(ranks, small);
    CHECK((found && product(*found) == ranks));
  }
  CHECK(arrange(8, {4, 4, 4}) == Triple{2, 2, 2});
  CHECK(arrange(2, {3, 3, 5}) == Triple{1, 1, 2});
  CHECK_FALSE(arrange(9, {4, 4, 4}));
  CHECK_FALSE(arrange(2, {3, 3, 3}));
}

TEST_CASE("fields: the arrays of the benchmark lie apart and are aligned") {
  const Block block({10, 11, 64}, {1, 1, 1}, 0);
  const Fields fields(block);
  const Coefficients& of = fields.coefficients();
  std::set<std::uintptr_t> sets;
  for (const float* array :
       {of.a[0], of.a[1], of.a[2], of.a[3], of.b[0], of.b[1], of.b[2], of.c[0], of.c[1], of.c[2], of.bnd, of.wrk1}) {
    const auto address = reinterpret_cast<std::uintptr_t>(array + 1);
    CHECK(address % 64 == 0);
    sets.insert(address % 4096);
  }
  CHECK(sets.size() == 12);
  CHECK(of.a[3][0] == 1.0F / 6.0F);
  CHECK(of.a[2][0] == 1);
  CHECK(of.b[1][0] == 0);
  CHECK(of.c[2][0] == 1);
}

TEST_CASE("halo: every face and edge comes from the right neighbour, and nothing else is touched") {
  for (const Triple& ranks : {Triple{2, 1, 1}, Triple{1, 2, 1}, Triple{1, 1, 2}, Triple{2, 2, 1}, Triple{2, 1, 2},
                              Triple{1, 2, 2}, Triple{3, 3, 3}, Triple{2, 3, 2}}) {
    CAPTURE(to_text(ranks));
    for (const std::uint32_t nodes : {1U, 2U}) {
      sim::SimJob job;
      job.size = static_cast<std::uint32_t>(product(ranks));
      job.nodes = nodes;
      const Exchange exchange({8, 9, 37}, ranks);
      CHECK(sim::text_of(job.run([&](Rank& self) { return exchange.run(self); })) == "");
    }
  }
}

TEST_CASE("ranks: every arrangement gives the serial run's residuals and pressure, bit for bit") {
  constexpr std::size_t kSteps = 7;
  const Triple arrangements[] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {4, 1, 1}, {2, 2, 1}, {2, 1, 2},
                                 {1, 2, 2}, {2, 2, 2}, {3, 1, 1}, {1, 3, 1}, {1, 1, 3}, {3, 2, 2}, {3, 3, 3}};
  // Wide enough for a core beside the cuts, and so narrow that some ranks have a single point.
  for (const Triple& size : {Triple{10, 9, 115}, Triple{6, 6, 6}, Triple{6, 12, 37}}) {
    const SerialRun serial = run_serially(size, kSteps);
    for (const Triple& ranks : arrangements) {
      CAPTURE(to_text(size));
      CAPTURE(to_text(ranks));
      for (const std::uint32_t nodes : {1U, 2U}) {
        if (product(ranks) < nodes) continue;
        const SerialRun found = run_simulated(size, ranks, nodes, 5, kSteps);
        REQUIRE(found.sums.size() == kSteps);
        REQUIRE(found.pressure.size() == product(size));
        CHECK(difference(serial, found.sums, found.pressure, size) == "");
      }
    }
  }
}

TEST_CASE("ranks: over devices the residuals are the same") {
  const Triple size = {12, 9, 37};
  const SerialRun serial = run_serially(size, 12);
  for (const Triple& ranks : {Triple{1, 2, 1}, Triple{2, 2, 1}, Triple{1, 1, 2}, Triple{2, 2, 2}}) {
    CAPTURE(to_text(ranks));
    const auto nodes = static_cast<std::uint32_t>(product(ranks));
    const SerialRun found = run_simulated(size, ranks, nodes, 3, 12, RemoteTransport::tca);
    REQUIRE(found.sums.size() == 12);
    CHECK(difference(serial, found.sums, found.pressure, size) == "");
  }
}

TEST_CASE("halo: over devices a face across j goes by block-stride, and one across i as one run") {
  for (const Triple& ranks : {Triple{2, 1, 1}, Triple{1, 2, 1}}) {
    CAPTURE(to_text(ranks));
    sim::SimJob job;
    job.size = job.nodes = 2;
    job.transport = RemoteTransport::tca;
    const Exchange exchange({8, 9, 37}, ranks);
    tca::ModeCounts modes;
    const auto run = [&](Rank& self) -> Task<> {
      co_await exchange.run(self);
      modes = dynamic_cast<tca::TcaTransport&>(self.core().transport()).modes();
    };
    CHECK(sim::text_of(job.run(run)) == "");
    CHECK(modes.block_stride == (ranks[1] == 2 ? 1 : 0));
  }
}

TEST_CASE("ranks: whatever the network does first, the residuals are the same") {
  const Triple size = {8, 8, 40};
  const SerialRun serial = run_serially(size, 12);
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const SerialRun found = run_simulated(size, {2, 2, 2}, 1 + seed % 4, seed, 12);
    REQUIRE(found.sums.size() == 12);
    CHECK(difference(serial, found.sums, found.pressure, size) == "");
  }
}

TEST_CASE("serial run: differences are found and named") {
  const Triple size = {4, 5, 6};
  const SerialRun serial = run_serially(size, 2);
  SerialRun other = serial;
  other.sums[1].low ^= 1U;
  CHECK(difference(serial, other.sums, other.pressure, size).starts_with("the residual of iteration 2 is"));
  other = serial;
  other.pressure[(2 * 5 + 3) * 6 + 4] += 1e-6F;
  CHECK(difference(serial, other.sums, other.pressure, size).starts_with("the pressure at (2, 3, 4) is"));
}

TEST_CASE("serial run: residuals fall, and outermost points stay") {
  const Triple size = {12, 12, 20};
  const SerialRun run = run_serially(size, 50);
  CHECK(std::ranges::is_sorted(run.sums, std::ranges::greater(), &ExactSum::value));
  CHECK(run.sums.back().value() > 0);
  CHECK(run.pressure[0] == 0);
  CHECK(run.pressure.back() == 1);
  CHECK(run.pressure[(5 * 12 + 0) * 20 + 7] == 25.0F / 121.0F);
}

TEST_CASE("report: the original's figures") {
  Report report;
  report.size = {64, 64, 128};
  report.ranks = {2, 1, 1};
  report.measured = {100, 2.0, 1.5e-3};
  CHECK(report.mflops(report.measured) == doctest::Approx(34.0 * 62 * 62 * 126 * 100 / 2 / 1e6));
  CHECK(report.mflops({3, 0, 0}) == 0);
  report.memory_s = 0.01;
  CHECK(report.limit_bytes_per_s() == doctest::Approx(14.0 * 4 * 62 * 62 * 126 / 0.01));
  const std::string text = result_text(report);
  CHECK(text.find(" Loop executed for 100 times\n Gosa : 1.500000e-03\n MFLOPS measured : 823.38") != text.npos);
  CHECK(text.find(" Score based on Pentium III 600MHz : 9.939") != text.npos);
  CHECK(beginning_text(report).find(" mimax = 65 mjmax = 65 mkmax = 129\n imax = 64 jmax = 64 kmax = 128\n") == 0);
  CHECK(history_text({ExactSum{0, 1 << 25}, ExactSum{0, 1 << 24}}) ==
        "1 1.0000000000000000e+00\n2 5.0000000000000000e-01\n");
}

TEST_CASE("options: sizes by name and by numbers, arrangements, and the rest") {
  const Options named = std::get<Options>(parse({"--size", "xs", "--time", "0.5", "--verify"}));
  CHECK(named.size == Triple{32, 32, 64});
  CHECK(named.size_name == "XS");
  CHECK(named.time_s == 0.5);
  CHECK_FALSE(named.iterations);
  CHECK_FALSE(named.ranks);
  CHECK(named.verify);
  const Options numbers = std::get<Options>(
      parse({"--size", "33x17x65", "--ranks-grid", "2x1x3", "--iterations", "9", "--history", "h", "--json", "j"}));
  CHECK(numbers.size == Triple{33, 17, 65});
  CHECK(numbers.ranks == Triple{2, 1, 3});
  CHECK(numbers.iterations == 9);
  CHECK(numbers.history_path == "h");
  CHECK(numbers.json_path == "j");
  CHECK(std::get<Options>(parse({})).size_name == "M");
  CHECK_FALSE(std::get<Options>(parse({})).gpu);
  CHECK_FALSE(std::get<Options>(parse({"--device", "cpu"})).gpu);
  CHECK(std::get<Options>(parse({"--device", "cuda"})).gpu == GpuOptions::kByRank);
  CHECK(std::get<Options>(parse({"--device", "cuda:3"})).gpu == 3);
}

TEST_CASE("options: help ends with 0, wrong usage with 2") {
  CHECK(status_of({"--help"}) == 0);
  for (const char* size : {"", "XXL", "2x3x3", "3x3", "3x3x3x3", "3x3x3 ", "-3x3x3", "5000x3x3", "3X3X3"})
    CHECK(status_of({"--size", size}) == 2);
  for (const char* ranks : {"2", "0x1x1", "2x2", "axbxc", "2x2x2x", "99999999999999999999x1x1"})
    CHECK(status_of({"--ranks-grid", ranks}) == 2);
  for (const char* device : {"", "gpu", "CUDA", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda1", "cuda:99999999999"})
    CHECK(status_of({"--device", device}) == 2);
  CHECK(std::get<Options>(parse({"--no-limit"})).skips_limit);
  CHECK(status_of({"--time", "0"}) == 2);
  CHECK(status_of({"--time", "nan"}) == 2);
  CHECK(status_of({"--time", "soon"}) == 2);
  CHECK(status_of({"--iterations", "0"}) == 2);
  CHECK(status_of({"--iterations", "5", "--time", "5"}) == 2);
  CHECK(status_of({"--sim-mflops", "-1"}) == 2);
  CHECK(status_of({"--unknown"}) == 2);
}

}  // namespace coracle::himeno::himeno_test
