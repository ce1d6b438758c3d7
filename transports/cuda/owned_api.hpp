// OwnedApi: CUDA's memory as the process that owns the GPUs gives it to a rank. What concerns streams and
// code the rank leaves to its OwnedDevice.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>

#include "transports/cuda/owner_link.hpp"

namespace coracle::internals::cuda {

/// Rank's thread only. Calls that it has no use for are not supported (kNotSupported). When the owner is gone all fail
/// with kOwnerGone.
class OwnedApi final : public CudaApi {
 public:
  explicit OwnedApi(OwnerLink& link) noexcept : link_(link) {}

  /// A peer's memory on a GPU, which the owner has given to it: for pointer_info().
  void know(std::span<std::byte> memory, int device) {
    given_[memory.data()] = {memory.size(), {MemoryKind::device, device}};
  }

  const char* error_name(Status status) const noexcept override;
  const char* error_text(Status status) const noexcept override;
  Status device_count(int& count) noexcept override;
  Status use_device(int device) noexcept override;
  Status allocate(void*& memory, std::size_t bytes) noexcept override;
  Status release(void* memory) noexcept override;
  Status allocate_pinned(void*& memory, std::size_t bytes) noexcept override;
  Status release_pinned(void* memory) noexcept override;
  /// For all ranks, until the owner ends: others use it by then.
  Status register_host(void* begin, std::size_t bytes) noexcept override;
  Status unregister_host(void*) noexcept override { return kSuccess; }
  /// Of what this rank has allocated, or knows of.
  Status pointer_info(const void* pointer, PointerInfo& info) noexcept override;

  Status driver_version(int&) noexcept override { return kNotSupported; }
  Status device_info(int, DeviceInfo&) noexcept override { return kNotSupported; }
  Status can_reach_peer(bool&, int, int) noexcept override { return kNotSupported; }
  Status enable_peer(int) noexcept override { return kNotSupported; }
  Status export_memory(IpcHandle&, void*) noexcept override { return kNotSupported; }
  Status open_memory(void*&, const IpcHandle&) noexcept override { return kNotSupported; }
  Status close_memory(void*) noexcept override { return kNotSupported; }
  Status create_stream(Stream&) noexcept override { return kNotSupported; }
  Status destroy_stream(Stream) noexcept override { return kNotSupported; }
  Status query_stream(Stream) noexcept override { return kNotSupported; }
  Status wait_for_stream(Stream) noexcept override { return kNotSupported; }
  Status create_event(StreamEvent&) noexcept override { return kNotSupported; }
  Status destroy_event(StreamEvent) noexcept override { return kNotSupported; }
  Status record_event(StreamEvent, Stream) noexcept override { return kNotSupported; }
  Status elapsed_ms(float&, StreamEvent, StreamEvent) noexcept override { return kNotSupported; }
  Status copy(void*, const void*, std::size_t, Stream) noexcept override { return kNotSupported; }
  Status copy_2d(const Box&, Stream) noexcept override { return kNotSupported; }
  Status copy_3d(const Box&, Stream) noexcept override { return kNotSupported; }
  Status copy_peer(const Box&, int, int, Stream) noexcept override { return kNotSupported; }
  Status copy_batch(const Batch&, Stream) noexcept override { return kNotSupported; }
  Status create_graph(Graph&) noexcept override { return kNotSupported; }
  Status destroy_graph(Graph) noexcept override { return kNotSupported; }
  Status add_copy(Graph, GraphNode&, const Box&) noexcept override { return kNotSupported; }
  Status instantiate(GraphExec&, Graph) noexcept override { return kNotSupported; }
  Status destroy_exec(GraphExec) noexcept override { return kNotSupported; }
  Status launch(GraphExec, Stream) noexcept override { return kNotSupported; }
  Status load_module(Module&, const void*) noexcept override { return kNotSupported; }
  Status unload_module(Module) noexcept override { return kNotSupported; }
  Status find_kernel(Kernel&, Module, const char*) noexcept override { return kNotSupported; }
  Status launch_kernel(const Launch&, Stream) noexcept override { return kNotSupported; }
  Status write_word(Stream, std::uint64_t*, std::uint64_t) noexcept override { return kNotSupported; }
  Status call_host(Stream, void (*)(void*), void*) noexcept override { return kNotSupported; }

 private:
  struct Given {
    std::size_t bytes;
    PointerInfo info;
  };

  Status call(const DeviceCommand& command, std::uint64_t& value) noexcept;
  Status take(const DeviceCommand& command, void*& memory, const PointerInfo& info) noexcept;
  Status give_back(DeviceCommand::Kind kind, void* memory) noexcept;

  OwnerLink& link_;
  int device_ = 0;
  std::map<const std::byte*, Given> given_;
  std::map<Status, std::pair<std::string, std::string>> names_;  // of what has been answered
  std::string gone_;
};

}  // namespace coracle::internals::cuda
