// Processor: a rank's arrays in host memory, and a kernel of the CPU's.
#pragma once

#include <vector>

#include "apps/himeno/block.hpp"
#include "apps/himeno/device.hpp"
#include "apps/himeno/kernel.hpp"

namespace coracle::himeno {

class Processor final : public Device {
 public:
  /// `size`: points in each dimension; `ranks`: how the ranks are arranged. `points_per_s`: in placement `sim`, how
  /// many points this rank makes in a second of virtual time; 0: they take none.
  Processor(Rank& self, const Triple& size, const Triple& ranks, const Kernel& kernel, double points_per_s);

  std::string name() const override { return kernel_.name; }
  float* pressure() const noexcept override { return pressure_.data(); }
  Remote<float> remote_pressure() const noexcept override { return pressure_.remote(); }
  Task<> fill_pressure() override;
  std::size_t add_part(std::vector<Box> boxes) override;
  std::size_t pieces() const noexcept override { return 8; }
  Task<> relax(std::size_t part, std::uint64_t state, ExactSum& sum) override;
  Task<> settle() override { co_return; }
  Task<> stream(std::size_t part, std::uint64_t state) override;

 private:
  /// The point (0, 0, 0) of a state.
  float* origin(std::uint64_t state) const noexcept;

  Rank& self_;
  Triple size_;
  const Kernel& kernel_;
  double points_per_s_;
  Block block_;
  Fields fields_;
  Slab<float> pressure_;
  std::vector<std::vector<Box>> parts_;
};

/// All of them, the fastest first.
std::vector<const Kernel*> usable_kernels();

}  // namespace coracle::himeno
