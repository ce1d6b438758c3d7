// Device: what holds a rank's arrays and makes its points: the processor or a GPU (gpu_device.hpp). Processor: the
// arrays in host memory, and a kernel of the CPU's.
#pragma once

#include <coracle/coracle.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/himeno/block.hpp"
#include "apps/himeno/kernel.hpp"

namespace coracle::himeno {

/// Interface. Rank's thread only. Pressure is kept twice: state t is in array t % 2.
class Device {
 public:
  virtual ~Device() = default;

  /// For reports: the instruction set, or which GPU.
  virtual std::string name() const = 0;
  /// Two arrays, `Block::floats()` apart, which puts and gets take.
  virtual float* pressure() const noexcept = 0;
  virtual Remote<float> remote_pressure() const noexcept = 0;
  /// Fills both, halo included, with the pressure of the beginning.
  virtual Task<> fill_pressure() = 0;

  /// Boxes that are made together; gives their number. None of them is empty.
  virtual std::size_t add_part(std::vector<Box> boxes) = 0;
  /// In so many pieces a rank's points are best made, so that between them transports get this rank's hand.
  virtual std::size_t pieces() const noexcept = 0;

  /// One step of Jacobi on a part, from `state` to the next one. By settle() the changes' squares have been added to
  /// `sum`, which must stay until then. Sums come one after another, not in turn.
  virtual Task<> relax(std::size_t part, std::uint64_t state, ExactSum& sum) = 0;
  virtual Task<> settle() = 0;
  /// Passes through the arrays of a part once, with nothing but sums between.
  virtual Task<> stream(std::size_t part, std::uint64_t state) = 0;
};

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
