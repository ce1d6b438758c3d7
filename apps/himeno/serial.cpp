// Arrays with names, three loops, and the sum of the definition.
#include "apps/himeno/serial.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdint>

#include "apps/himeno/block.hpp"

namespace coracle::himeno {
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
