// CudaApi: every function of CUDA that Coracle calls, in one table, so that a stand-in can take the place of the driver
// (tests/cuda), and nothing but real_api.cpp needs the toolkit's headers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace coracle::internals::cuda {

/// A cudaError_t by its number.
using Status = int;

/// Those that Coracle tells apart, by CUDA's numbers.
inline constexpr Status kSuccess = 0;
inline constexpr Status kInvalidValue = 1;
inline constexpr Status kOutOfMemory = 2;
inline constexpr Status kInitializationError = 3;
inline constexpr Status kInvalidPitch = 12;
inline constexpr Status kInsufficientDriver = 35;
inline constexpr Status kDevicesUnavailable = 46;
inline constexpr Status kNoDevice = 100;
inline constexpr Status kInvalidDevice = 101;
inline constexpr Status kNoBinary = 209;
inline constexpr Status kPeerUnsupported = 217;
inline constexpr Status kNewerCode = 222;
inline constexpr Status kOperatingSystem = 304;
inline constexpr Status kInvalidHandle = 400;
inline constexpr Status kSymbolNotFound = 500;
inline constexpr Status kNotReady = 600;
inline constexpr Status kIllegalAddress = 700;
inline constexpr Status kPeerAlreadyEnabled = 704;
inline constexpr Status kHostAlreadyRegistered = 712;
inline constexpr Status kLaunchFailure = 719;
inline constexpr Status kNotPermitted = 800;
inline constexpr Status kNotSupported = 801;
inline constexpr Status kSystemNotReady = 802;
inline constexpr Status kDriverMismatch = 803;
/// None of CUDA's: the process that makes the calls for this one is gone (OwnedMemory).
inline constexpr Status kOwnerGone = -1;

/// CUDA's objects, known by their addresses only.
using Stream = struct StreamObject*;
using StreamEvent = struct EventObject*;
using Graph = struct GraphObject*;
using GraphNode = struct GraphNodeObject*;
using GraphExec = struct GraphExecObject*;
using Module = struct ModuleObject*;
using Kernel = struct KernelObject*;

/// What names an allocation to other processes of the node.
struct IpcHandle {
  std::array<std::byte, 64> bytes{};
};

struct DeviceInfo {
  std::string name;
  std::uint64_t memory_bytes = 0;
  int compute_major = 0;
  int compute_minor = 0;
  int copy_engines = 0;
  /// Pointers tell where they point, so that copies need no direction.
  bool unified_addressing = false;
  bool registers_host = false;
  /// Streams write words by themselves (cuStreamWriteValue64).
  bool stream_words = false;
  /// Greatest distance of rows in a strided copy.
  std::size_t pitch_max = 0;
};

enum class MemoryKind : std::uint8_t {
  unknown,  ///< Nothing that CUDA knows: ordinary host memory.
  host,     ///< Pinned or registered: the GPU's engines reach it.
  device,
  managed,
};

struct PointerInfo {
  MemoryKind kind = MemoryKind::unknown;
  int device = -1;
};

/// Bytes in `rows` rows in `slices` slices. A row lies one pitch behind the one before, a slice `slice_rows` rows
/// behind the one before.
struct Box {
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  std::size_t width = 0;
  std::size_t rows = 1;
  std::size_t slices = 1;
  std::size_t source_pitch = 0;
  std::size_t target_pitch = 0;
  std::size_t source_slice_rows = 1;
  std::size_t target_slice_rows = 1;

  std::size_t bytes() const noexcept { return width * rows * slices; }
  bool contiguous() const noexcept { return rows == 1 && slices == 1; }
  const std::byte* source_row(std::size_t row, std::size_t slice) const noexcept {
    return source + (slice * source_slice_rows + row) * source_pitch;
  }
  std::byte* target_row(std::size_t row, std::size_t slice) const noexcept {
    return target + (slice * target_slice_rows + row) * target_pitch;
  }
  /// Bytes from the first to behind the last, with the gaps.
  std::size_t source_reach() const noexcept {
    return static_cast<std::size_t>(source_row(rows - 1, slices - 1) - source) + width;
  }
  std::size_t target_reach() const noexcept {
    return static_cast<std::size_t>(target_row(rows - 1, slices - 1) - target) + width;
  }
};

/// Copies for one call, without order among them.
struct Batch {
  void* const* targets;
  const void* const* sources;
  const std::size_t* bytes;
  std::size_t count;
};

/// A kernel's parameter has room for so many bytes on all GPUs.
inline constexpr std::size_t kParameterBytesMax = 4096;

/// A kernel's start: blocks of threads, and its only parameter, which the call copies.
struct Launch {
  Kernel kernel = nullptr;
  std::array<unsigned, 3> blocks{1, 1, 1};
  std::array<unsigned, 3> threads{1, 1, 1};  ///< Of a block.
  std::span<const std::byte> parameter;
};

/// Devices and their memory. Interface without state of its own. A device is chosen per thread (use_device); objects
/// belong to the device that was chosen when they were made.
class MemoryApi {
 public:
  virtual ~MemoryApi() = default;

  /// "cudaErrorNoDevice", and a sentence. Static memory.
  virtual const char* error_name(Status status) const noexcept = 0;
  virtual const char* error_text(Status status) const noexcept = 0;

  virtual Status device_count(int& count) noexcept = 0;
  virtual Status use_device(int device) noexcept = 0;

  virtual Status allocate(void*& memory, std::size_t bytes) noexcept = 0;
  /// Waits for all work of the device.
  virtual Status release(void* memory) noexcept = 0;
  /// Host memory that all devices reach, at its own address.
  virtual Status allocate_pinned(void*& memory, std::size_t bytes) noexcept = 0;
  virtual Status release_pinned(void* memory) noexcept = 0;
  virtual Status register_host(void* begin, std::size_t bytes) noexcept = 0;
  virtual Status unregister_host(void* begin) noexcept = 0;
  virtual Status pointer_info(const void* pointer, PointerInfo& info) noexcept = 0;
};

/// The rest. Likewise. Copies find out their direction by their addresses.
class CudaApi : public MemoryApi {
 public:
  /// As 13000 for 13.0; 0: there is no driver.
  virtual Status driver_version(int& version) noexcept = 0;
  virtual Status device_info(int device, DeviceInfo& info) noexcept = 0;

  virtual Status can_reach_peer(bool& can, int device, int peer) noexcept = 0;
  /// From the chosen device to `peer`.
  virtual Status enable_peer(int peer) noexcept = 0;
  /// `base`: what allocate() gave.
  virtual Status export_memory(IpcHandle& handle, void* base) noexcept = 0;
  /// Not in the process that exported it.
  virtual Status open_memory(void*& base, const IpcHandle& handle) noexcept = 0;
  virtual Status close_memory(void* base) noexcept = 0;

  /// One that does not wait for the default stream.
  virtual Status create_stream(Stream& stream) noexcept = 0;
  virtual Status destroy_stream(Stream stream) noexcept = 0;
  /// kNotReady while it works; else the error of anything before.
  virtual Status query_stream(Stream stream) noexcept = 0;
  /// Returns when the stream's work is over, and never if it hangs: for measurements, which have tried it before.
  virtual Status wait_for_stream(Stream stream) noexcept = 0;
  virtual Status create_event(StreamEvent& event) noexcept = 0;
  virtual Status destroy_event(StreamEvent event) noexcept = 0;
  virtual Status record_event(StreamEvent event, Stream stream) noexcept = 0;
  virtual Status elapsed_ms(float& milliseconds, StreamEvent from, StreamEvent to) noexcept = 0;

  virtual Status copy(void* target, const void* source, std::size_t bytes, Stream stream) noexcept = 0;
  /// Of one slice.
  virtual Status copy_2d(const Box& box, Stream stream) noexcept = 0;
  virtual Status copy_3d(const Box& box, Stream stream) noexcept = 0;
  /// Between two devices, also where they do not reach each other.
  virtual Status copy_peer(const Box& box, int source_device, int target_device, Stream stream) noexcept = 0;
  /// kNotSupported where CUDA is older than 12.8. Not on the default stream.
  virtual Status copy_batch(const Batch& batch, Stream stream) noexcept = 0;

  virtual Status create_graph(Graph& graph) noexcept = 0;
  virtual Status destroy_graph(Graph graph) noexcept = 0;
  /// `node`: what it comes after, or null; becomes the new one.
  virtual Status add_copy(Graph graph, GraphNode& node, const Box& box) noexcept = 0;
  virtual Status instantiate(GraphExec& exec, Graph graph) noexcept = 0;
  virtual Status destroy_exec(GraphExec exec) noexcept = 0;
  virtual Status launch(GraphExec exec, Stream stream) noexcept = 0;

  /// `code`: compiled for GPUs (a fatbin), for all devices. kNoBinary, kNewerCode: not for this GPU, or this driver.
  virtual Status load_module(Module& module, const void* code) noexcept = 0;
  virtual Status unload_module(Module module) noexcept = 0;
  /// A function that the code exports under this very name, with one parameter. Lives as long as its module.
  virtual Status find_kernel(Kernel& kernel, Module module, const char* name) noexcept = 0;
  virtual Status launch_kernel(const Launch& launch, Stream stream) noexcept = 0;

  /// When all before it on the stream is over, and visible to all, the stream writes `value` to pinned memory.
  virtual Status write_word(Stream stream, std::uint64_t* word, std::uint64_t value) noexcept = 0;
  /// Likewise calls the function, on a thread of the driver; it must not call CUDA. Never called after an error of the
  /// device.
  virtual Status call_host(Stream stream, void (*function)(void*), void* data) noexcept = 0;
};

/// CUDA itself. Throws Error (unsupported) where Coracle was built without it. Needs no GPU: the calls say so.
std::unique_ptr<CudaApi> real_api();

}  // namespace coracle::internals::cuda
