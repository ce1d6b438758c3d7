// FakeCuda: CUDA as one process of a FakeMachine has it: streams are threads, device memory lies where the host can't
// touch it, and what the real one would refuse, or would do wrong without a word, is an error or a noted misuse.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda/fake_stream.hpp"

namespace coracle::internals::test {

/// Objects that live.
struct FakeCounts {
  int streams = 0;
  int events = 0;
  int graphs = 0;
  int execs = 0;
  int allocations = 0;
  int pinned = 0;
  int registered = 0;
  int opened = 0;
  int modules = 0;
  bool none() const noexcept {
    return streams + events + graphs + execs + allocations + pinned + registered + opened + modules == 0;
  }
};

/// Where the host finds `bytes` of device memory; null, with a noted misuse, where there are not so many.
using FakeMemory = std::function<void*(const void* begin, std::size_t bytes)>;
/// What stands for a kernel: at its launch it is given what was launched, and gives what a stream then carries out.
/// (Also null, when memory is missing.)
using FakeKernel = std::function<std::function<void()>(const cuda::Launch& launch, const FakeMemory& memory)>;

class FakeCuda final : public cuda::CudaApi {
 public:
  explicit FakeCuda(FakeMachine& machine);
  ~FakeCuda() override;

  /// All modules that are loaded from now on have this kernel. Before any is found.
  void provide(const std::string& name, FakeKernel kernel);
  /// Streams that stopped in the middle go on.
  void resume();
  /// Whether some stream stands still in the middle of a copy.
  bool stalled();
  FakeCounts counts();
  /// Calls of this name so far.
  unsigned calls(const std::string& name);
  unsigned calls();
  /// What the real one would not have reported, or only sometimes. Empty when all is well.
  std::vector<std::string> misuses();

  const char* error_name(Status status) const noexcept override;
  const char* error_text(Status status) const noexcept override;
  Status driver_version(int& version) noexcept override;
  Status device_count(int& count) noexcept override;
  Status device_info(int device, cuda::DeviceInfo& info) noexcept override;
  Status use_device(int device) noexcept override;
  Status allocate(void*& memory, std::size_t bytes) noexcept override;
  Status release(void* memory) noexcept override;
  Status allocate_pinned(void*& memory, std::size_t bytes) noexcept override;
  Status release_pinned(void* memory) noexcept override;
  Status register_host(void* begin, std::size_t bytes) noexcept override;
  Status unregister_host(void* begin) noexcept override;
  Status pointer_info(const void* pointer, cuda::PointerInfo& info) noexcept override;
  Status can_reach_peer(bool& can, int device, int peer) noexcept override;
  Status enable_peer(int peer) noexcept override;
  Status export_memory(cuda::IpcHandle& handle, void* base) noexcept override;
  Status open_memory(void*& base, const cuda::IpcHandle& handle) noexcept override;
  Status close_memory(void* base) noexcept override;
  Status create_stream(cuda::Stream& stream) noexcept override;
  Status destroy_stream(cuda::Stream stream) noexcept override;
  Status query_stream(cuda::Stream stream) noexcept override;
  Status wait_for_stream(cuda::Stream stream) noexcept override;
  Status create_event(cuda::StreamEvent& event) noexcept override;
  Status destroy_event(cuda::StreamEvent event) noexcept override;
  Status record_event(cuda::StreamEvent event, cuda::Stream stream) noexcept override;
  Status elapsed_ms(float& milliseconds, cuda::StreamEvent from, cuda::StreamEvent to) noexcept override;
  Status copy(void* target, const void* source, std::size_t bytes, cuda::Stream stream) noexcept override;
  Status copy_2d(const cuda::Box& box, cuda::Stream stream) noexcept override;
  Status copy_3d(const cuda::Box& box, cuda::Stream stream) noexcept override;
  Status copy_peer(const cuda::Box& box, int source_device, int target_device, cuda::Stream stream) noexcept override;
  Status copy_batch(const cuda::Batch& batch, cuda::Stream stream) noexcept override;
  Status create_graph(cuda::Graph& graph) noexcept override;
  Status destroy_graph(cuda::Graph graph) noexcept override;
  Status add_copy(cuda::Graph graph, cuda::GraphNode& node, const cuda::Box& box) noexcept override;
  Status instantiate(cuda::GraphExec& exec, cuda::Graph graph) noexcept override;
  Status destroy_exec(cuda::GraphExec exec) noexcept override;
  Status launch(cuda::GraphExec exec, cuda::Stream stream) noexcept override;
  Status load_module(cuda::Module& module, const void* code) noexcept override;
  Status unload_module(cuda::Module module) noexcept override;
  Status find_kernel(cuda::Kernel& kernel, cuda::Module module, const char* name) noexcept override;
  Status launch_kernel(const cuda::Launch& launch, cuda::Stream stream) noexcept override;
  Status write_word(cuda::Stream stream, std::uint64_t* word, std::uint64_t value) noexcept override;
  Status call_host(cuda::Stream stream, void (*function)(void*), void* data) noexcept override;

 private:
  enum class Kind : std::uint8_t { device, pinned, registered, opened };
  struct Memory {
    Kind kind;
    std::size_t bytes;
    int device;
    std::byte* shadow;  // where the streams find the bytes
    int fd = -1;
  };
  /// A graph made ready: the copies as they were asked for, and for the streams.
  struct Exec {
    std::vector<cuda::Box> asked;
    FakeCopies own;
  };
  struct Found {
    const Memory* memory = nullptr;
    std::byte* shadow = nullptr;
    int device() const noexcept {
      return memory->kind == Kind::device || memory->kind == Kind::opened ? memory->device : -1;
    }
  };

  bool misuse(const std::string& what);
  /// Counts the call; not kSuccess where it fails whatever it is.
  Status enter(const char* name);
  Found find(const void* begin, std::size_t bytes);
  FakeStream* stream_of(cuda::Stream stream);
  int chosen();
  Status translate(const cuda::Box& box, cuda::Box& own, int& source_device, int& target_device);
  Status put(cuda::Stream stream, const FakeWork& work);
  Status put_copy(const cuda::Box& box, cuda::Stream stream);
  Status put_strided(const cuda::Box& box, cuda::Stream stream, bool planar);
  Status map_memory(void*& memory, int fd, std::size_t bytes, int device, Kind kind);
  Status unmap(void* memory, Kind kind);
  /// False: they never will be.
  bool wait_for_all();

  FakeMachine& machine_;
  std::recursive_mutex mutex_;
  std::map<const std::byte*, Memory> memories_;
  std::deque<FakeContext> contexts_;
  std::map<cuda::Stream, std::unique_ptr<FakeStream>> streams_;
  std::map<cuda::StreamEvent, std::unique_ptr<FakeEvent>> events_;
  std::map<std::thread::id, int> chosen_;
  std::map<cuda::Graph, std::unique_ptr<FakeCopies>> graphs_;
  std::map<cuda::GraphExec, std::unique_ptr<Exec>> execs_;
  std::map<std::string, FakeKernel> kernels_;
  std::uintptr_t modules_ = 0;  // that have been loaded
  std::set<cuda::Module> loaded_;
  std::vector<std::unique_ptr<FakeStream>> dying_streams_;
  std::vector<std::unique_ptr<Exec>> dying_execs_;
  std::vector<std::vector<bool>> peers_;
  std::map<std::string, unsigned, std::less<>> calls_;
  std::vector<std::string> misuses_;
  std::size_t pinned_bytes_ = 0;
};

}  // namespace coracle::internals::test
