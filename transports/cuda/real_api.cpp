// CudaApi by CUDA's runtime library, linked statically: it opens the driver by itself, so that one program runs with
// and without one. What only the driver has is asked for by name, with the version that its signature is of.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstring>

#include "transports/cuda/api.hpp"
#include "transports/cuda/failure.hpp"

namespace coracle::internals::cuda {
namespace {

static_assert(CUDART_VERSION >= 12000, "Coracle needs CUDA 12.0 or newer");
static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(IpcHandle));
static_assert(kNotReady == cudaErrorNotReady && kHostAlreadyRegistered == cudaErrorHostMemoryAlreadyRegistered);
static_assert(kInsufficientDriver == cudaErrorInsufficientDriver && kIllegalAddress == cudaErrorIllegalAddress);
static_assert(kNoBinary == cudaErrorNoKernelImageForDevice && kNewerCode == cudaErrorUnsupportedPtxVersion);
static_assert(kSymbolNotFound == cudaErrorSymbolNotFound);
static_assert(kInvalidPitch == cudaErrorInvalidPitchValue && kNotSupported == cudaErrorNotSupported);

/// The error of a call, which the thread then forgets: it would surface in calls that have nothing to do with it.
Status taken(cudaError_t error) noexcept {
  if (error != cudaSuccess && error != cudaErrorNotReady) (void)cudaGetLastError();
  return error;
}

cudaStream_t of(Stream stream) noexcept {
  return reinterpret_cast<cudaStream_t>(stream);
}
cudaEvent_t of(StreamEvent event) noexcept {
  return reinterpret_cast<cudaEvent_t>(event);
}
cudaGraph_t of(Graph graph) noexcept {
  return reinterpret_cast<cudaGraph_t>(graph);
}

cudaPitchedPtr source_of(const Box& box) noexcept {
  return {const_cast<std::byte*>(box.source), box.source_pitch, box.width, box.source_slice_rows};
}
cudaPitchedPtr target_of(const Box& box) noexcept {
  return {box.target, box.target_pitch, box.width, box.target_slice_rows};
}

cudaMemcpy3DParms parameters_of(const Box& box) noexcept {
  cudaMemcpy3DParms parameters{};
  parameters.srcPtr = source_of(box);
  parameters.dstPtr = target_of(box);
  parameters.extent = {box.width, box.rows, box.slices};
  parameters.kind = cudaMemcpyDefault;
  return parameters;
}

/// A function that only the driver has; null where it is older than that. `version`: the CUDA of its signature.
template <class Function>
Function* find_in_driver(const char* name, [[maybe_unused]] unsigned version) noexcept {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  if (taken(error) != kSuccess || found != cudaDriverEntryPointSuccess) return nullptr;
  return reinterpret_cast<Function*>(function);
}

/// Functions that only the driver has. Their errors have the runtime's numbers.
struct Driver {
  using WriteValue64 = CUresult(CUstream, CUdeviceptr, cuuint64_t, unsigned);

  WriteValue64* write_value = find_in_driver<WriteValue64>("cuStreamWriteValue64", 11070);
  decltype(cuLibraryLoadData)* load_library = find_in_driver<decltype(cuLibraryLoadData)>("cuLibraryLoadData", 12000);
  decltype(cuLibraryUnload)* unload_library = find_in_driver<decltype(cuLibraryUnload)>("cuLibraryUnload", 12000);
  decltype(cuLibraryGetKernel)* get_kernel = find_in_driver<decltype(cuLibraryGetKernel)>("cuLibraryGetKernel", 12000);
  decltype(cuLaunchKernel)* launch_kernel = find_in_driver<decltype(cuLaunchKernel)>("cuLaunchKernel", 12000);

  bool has_kernels() const noexcept {
    return load_library != nullptr && unload_library != nullptr && get_kernel != nullptr && launch_kernel != nullptr;
  }
};

class RealApi final : public CudaApi {
 public:
  const char* error_name(Status status) const noexcept override {
    return cudaGetErrorName(static_cast<cudaError_t>(status));
  }
  const char* error_text(Status status) const noexcept override {
    return cudaGetErrorString(static_cast<cudaError_t>(status));
  }
  Status driver_version(int& version) noexcept override { return taken(cudaDriverGetVersion(&version)); }
  Status device_count(int& count) noexcept override { return taken(cudaGetDeviceCount(&count)); }
  Status device_info(int device, DeviceInfo& info) noexcept override;
  Status use_device(int device) noexcept override { return taken(cudaSetDevice(device)); }

  Status allocate(void*& memory, std::size_t bytes) noexcept override { return taken(cudaMalloc(&memory, bytes)); }
  Status release(void* memory) noexcept override { return taken(cudaFree(memory)); }
  Status allocate_pinned(void*& memory, std::size_t bytes) noexcept override {
    return taken(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped));
  }
  Status release_pinned(void* memory) noexcept override { return taken(cudaFreeHost(memory)); }
  Status register_host(void* begin, std::size_t bytes) noexcept override {
    return taken(cudaHostRegister(begin, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped));
  }
  Status unregister_host(void* begin) noexcept override { return taken(cudaHostUnregister(begin)); }
  Status pointer_info(const void* pointer, PointerInfo& info) noexcept override;

  Status can_reach_peer(bool& can, int device, int peer) noexcept override {
    int answer = 0;
    const Status status = taken(cudaDeviceCanAccessPeer(&answer, device, peer));
    can = status == kSuccess && answer != 0;
    return status;
  }
  Status enable_peer(int peer) noexcept override { return taken(cudaDeviceEnablePeerAccess(peer, 0)); }
  Status export_memory(IpcHandle& handle, void* base) noexcept override {
    cudaIpcMemHandle_t raw{};
    const Status status = taken(cudaIpcGetMemHandle(&raw, base));
    std::memcpy(handle.bytes.data(), &raw, sizeof raw);
    return status;
  }
  Status open_memory(void*& base, const IpcHandle& handle) noexcept override {
    cudaIpcMemHandle_t raw{};
    std::memcpy(&raw, handle.bytes.data(), sizeof raw);
    return taken(cudaIpcOpenMemHandle(&base, raw, cudaIpcMemLazyEnablePeerAccess));
  }
  Status close_memory(void* base) noexcept override { return taken(cudaIpcCloseMemHandle(base)); }

  Status create_stream(Stream& stream) noexcept override {
    return taken(cudaStreamCreateWithFlags(reinterpret_cast<cudaStream_t*>(&stream), cudaStreamNonBlocking));
  }
  Status destroy_stream(Stream stream) noexcept override { return taken(cudaStreamDestroy(of(stream))); }
  Status query_stream(Stream stream) noexcept override { return taken(cudaStreamQuery(of(stream))); }
  Status wait_for_stream(Stream stream) noexcept override { return taken(cudaStreamSynchronize(of(stream))); }
  Status create_event(StreamEvent& event) noexcept override {
    return taken(cudaEventCreateWithFlags(reinterpret_cast<cudaEvent_t*>(&event), cudaEventDefault));
  }
  Status destroy_event(StreamEvent event) noexcept override { return taken(cudaEventDestroy(of(event))); }
  Status record_event(StreamEvent event, Stream stream) noexcept override {
    return taken(cudaEventRecord(of(event), of(stream)));
  }
  Status elapsed_ms(float& milliseconds, StreamEvent from, StreamEvent to) noexcept override {
    return taken(cudaEventElapsedTime(&milliseconds, of(from), of(to)));
  }

  Status copy(void* target, const void* source, std::size_t bytes, Stream stream) noexcept override {
    return taken(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, of(stream)));
  }
  Status copy_2d(const Box& box, Stream stream) noexcept override {
    return taken(cudaMemcpy2DAsync(box.target, box.target_pitch, box.source, box.source_pitch, box.width, box.rows,
                                   cudaMemcpyDefault, of(stream)));
  }
  Status copy_3d(const Box& box, Stream stream) noexcept override {
    const cudaMemcpy3DParms parameters = parameters_of(box);
    return taken(cudaMemcpy3DAsync(&parameters, of(stream)));
  }
  Status copy_peer(const Box& box, int source_device, int target_device, Stream stream) noexcept override;
  Status copy_batch(const Batch& batch, Stream stream) noexcept override;

  Status create_graph(Graph& graph) noexcept override {
    return taken(cudaGraphCreate(reinterpret_cast<cudaGraph_t*>(&graph), 0));
  }
  Status destroy_graph(Graph graph) noexcept override { return taken(cudaGraphDestroy(of(graph))); }
  Status add_copy(Graph graph, GraphNode& node, const Box& box) noexcept override;
  Status instantiate(GraphExec& exec, Graph graph) noexcept override {
    return taken(cudaGraphInstantiate(reinterpret_cast<cudaGraphExec_t*>(&exec), of(graph), 0));
  }
  Status destroy_exec(GraphExec exec) noexcept override {
    return taken(cudaGraphExecDestroy(reinterpret_cast<cudaGraphExec_t>(exec)));
  }
  Status launch(GraphExec exec, Stream stream) noexcept override {
    return taken(cudaGraphLaunch(reinterpret_cast<cudaGraphExec_t>(exec), of(stream)));
  }

  Status load_module(Module& module, const void* code) noexcept override {
    if (!driver_.has_kernels()) return kNotSupported;
    return driver_.load_library(reinterpret_cast<CUlibrary*>(&module), code, nullptr, nullptr, 0, nullptr, nullptr, 0);
  }
  Status unload_module(Module module) noexcept override {
    return driver_.unload_library(reinterpret_cast<CUlibrary>(module));
  }
  Status find_kernel(Kernel& kernel, Module module, const char* name) noexcept override {
    return driver_.get_kernel(reinterpret_cast<CUkernel*>(&kernel), reinterpret_cast<CUlibrary>(module), name);
  }
  Status launch_kernel(const Launch& launch, Stream stream) noexcept override {
    void* parameters[] = {const_cast<std::byte*>(launch.parameter.data())};  // which it only reads
    const auto& [x, y, z] = launch.blocks;
    const auto& [width, height, depth] = launch.threads;
    return driver_.launch_kernel(reinterpret_cast<CUfunction>(launch.kernel), x, y, z, width, height, depth, 0,
                                 reinterpret_cast<CUstream>(stream), parameters, nullptr);
  }

  Status write_word(Stream stream, std::uint64_t* word, std::uint64_t value) noexcept override {
    if (driver_.write_value == nullptr) return kNotSupported;
    return driver_.write_value(reinterpret_cast<CUstream>(stream), reinterpret_cast<CUdeviceptr>(word), value,
                               CU_STREAM_WRITE_VALUE_DEFAULT);
  }
  Status call_host(Stream stream, void (*function)(void*), void* data) noexcept override {
    return taken(cudaLaunchHostFunc(of(stream), function, data));
  }

 private:
  const Driver driver_;
};

Status RealApi::device_info(int device, DeviceInfo& info) noexcept {
  cudaDeviceProp properties{};
  if (const Status status = taken(cudaGetDeviceProperties(&properties, device)); status != kSuccess) return status;
  const auto attribute = [&](int which) {
    int value = 0;
    (void)taken(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(which), device));
    return value;
  };
  info.name = static_cast<const char*>(properties.name);
  info.memory_bytes = properties.totalGlobalMem;
  info.compute_major = properties.major;
  info.compute_minor = properties.minor;
  info.copy_engines = properties.asyncEngineCount;
  info.unified_addressing = properties.unifiedAddressing != 0;
  info.registers_host = attribute(cudaDevAttrHostRegisterSupported) != 0;
  // The runtime passes the driver's numbers on.
  info.stream_words =
      driver_.write_value != nullptr && attribute(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS) != 0;
  info.pitch_max = properties.memPitch;
  return kSuccess;
}

Status RealApi::pointer_info(const void* pointer, PointerInfo& info) noexcept {
  cudaPointerAttributes attributes{};
  const Status status = taken(cudaPointerGetAttributes(&attributes, pointer));
  if (status != kSuccess) return status;
  switch (attributes.type) {
    case cudaMemoryTypeHost:
      info.kind = MemoryKind::host;
      break;
    case cudaMemoryTypeDevice:
      info.kind = MemoryKind::device;
      break;
    case cudaMemoryTypeManaged:
      info.kind = MemoryKind::managed;
      break;
    default:
      info.kind = MemoryKind::unknown;
      break;
  }
  info.device = attributes.device;
  return kSuccess;
}

Status RealApi::copy_peer(const Box& box, int source_device, int target_device, Stream stream) noexcept {
  if (box.contiguous())
    return taken(cudaMemcpyPeerAsync(box.target, target_device, box.source, source_device, box.width, of(stream)));
  cudaMemcpy3DPeerParms parameters{};
  parameters.srcPtr = source_of(box);
  parameters.srcDevice = source_device;
  parameters.dstPtr = target_of(box);
  parameters.dstDevice = target_device;
  parameters.extent = {box.width, box.rows, box.slices};
  return taken(cudaMemcpy3DPeerAsync(&parameters, of(stream)));
}

Status RealApi::copy_batch(const Batch& batch, Stream stream) noexcept {
#if CUDART_VERSION >= 12080
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  std::size_t first = 0;
#if CUDART_VERSION >= 13000
  return taken(
      cudaMemcpyBatchAsync(batch.targets, batch.sources, batch.bytes, batch.count, &attributes, &first, 1, of(stream)));
#else
  std::size_t failed = 0;
  return taken(cudaMemcpyBatchAsync(const_cast<void**>(batch.targets), const_cast<void**>(batch.sources),
                                    const_cast<std::size_t*>(batch.bytes), batch.count, &attributes, &first, 1, &failed,
                                    of(stream)));
#endif
#else
  (void)batch;
  (void)stream;
  return kNotSupported;
#endif
}

Status RealApi::add_copy(Graph graph, GraphNode& node, const Box& box) noexcept {
  cudaGraphNode_t before = reinterpret_cast<cudaGraphNode_t>(node);
  const std::size_t needs = node == nullptr ? 0 : 1;
  cudaGraphNode_t added = nullptr;
  cudaError_t error = cudaSuccess;
  if (box.contiguous()) {
    error = cudaGraphAddMemcpyNode1D(&added, of(graph), &before, needs, box.target, box.source, box.width,
                                     cudaMemcpyDefault);
  } else {
    const cudaMemcpy3DParms parameters = parameters_of(box);
    error = cudaGraphAddMemcpyNode(&added, of(graph), &before, needs, &parameters);
  }
  node = reinterpret_cast<GraphNode>(added);
  return taken(error);
}

}  // namespace

Support probe() {
  RealApi api;
  return probe(api);
}

std::unique_ptr<CudaApi> real_api() {
  return std::make_unique<RealApi>();
}

}  // namespace coracle::internals::cuda
