// GpuDevice: a rank's arrays in its GPU's memory, and kernels that make the points there. Neighbours' halos come and go
// between GPUs by puts, as those in host memory do.
#pragma once

#include <array>
#include <memory>

#include <coracle/gpu.hpp>
#include "apps/himeno/block.hpp"
#include "apps/himeno/device.hpp"
#include "apps/himeno/gpu_kernel.hpp"

namespace coracle::himeno {

/// Which GPU, and by what: tests put a stand-in for CUDA here.
struct GpuChoice {
  int device = GpuOptions::kByRank;
  cuda::CudaApi* api = nullptr;  ///< Null: CUDA itself.
  const void* code = nullptr;    ///< What it loads.
};

/// The kernels for GPUs as machine code, as CudaApi::load_module wants it; null: this program was built without a
/// compiler for it. In a library of its own.
const void* gpu_code() noexcept;

/// How threads share a box: blocks of kGpuThreads, whose threads lie side by side in k first. `depth`: see Relaxation;
/// above 1 only where `enough` threads are left.
struct GpuShape {
  std::array<unsigned, 3> blocks;   // in k, j and i
  std::array<unsigned, 3> threads;  // of a block
  std::size_t depth;
};
inline constexpr std::size_t kEnoughThreads = 1 << 18;  ///< Keep a large GPU busy.
GpuShape shape_of(const Box& box, std::size_t enough = kEnoughThreads) noexcept;

class GpuDevice final : public Device {
 public:
  /// Collective: opens the rank's GPU with a segment for its arrays. Throws Error as Gpu::open and Gpu::kernels do.
  static Task<std::unique_ptr<GpuDevice>> open(Rank& self, Triple size, Triple ranks, GpuChoice choice);

  /// For open(). `sharing`: so many ranks use this GPU.
  GpuDevice(Rank& self, const Triple& size, const Block& block, Gpu& gpu, const void* code, std::size_t sharing);

  std::string name() const override;
  float* pressure() const noexcept override { return pressure_.data(); }
  Remote<float> remote_pressure() const noexcept override { return pressure_.remote(); }
  Task<> fill_pressure() override;
  std::size_t add_part(std::vector<Box> boxes) override;
  std::size_t pieces() const noexcept override { return 1; }
  Task<> relax(std::size_t part, std::uint64_t state, ExactSum& sum) override;
  Task<> settle() override;
  Task<> stream(std::size_t part, std::uint64_t state) override;

 private:
  /// Sums that are added up on the GPU before they are fetched.
  static constexpr std::size_t kSumsMax = 1024;

  /// Boxes, by what their launches get.
  struct Part {
    std::vector<Relaxation> boxes;
    cuda::TableId relax;
    cuda::TableId stream;
  };

  Task<> fill_coefficients();
  Task<> clear_sums();
  cuda::TableId load(const char* kernel, const std::vector<Relaxation>& boxes);
  void aim(Part& part, std::uint64_t state, std::uint64_t* sum) noexcept;

  Rank& self_;
  Triple size_;
  Block block_;
  std::size_t sharing_;
  int device_;
  std::string gpu_name_;
  DeviceSlab<float> fields_;
  DeviceSlab<float> pressure_;
  DeviceSlab<std::uint64_t> words_;  // kSumWords for each sum
  Coefficients coefficients_{};
  cuda::Kernels kernels_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<ExactSum*> sums_;  // whose words are in use
};

}  // namespace coracle::himeno
