#include "tests/cuda/fake_cuda.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace coracle::internals::test {

using namespace cuda;

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPitch = 512;
constexpr std::size_t kPitchMax = (std::size_t{1} << 31) - 1;

template <class Handle, class Object>
Handle handle_of(Object* object) noexcept {
  return reinterpret_cast<Handle>(object);
}

Box line(void* target, const void* source, std::size_t bytes) noexcept {
  Box box{.source = static_cast<const std::byte*>(source), .target = static_cast<std::byte*>(target), .width = bytes};
  box.source_pitch = box.target_pitch = bytes;
  return box;
}

}  // namespace

FakeCuda::FakeCuda(FakeMachine& machine) : machine_(machine) {
  const auto devices = static_cast<std::size_t>(machine.abilities().devices);
  contexts_.resize(devices);
  peers_.assign(devices, std::vector<bool>(devices, false));
  // Tests that count allocations count none of these.
  for (const char* name : {"use_device", "query_stream", "call_host", "write_word", "copy", "copy_batch", "launch"})
    calls_[name] = 0;
}

FakeCuda::~FakeCuda() {
  streams_.clear();
  dying_streams_.clear();
  while (!memories_.empty()) {
    const auto at = memories_.begin();
    (void)unmap(const_cast<std::byte*>(at->first), at->second.kind);
  }
}

void FakeCuda::provide(const std::string& name, FakeKernel kernel) {
  const std::lock_guard lock(mutex_);
  kernels_[name] = std::move(kernel);
}

void FakeCuda::resume() {
  const std::lock_guard lock(mutex_);
  for (const auto& [handle, stream] : streams_) stream->resume();
  for (const auto& stream : dying_streams_) stream->resume();
}

bool FakeCuda::stalled() {
  const std::lock_guard lock(mutex_);
  for (const auto& [handle, stream] : streams_)
    if (stream->stalled()) return true;
  return false;
}

FakeCounts FakeCuda::counts() {
  const std::lock_guard lock(mutex_);
  FakeCounts counts;
  counts.streams = static_cast<int>(streams_.size());
  counts.events = static_cast<int>(events_.size());
  counts.graphs = static_cast<int>(graphs_.size());
  counts.execs = static_cast<int>(execs_.size());
  counts.modules = static_cast<int>(loaded_.size());
  for (const auto& [begin, memory] : memories_) {
    counts.allocations += memory.kind == Kind::device;
    counts.pinned += memory.kind == Kind::pinned;
    counts.registered += memory.kind == Kind::registered;
    counts.opened += memory.kind == Kind::opened;
  }
  return counts;
}

unsigned FakeCuda::calls(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto at = calls_.find(name);
  return at == calls_.end() ? 0 : at->second;
}

unsigned FakeCuda::calls() {
  const std::lock_guard lock(mutex_);
  return std::accumulate(calls_.begin(), calls_.end(), 0U,
                         [](unsigned sum, const auto& call) { return sum + call.second; });
}

std::vector<std::string> FakeCuda::misuses() {
  const std::lock_guard lock(mutex_);
  return misuses_;
}

bool FakeCuda::misuse(const std::string& what) {
  misuses_.push_back(what);
  return false;
}

int FakeCuda::chosen() {
  const auto at = chosen_.find(std::this_thread::get_id());
  return at == chosen_.end() ? 0 : at->second;
}

Status FakeCuda::enter(const char* name) {
  auto at = calls_.find(std::string_view(name));
  if (at == calls_.end()) at = calls_.emplace(name, 0).first;
  ++at->second;
  if (FakeStream::in_function()) {
    misuse(fmt::format("{} is called by a function that a stream calls", name));
    return kNotPermitted;
  }
  if (!machine_.abilities().driver) return kInsufficientDriver;
  if (!FakeSpace::of_this_process().admits_this_process()) return kInitializationError;
  if (contexts_.empty()) return kNoDevice;
  {
    const std::lock_guard lock(machine_.mutex);
    FakeFaults& faults = machine_.faults;
    if (faults.refusals > 0 && faults.refused_call == name) {
      unsigned& count = faults.accepted > 0 ? faults.accepted : faults.refusals;
      --count;
      if (&count == &faults.refusals) return faults.refused_with;
    }
  }
  return contexts_[static_cast<std::size_t>(chosen())].error.load();
}

const char* FakeCuda::error_name(Status status) const noexcept {
  switch (status) {
    case kSuccess:
      return "cudaSuccess";
    case kInvalidValue:
      return "cudaErrorInvalidValue";
    case kInitializationError:
      return "cudaErrorInitializationError";
    case kOutOfMemory:
      return "cudaErrorMemoryAllocation";
    case kInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case kNoDevice:
      return "cudaErrorNoDevice";
    case kIllegalAddress:
      return "cudaErrorIllegalAddress";
    case kNotReady:
      return "cudaErrorNotReady";
    default:
      return "cudaErrorOther";
  }
}

const char* FakeCuda::error_text(Status status) const noexcept {
  return status == kSuccess ? "no error" : "as the stand-in was told";
}

Status FakeCuda::driver_version(int& version) noexcept {
  version = machine_.abilities().driver ? 13000 : 0;
  return kSuccess;
}

Status FakeCuda::device_count(int& count) noexcept {
  const std::lock_guard lock(mutex_);
  count = 0;
  if (!machine_.abilities().driver) return kInsufficientDriver;
  if (!FakeSpace::of_this_process().admits_this_process()) return kInitializationError;
  count = machine_.abilities().devices;
  return count == 0 ? kNoDevice : kSuccess;
}

Status FakeCuda::device_info(int device, DeviceInfo& info) noexcept {
  const std::lock_guard lock(mutex_);
  if (device < 0 || device >= machine_.abilities().devices) return kInvalidDevice;
  info = {fmt::format("stand-in {}", device),
          machine_.abilities().memory_bytes,
          9,
          0,
          2,
          true,
          true,
          machine_.abilities().stream_words,
          kPitchMax};
  return kSuccess;
}

Status FakeCuda::use_device(int device) noexcept {
  const std::lock_guard lock(mutex_);
  if (device < 0 || device >= machine_.abilities().devices) return kInvalidDevice;
  chosen_[std::this_thread::get_id()] = device;
  return enter("use_device");
}

bool FakeCuda::wait_for_all() {
  while (true) {
    bool rest = true;
    for (const auto& [handle, stream] : streams_) {
      if (stream->stalled())
        return misuse("memory is given back under a stream that stands still: the call would hang");
      rest = rest && stream->at_rest();
    }
    if (rest) return true;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

Status FakeCuda::map_memory(void*& memory, int fd, std::size_t bytes, int device, Kind kind) {
  // The host can't touch device memory; the streams have another mapping.
  void* const own = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  memory = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (own == MAP_FAILED || memory == MAP_FAILED) return kOutOfMemory;
  memories_[static_cast<std::byte*>(memory)] = {kind, bytes, device, static_cast<std::byte*>(own), fd};
  return kSuccess;
}

Status FakeCuda::unmap(void* base, Kind kind) {
  const auto at = memories_.find(static_cast<std::byte*>(base));
  if (at == memories_.end() || at->second.kind != kind) {
    misuse("memory is given back that does not begin there, or not in this way");
    return kInvalidValue;
  }
  const Memory memory = at->second;
  memories_.erase(at);
  if (kind == Kind::pinned) {
    pinned_bytes_ -= memory.bytes;
    std::free(base);
  } else if (kind == Kind::device || kind == Kind::opened) {
    ::munmap(base, memory.bytes);
    ::munmap(memory.shadow, memory.bytes);
    if (kind == Kind::device) machine_.give_back(static_cast<std::size_t>(memory.device), memory.bytes, memory.fd);
  }
  return kSuccess;
}

Status FakeCuda::allocate(void*& memory, std::size_t bytes) noexcept {
  machine_.hold_if_asked();
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("allocate"); status != kSuccess) return status;
  if (FakeSpace::take(FakeSpace::of_this_process().refused_allocations)) return kOutOfMemory;
  const int device = chosen();
  const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
  const int fd = machine_.take_memory(static_cast<std::size_t>(device), whole);
  return fd < 0 ? kOutOfMemory : map_memory(memory, fd, whole, device, Kind::device);
}

Status FakeCuda::release(void* memory) noexcept {
  const std::lock_guard lock(mutex_);
  const Status status = enter("release");
  if (!wait_for_all()) return kNotReady;
  const Status given = unmap(memory, Kind::device);
  return status != kSuccess ? status : given;
}

Status FakeCuda::allocate_pinned(void*& memory, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("allocate_pinned"); status != kSuccess) return status;
  const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
  if (pinned_bytes_ + whole > machine_.abilities().memory_bytes) return kOutOfMemory;
  memory = std::aligned_alloc(kPage, whole);
  pinned_bytes_ += whole;
  memories_[static_cast<std::byte*>(memory)] = {Kind::pinned, whole, -1, static_cast<std::byte*>(memory)};
  return kSuccess;
}

Status FakeCuda::release_pinned(void* memory) noexcept {
  const std::lock_guard lock(mutex_);
  const Status status = enter("release_pinned");
  if (!wait_for_all()) return kNotReady;
  const Status given = unmap(memory, Kind::pinned);
  return status != kSuccess ? status : given;
}

Status FakeCuda::register_host(void* begin, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("register_host"); status != kSuccess) return status;
  auto* const first = static_cast<std::byte*>(begin);
  for (const auto& [other, memory] : memories_)
    if (first < other + memory.bytes && other < first + bytes) return kHostAlreadyRegistered;
  memories_[first] = {Kind::registered, bytes, -1, first};
  return kSuccess;
}

Status FakeCuda::unregister_host(void* begin) noexcept {
  const std::lock_guard lock(mutex_);
  const Status status = enter("unregister_host");
  if (!wait_for_all()) return kNotReady;
  const Status given = unmap(begin, Kind::registered);
  return status != kSuccess ? status : given;
}

FakeCuda::Found FakeCuda::find(const void* begin, std::size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(begin);
  auto at = memories_.upper_bound(first);
  if (at == memories_.begin()) return {};
  --at;
  const auto offset = static_cast<std::size_t>(first - at->first);
  if (offset >= at->second.bytes || bytes > at->second.bytes - offset) return {};
  return {&at->second, at->second.shadow + offset};
}

Status FakeCuda::pointer_info(const void* pointer, PointerInfo& info) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("pointer_info"); status != kSuccess) return status;
  const Found found = find(pointer, 1);
  info = {};
  if (found.memory == nullptr) return kSuccess;
  info.device = found.device();
  info.kind = info.device >= 0 ? MemoryKind::device : MemoryKind::host;
  return kSuccess;
}

Status FakeCuda::can_reach_peer(bool& can, int device, int peer) noexcept {
  const std::lock_guard lock(mutex_);
  const Status status = enter("can_reach_peer");
  can = status == kSuccess && machine_.abilities().peers && device != peer;
  return status;
}

Status FakeCuda::enable_peer(int peer) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("enable_peer"); status != kSuccess) return status;
  if (!machine_.abilities().peers || peer == chosen()) return kPeerUnsupported;
  auto enabled = peers_[static_cast<std::size_t>(chosen())][static_cast<std::size_t>(peer)];
  if (enabled) return kPeerAlreadyEnabled;
  enabled = true;
  return kSuccess;
}

Status FakeCuda::export_memory(IpcHandle& handle, void* base) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("export_memory"); status != kSuccess) return status;
  const auto at = memories_.find(static_cast<std::byte*>(base));
  if (at == memories_.end() || at->second.kind != Kind::device) return kInvalidValue;
  const std::uint64_t name = machine_.lend({at->second.fd, at->second.bytes, at->second.device, this});
  std::memcpy(handle.bytes.data(), &name, sizeof name);
  return kSuccess;
}

Status FakeCuda::open_memory(void*& base, const IpcHandle& handle) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("open_memory"); status != kSuccess) return status;
  std::uint64_t name = 0;
  std::memcpy(&name, handle.bytes.data(), sizeof name);
  const FakeMachine::Lent lent = machine_.find(name);
  // Not where it was lent.
  if (lent.fd < 0 || lent.owner == this) return kInvalidValue;
  return map_memory(base, lent.fd, lent.bytes, lent.device, Kind::opened);
}

Status FakeCuda::close_memory(void* base) noexcept {
  const std::lock_guard lock(mutex_);
  const Status status = enter("close_memory");
  if (!wait_for_all()) return kNotReady;
  const Status given = unmap(base, Kind::opened);
  return status != kSuccess ? status : given;
}

FakeStream* FakeCuda::stream_of(Stream stream) {
  const auto at = streams_.find(stream);
  if (at != streams_.end()) return at->second.get();
  misuse("the default stream, or one that is not there, is used");
  return nullptr;
}

Status FakeCuda::create_stream(Stream& stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("create_stream"); status != kSuccess) return status;
  const int device = chosen();
  auto made = std::make_unique<FakeStream>(machine_, contexts_[static_cast<std::size_t>(device)], device);
  stream = handle_of<Stream>(made.get());
  streams_[stream] = std::move(made);
  return kSuccess;
}

Status FakeCuda::destroy_stream(Stream stream) noexcept {
  const std::lock_guard lock(mutex_);
  const Status status = enter("destroy_stream");
  if (stream_of(stream) == nullptr) return kInvalidHandle;
  dying_streams_.push_back(std::move(streams_[stream]));  // it may still work
  streams_.erase(stream);
  return status;
}

Status FakeCuda::query_stream(Stream stream) noexcept {
  const std::lock_guard lock(mutex_);
  const Status status = enter("query_stream");
  FakeStream* const found = stream_of(stream);
  if (found == nullptr) return kInvalidHandle;
  if (status != kSuccess) return status;
  const bool rest = found->at_rest();
  const Status error = contexts_[static_cast<std::size_t>(found->device())].error.load();
  return error != kSuccess ? error : rest ? kSuccess : kNotReady;
}

Status FakeCuda::wait_for_stream(Stream stream) noexcept {
  while (true) {
    const Status status = query_stream(stream);
    if (status != kNotReady) return status;
    std::this_thread::yield();
  }
}

Status FakeCuda::create_event(StreamEvent& event) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("create_event"); status != kSuccess) return status;
  auto made = std::make_unique<FakeEvent>();
  event = handle_of<StreamEvent>(made.get());
  events_[event] = std::move(made);
  return kSuccess;
}

Status FakeCuda::destroy_event(StreamEvent event) noexcept {
  const std::lock_guard lock(mutex_);
  const Status status = enter("destroy_event");
  return events_.erase(event) == 1 ? status : kInvalidHandle;
}

Status FakeCuda::record_event(StreamEvent event, Stream stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("record_event"); status != kSuccess) return status;
  const auto at = events_.find(event);
  if (at == events_.end()) return kInvalidHandle;
  at->second->time_ns = 0;
  FakeWork work;
  work.what = FakeWork::What::event;
  work.event = at->second.get();
  return put(stream, work);
}

Status FakeCuda::elapsed_ms(float& milliseconds, StreamEvent from, StreamEvent to) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("elapsed_ms"); status != kSuccess) return status;
  const std::uint64_t begin = events_.at(from)->time_ns;
  const std::uint64_t end = events_.at(to)->time_ns;
  if (begin == 0 || end == 0) return kNotReady;
  milliseconds = static_cast<float>(static_cast<double>(end - begin) * 1e-6);
  return kSuccess;
}

Status FakeCuda::translate(const Box& box, Box& own, int& source_device, int& target_device) {
  const Found source = find(box.source, box.source_reach());
  const Found target = find(box.target, box.target_reach());
  if (source.memory == nullptr || target.memory == nullptr) {
    misuse("a copy reaches beyond memory that CUDA knows, or uses host memory that is not pinned");
    return kInvalidValue;
  }
  own = box;
  own.source = source.shadow;
  own.target = target.shadow;
  source_device = source.device();
  target_device = target.device();
  return kSuccess;
}

Status FakeCuda::put(Stream stream, const FakeWork& work) {
  FakeStream* const found = stream_of(stream);
  if (found == nullptr) return kInvalidHandle;
  if (found->device() != chosen()) misuse("a stream is used while another device is chosen");
  return found->put(work) ? kSuccess : kOutOfMemory;
}

Status FakeCuda::put_copy(const Box& box, Stream stream) {
  FakeWork work;
  int source = 0;
  int target = 0;
  if (const Status status = translate(box, work.box, source, target); status != kSuccess) return status;
  const auto reached = [&](int device) {
    return device < 0 || device == chosen() ||
           peers_[static_cast<std::size_t>(chosen())][static_cast<std::size_t>(device)];
  };
  if (source >= 0 && target >= 0 && source != target && !(reached(source) && reached(target))) {
    misuse("a plain copy between devices that do not reach each other");
    return kPeerUnsupported;
  }
  return put(stream, work);
}

Status FakeCuda::put_strided(const Box& box, Stream stream, bool planar) {
  if (!machine_.abilities().strides) return kInvalidPitch;
  if (box.source_pitch < box.width || box.target_pitch < box.width || box.source_pitch > kPitchMax ||
      box.target_pitch > kPitchMax)
    return kInvalidPitch;
  if (box.slices > 1 && (planar || box.source_slice_rows < box.rows || box.target_slice_rows < box.rows))
    return kInvalidValue;
  const Found source = find(box.source, 1);
  const Found target = find(box.target, 1);
  const bool within =
      source.memory != nullptr && target.memory != nullptr && source.device() >= 0 && target.device() >= 0;
  if (planar && within && machine_.abilities().strict_pitch &&
      (box.source_pitch % kPitch != 0 || box.target_pitch % kPitch != 0))
    return kInvalidPitch;
  return put_copy(box, stream);
}

Status FakeCuda::copy(void* target, const void* source, std::size_t bytes, Stream stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("copy"); status != kSuccess) return status;
  return put_copy(line(target, source, bytes), stream);
}

Status FakeCuda::copy_2d(const Box& box, Stream stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("copy_2d"); status != kSuccess) return status;
  return put_strided(box, stream, true);
}

Status FakeCuda::copy_3d(const Box& box, Stream stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("copy_3d"); status != kSuccess) return status;
  return put_strided(box, stream, false);
}

Status FakeCuda::copy_peer(const Box& box, int source_device, int target_device, Stream stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("copy_peer"); status != kSuccess) return status;
  FakeWork work;
  int source = 0;
  int target = 0;
  if (const Status status = translate(box, work.box, source, target); status != kSuccess) return status;
  if (source != source_device || target != target_device) {
    misuse("a copy between devices names others than those where the bytes are");
    return kInvalidValue;
  }
  return put(stream, work);
}

Status FakeCuda::copy_batch(const Batch& batch, Stream stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("copy_batch"); status != kSuccess) return status;
  if (!machine_.abilities().batches) return kNotSupported;
  if (batch.count == 0) return kInvalidValue;
  // In another order: a batch has none.
  std::size_t step = batch.count / 2 + 1;
  while (std::gcd(step, batch.count) != 1) ++step;
  for (std::size_t i = 0; i < batch.count; ++i) {
    const std::size_t at = (batch.count - 1 + i * step) % batch.count;
    const Status status = put_copy(line(batch.targets[at], batch.sources[at], batch.bytes[at]), stream);
    if (status != kSuccess) return status;
  }
  return kSuccess;
}

Status FakeCuda::create_graph(Graph& graph) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("create_graph"); status != kSuccess) return status;
  auto made = std::make_unique<FakeCopies>();
  graph = handle_of<Graph>(made.get());
  graphs_[graph] = std::move(made);
  return kSuccess;
}

Status FakeCuda::destroy_graph(Graph graph) noexcept {
  const std::lock_guard lock(mutex_);
  const Status status = enter("destroy_graph");
  return graphs_.erase(graph) == 1 ? status : kInvalidHandle;
}

/// Nodes are numbered from 1; each must come after the one before, or the stand-in's order would not be the graph's.
Status FakeCuda::add_copy(Graph graph, GraphNode& node, const Box& box) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("add_copy"); status != kSuccess) return status;
  std::vector<Box>& boxes = graphs_.at(graph)->boxes;
  if (reinterpret_cast<std::uintptr_t>(node) != boxes.size()) misuse("a graph's copies are not in a line");
  Box own;
  int source = 0;
  int target = 0;
  if (const Status status = translate(box, own, source, target); status != kSuccess) return status;
  boxes.push_back(box);
  node = reinterpret_cast<GraphNode>(boxes.size());
  return kSuccess;
}

Status FakeCuda::instantiate(GraphExec& exec, Graph graph) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("instantiate"); status != kSuccess) return status;
  auto made = std::make_unique<Exec>();
  made->asked = graphs_.at(graph)->boxes;
  made->own.boxes.resize(made->asked.size());
  exec = handle_of<GraphExec>(made.get());
  execs_[exec] = std::move(made);
  return kSuccess;
}

Status FakeCuda::destroy_exec(GraphExec exec) noexcept {
  const std::lock_guard lock(mutex_);
  const Status status = enter("destroy_exec");
  const auto at = execs_.find(exec);
  if (at == execs_.end()) return kInvalidHandle;
  dying_execs_.push_back(std::move(at->second));  // it may be at work
  execs_.erase(at);
  return status;
}

Status FakeCuda::launch(GraphExec exec, Stream stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("launch"); status != kSuccess) return status;
  Exec& found = *execs_.at(exec);
  if (stream_of(stream) == nullptr) return kInvalidHandle;
  if (found.own.in_flight.load() != 0) misuse("a graph is launched while it is carried out");
  for (std::size_t i = 0; i < found.asked.size(); ++i) {
    int source = 0;
    int target = 0;
    const Status status = translate(found.asked[i], found.own.boxes[i], source, target);
    if (status != kSuccess) return status;
  }
  FakeWork work;
  work.what = FakeWork::What::graph;
  work.graph = &found.own;
  ++found.own.in_flight;
  return put(stream, work);
}

Status FakeCuda::load_module(Module& module, const void* code) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("load_module"); status != kSuccess) return status;
  if (code == nullptr) return kInvalidValue;
  module = reinterpret_cast<Module>(++modules_);
  loaded_.insert(module);
  return kSuccess;
}

Status FakeCuda::unload_module(Module module) noexcept {
  const std::lock_guard lock(mutex_);
  const Status status = enter("unload_module");
  if (!wait_for_all()) return kNotReady;
  return loaded_.erase(module) == 1 ? status : kInvalidHandle;
}

Status FakeCuda::find_kernel(Kernel& kernel, Module module, const char* name) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("find_kernel"); status != kSuccess) return status;
  if (!loaded_.contains(module)) return kInvalidHandle;
  const auto at = kernels_.find(name);
  if (at == kernels_.end()) return kSymbolNotFound;
  kernel = handle_of<Kernel>(&at->second);
  return kSuccess;
}

Status FakeCuda::launch_kernel(const Launch& launch, Stream stream) noexcept {
  constexpr unsigned kThreadsMax = 1024;
  constexpr std::size_t kParameterMax = 4096;
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("launch_kernel"); status != kSuccess) return status;
  if (launch.kernel == nullptr || loaded_.empty()) return kInvalidHandle;
  const auto& [x, y, z] = launch.blocks;
  const auto& [width, height, depth] = launch.threads;
  if (x == 0 || y == 0 || z == 0 || x >= 1U << 31U || y >= 1U << 16U || z >= 1U << 16U) return kInvalidValue;
  if (width == 0 || height == 0 || depth == 0 || depth > 64 || width > kThreadsMax || height > kThreadsMax ||
      width * height * depth > kThreadsMax || launch.parameter.size() > kParameterMax)
    return kInvalidValue;
  const FakeMemory memory = [this](const void* begin, std::size_t bytes) -> void* {
    const Found found = find(begin, bytes);
    if (found.memory != nullptr) return found.shadow;
    misuse("a kernel gets memory that CUDA does not know, or not so much of it");
    return nullptr;
  };
  auto run = (*reinterpret_cast<FakeKernel*>(launch.kernel))(launch, memory);
  if (!run) return kInvalidValue;
  FakeWork work;
  work.what = FakeWork::What::kernel;
  work.kernel = std::make_shared<const std::function<void()>>(std::move(run));
  return put(stream, work);
}

Status FakeCuda::write_word(Stream stream, std::uint64_t* word, std::uint64_t value) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("write_word"); status != kSuccess) return status;
  if (!machine_.abilities().stream_words) return kNotSupported;
  const Found found = find(word, sizeof *word);
  if (found.memory == nullptr || reinterpret_cast<std::uintptr_t>(word) % sizeof *word != 0) {
    misuse("a stream is to write a word that is not in pinned memory");
    return kInvalidValue;
  }
  FakeWork work;
  work.what = FakeWork::What::word;
  work.word = word;
  work.value = value;
  return put(stream, work);
}

Status FakeCuda::call_host(Stream stream, void (*function)(void*), void* data) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status status = enter("call_host"); status != kSuccess) return status;
  FakeWork work;
  work.what = FakeWork::What::host;
  work.function = function;
  work.data = data;
  return put(stream, work);
}

}  // namespace coracle::internals::test
