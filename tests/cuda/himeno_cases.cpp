#include "tests/cuda/himeno_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "apps/himeno/block.hpp"
#include "apps/himeno/gpu_device.hpp"
#include "tests/cuda/cases.hpp"
#include "transports/cuda/copy_engine.hpp"

namespace coracle::internals::test {

using namespace himeno;

namespace {

constexpr std::size_t kArrays = 14;  // the coefficients, the pressure and what becomes of it
constexpr float kPoison = 12345;

Coefficients coefficients_at(const Block& block, const float* first) {
  Coefficients of{};
  of.plane = block.plane();
  of.row = block.row();
  for (const auto& [array, value] : constants_of(of)) {
    *array = first + block.at(0, 0, 0);
    first += block.floats();
  }
  return of;
}

/// Arrays of random values, on the host and on the device.
class Problem {
 public:
  Problem(cuda::CudaApi& api, const void* code, const Triple& size)
      : block_(size, {1, 1, 1}, 0),
        host_(kArrays * block_.floats()),
        arrays_(api, 0, host_.size() * sizeof(float)),
        sum_(api, 0, kSumWords * sizeof(std::uint64_t)),
        kernels_(loop_, api, code, {}) {
    std::mt19937 random(5);
    std::uniform_real_distribution<float> values(-1, 1);
    for (float& value : host_) value = values(random);
  }

  const Block& block() const { return block_; }
  /// What the kernel makes of the box, with so many threads as make several points of each, or one.
  void run(const char* kernel, const Box& box, std::size_t enough) {
    std::fill(next(host_), host_.data() + host_.size(), kPoison);
    arrays_.write(std::as_bytes(std::span(host_)));
    sum_.write(std::vector<std::byte>(sum_.size()));
    const auto* const first = reinterpret_cast<float*>(arrays_.data());
    const GpuShape shape = shape_of(box, enough);
    const std::size_t origin = block_.at(0, 0, 0);
    const float* const pressure = first + 12 * block_.floats() + origin;
    what_ = {coefficients_at(block_, first),
             pressure,
             const_cast<float*>(pressure) + block_.floats(),
             box,
             shape.depth,
             reinterpret_cast<std::uint64_t*>(sum_.data())};
    const cuda::Launch launch{kernels_.find(kernel), shape.blocks, shape.threads, std::as_bytes(std::span(&what_, 1))};
    loop_.run(run_table(kernels_, kernels_.load({launch})));
    found_.resize(host_.size());
    const std::vector<std::byte> bytes = arrays_.read();
    std::memcpy(found_.data(), bytes.data(), bytes.size());
  }
  /// What the processor makes of it; in `host_`.
  ExactSum relax_on_host(const Box& box) {
    ExactSum sum;
    const std::size_t origin = block_.at(0, 0, 0);
    kBaselineKernel.relax(coefficients_at(block_, host_.data()), next(host_) - block_.floats() + origin,
                          next(host_) + origin, box, sum);
    return sum;
  }
  void stream_on_host(const Box& box) {
    const std::size_t origin = block_.at(0, 0, 0);
    kBaselineKernel.stream(coefficients_at(block_, host_.data()), next(host_) - block_.floats() + origin,
                           next(host_) + origin, box);
  }
  bool all_bits_are_the_hosts() const {
    const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
    return std::ranges::equal(found_, host_, {}, bits, bits);
  }
  ExactSum found_sum() {
    std::uint64_t words[kSumWords];
    const std::vector<std::byte> bytes = sum_.read();
    std::memcpy(words, bytes.data(), sizeof words);
    ExactSum sum;
    sum.add_halves(words);
    return sum;
  }

 private:
  static Task<> run_table(cuda::Kernels& kernels, tca::TableId table) { co_await kernels.run(table); }
  float* next(std::vector<float>& arrays) const { return arrays.data() + 13 * block_.floats(); }

  Block block_;
  std::vector<float> host_;
  std::vector<float> found_;
  Area arrays_;
  Area sum_;
  Relaxation what_{};
  EventLoop loop_;
  cuda::Kernels kernels_;
};

std::vector<Box> boxes_in(const Block& block) {
  const auto& [i, j, k] = block.count();
  std::vector<Box> boxes{block.all()};
  for (const std::size_t begin : {1U, 2U, 17U})
    for (const std::size_t width : {1U, 3U, 16U, 33U}) boxes.push_back({{1, 1, begin}, {i + 1, j + 1, begin + width}});
  boxes.push_back({{2, 3, 5}, {3, 4, 6}});                   // one point
  boxes.push_back({{1, 1, 1}, {2, j + 1, k + 1}});           // a plane
  boxes.push_back({{1, 2, 1}, {i + 1, 3, k + 1}});           // a row of each plane
  boxes.push_back({{i, j, k - 15}, {i + 1, j + 1, k + 1}});  // the end of a row
  return boxes;
}

}  // namespace

void himeno_boxes(cuda::CudaApi& api, const void* code) {
  for (const Triple& size : {Triple{21, 9, 72}, Triple{5, 80, 140}}) {
    Problem problem(api, code, size);
    for (const Box& box : boxes_in(problem.block())) {
      for (const std::size_t enough : {std::size_t{1}, kEnoughThreads}) {
        problem.run("himeno_relax", box, enough);
        const ExactSum sum = problem.relax_on_host(box);
        CHECK(problem.all_bits_are_the_hosts());
        CHECK(problem.found_sum() == sum);
      }
    }
  }
}

void himeno_stream(cuda::CudaApi& api, const void* code) {
  Problem problem(api, code, {21, 9, 72});
  for (const Box& box : boxes_in(problem.block())) {
    problem.run("himeno_stream", box, 1);
    problem.stream_on_host(box);
    CHECK(problem.all_bits_are_the_hosts());
  }
}

}  // namespace coracle::internals::test
