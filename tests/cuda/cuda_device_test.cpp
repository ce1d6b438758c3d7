// A CUDA device on the stand-in: what it copies, how it says so, and which way its tables take.
#include "transports/cuda/cuda_device.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/allocations.hpp"
#include "tests/cuda/cases.hpp"
#include "tests/cuda/fake_cuda.hpp"

namespace cuda_device_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::test;
using cuda::CudaDevice;
using cuda::CudaOptions;
using cuda::TableWay;
using tca::Descriptor;

namespace {

constexpr TableWay kWays[] = {TableWay::automatic, TableWay::one_by_one, TableWay::batch, TableWay::graph};

/// A process that has used CUDA properly, and has nothing left.
void check_clean(FakeCuda& api) {
  for (const std::string& misuse : api.misuses()) FAIL_CHECK(misuse);
  CHECK(api.counts().none());
}

/// Pieces of `bytes` at no regular distance.
std::vector<Descriptor> irregular(const Area& source, const Area& target, std::size_t count, std::size_t bytes) {
  std::vector<Descriptor> chain;
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    at += bytes + i % 7 * 16;
    chain.push_back({source.data() + (count - i) * 2 * bytes, target.data() + at, bytes});
  }
  return chain;
}

}  // namespace

TEST_CASE("cuda: random chains in all ways between all memories for many seeds") {
  FakeMachine machine;
  FakeCuda api(machine);
  for (const TableWay way : kWays) {
    random_chains(api, way, -1, 0, 1);
    random_chains(api, way, 0, -1, 2);
    random_chains(api, way, 0, 0, 3);
    random_chains(api, way, 0, 1, 4);
    random_chains(api, way, 1, 0, 5);
  }
  check_clean(api);
}

TEST_CASE("cuda: random chains where devices do not reach each other or a stream can't write words") {
  FakeMachine machine({.stream_words = false, .batches = false, .peers = false});
  FakeCuda api(machine);
  random_chains(api, TableWay::automatic, 0, 1, 6);
  random_chains(api, TableWay::one_by_one, 1, 0, 7);
  random_chains(api, TableWay::graph, -1, 0, 8);
  CHECK(api.calls("copy_peer") > 0);
  CHECK(api.calls("write_word") == 0);
  check_clean(api);
}

TEST_CASE("cuda: random chains where strided copies are refused") {
  FakeMachine machine({.strides = false});
  FakeCuda api(machine);
  random_chains(api, TableWay::automatic, 0, 0, 9);
  random_chains(api, TableWay::one_by_one, -1, 0, 10);
  check_clean(api);
}

TEST_CASE("cuda: all channels work at a time") {
  FakeMachine machine;
  FakeCuda api(machine);
  for (unsigned channels = 1; channels <= CudaDevice::kChannelsMax; ++channels) all_channels(api, channels);
  check_clean(api);
}

TEST_CASE("cuda: long copies ring and short ones do not") {
  FakeMachine machine;
  FakeCuda api(machine);
  rings(api);
  check_clean(api);
}

TEST_CASE("cuda: a short copy that comes late rings after all") {
  FakeMachine machine;
  FakeCuda api(machine);
  {
    CountingHost host;
    CudaDevice device(api, host, {});
    Area source(api, -1, 4096);
    Area target(api, 0, 4096);
    machine.set({.stalls = 1});
    const Descriptor piece{source.data(), target.data(), 4096};
    device.start(0, device.load({&piece, 1}), 1);
    CHECK(host.alarm_ns > 0);
    CHECK(api.calls("call_host") == 0);
    while (!api.stalled() || api.calls("call_host") == 0) device.advance(host.now_ns());
    CHECK(host.rings == 0);
    CHECK(device.completed(0) == 0);
    CHECK_FALSE(device.stopped(0));
    api.resume();
    wait_for(device, 0, 1);
    while (host.rings == 0) {
    }
    CHECK(device.failure(0).empty());
  }
  check_clean(api);
}

TEST_CASE("cuda: tables are timed by the clock or by events") {
  FakeMachine machine;
  FakeCuda api(machine);
  times(api);
  check_clean(api);
}

TEST_CASE("cuda: segments are pinned when they are first used") {
  FakeMachine machine;
  FakeCuda api(machine);
  segments(api);
  check_clean(api);
}

TEST_CASE("cuda: refusals say what and why and how to mend it") {
  FakeMachine machine;
  FakeCuda api(machine);
  refusals(api);
  check_clean(api);
}

TEST_CASE("cuda: the way of a table follows its shape") {
  FakeMachine machine;
  FakeCuda api(machine);
  {
    CountingHost host;
    CudaDevice device(api, host, {});
    Area source(api, -1, 1 << 18);
    Area target(api, 0, 1 << 18);
    const auto way = [&](const std::vector<Descriptor>& chain) { return device.way_of(device.load(chain)); };
    CHECK(way(irregular(source, target, 4, 256)) == TableWay::one_by_one);
    CHECK(way(irregular(source, target, 40, 256)) == TableWay::batch);
    std::vector<Descriptor> overlapping = irregular(source, target, 40, 256);
    overlapping.push_back(overlapping.front());
    const tca::TableId table = device.load(overlapping);
    CHECK(device.way_of(table) == TableWay::one_by_one);
    for (std::uint64_t start = 1; start <= 4; ++start) {
      device.start(0, table, start);
      CHECK(device.way_of(table) == (start < 3 ? TableWay::one_by_one : TableWay::graph));
      wait_for(device, 0, start);
    }
    CHECK(api.calls("instantiate") == 1);
    CHECK(api.calls("launch") == 2);
    // A plane from the host is a 2-D copy; within a device the 2-D call may refuse the pitch.
    const unsigned before = api.calls("copy_2d");
    const Descriptor plane{source.data(), target.data(), 64, 100, 128, 128};
    device.start(0, device.load({&plane, 1}), 9);
    wait_for(device, 0, 9);
    CHECK(api.calls("copy_2d") == before + 1);
    const Descriptor within{target.data(), target.data() + (1 << 17), 64, 100, 128, 128};
    device.start(0, device.load({&within, 1}), 10);
    wait_for(device, 0, 10);
    CHECK(api.calls("copy_2d") == before + 1);
    CHECK(api.calls("copy_3d") == 1);
  }
  check_clean(api);
}

TEST_CASE("cuda: a batch that the driver does not know is copied one by one") {
  FakeMachine machine({.batches = false});
  FakeCuda api(machine);
  {
    CountingHost host;
    CudaDevice device(api, host, {});
    Area source(api, -1, 1 << 16);
    Area target(api, 0, 1 << 16);
    source.write(random_bytes(1 << 16, 11));
    const tca::TableId table = device.load(irregular(source, target, 20, 64));
    for (std::uint64_t start = 1; start <= 2; ++start) {
      device.start(0, table, start);
      wait_for(device, 0, start);
      CHECK(device.failure(0).empty());
    }
    CHECK(api.calls("copy_batch") == 1);
    CHECK(device.way_of(table) == TableWay::one_by_one);
    const tca::TableId asked = device.load(irregular(source, target, 20, 64), TableWay::batch);
    device.start(0, asked, 3);
    wait_for(device, 0, 3);
    CHECK(device.failure(0).find("cudaError") != std::string::npos);
  }
  check_clean(api);
}

TEST_CASE("cuda: a flag comes after the rest of its batch") {
  FakeMachine machine;
  FakeCuda api(machine);
  {
    CountingHost host;
    CudaDevice device(api, host, {});
    Area source(api, -1, 1 << 16);
    Area target(api, -1, 1 << 16);
    std::vector<Descriptor> chain = irregular(source, target, 30, 64);
    std::byte* const flag = target.data() + 60'000;
    chain.push_back({source.data(), flag, 8});
    const tca::TableId table = device.load(chain, TableWay::batch);
    for (unsigned char round = 1; round < 100; ++round) {
      std::memset(source.data(), round, source.size());
      device.start(0, table, round);
      while (__atomic_load_n(reinterpret_cast<std::uint64_t*>(flag), __ATOMIC_ACQUIRE) != round * 0x0101010101010101U) {
      }
      for (const Descriptor& each : chain) REQUIRE(*each.target == std::byte{round});
      wait_for(device, 0, round);
    }
  }
  check_clean(api);
}

TEST_CASE("cuda: starting a table again allocates nothing and builds nothing") {
  FakeMachine machine;
  FakeCuda api(machine);
  {
    CountingHost host;
    CudaDevice device(api, host, {});
    Area source(api, -1, 1 << 18);
    Area target(api, 0, 1 << 18);
    for (const TableWay way : kWays) {
      CAPTURE(to_string(way));
      const tca::TableId table = device.load(irregular(source, target, 50, 128), way);
      for (std::uint64_t start = 1; start <= 5; ++start) {  // the stand-in's own counts are made
        device.start(0, table, start);
        wait_for(device, 0, start);
      }
      const FakeCounts before = api.counts();
      const unsigned builds = api.calls("instantiate") + api.calls("add_copy") + api.calls("pointer_info");
      const std::uint64_t allocations = allocation_count();
      for (std::uint64_t start = 6; start <= 30; ++start) {
        device.start(0, table, start);
        while (device.completed(0) != start || !device.stopped(0)) device.advance(host.now_ns());
      }
      if (allocations_are_counted()) CHECK(allocation_count() == allocations);
      CHECK(api.calls("instantiate") + api.calls("add_copy") + api.calls("pointer_info") == builds);
      CHECK(api.counts().execs == before.execs);
      device.unload(table);
    }
    CHECK(api.counts().execs == 0);
  }
  check_clean(api);
}

TEST_CASE("cuda: tables are numbered anew when they are unloaded") {
  FakeMachine machine;
  FakeCuda api(machine);
  {
    CountingHost host;
    CudaDevice device(api, host, {});
    Area source(api, -1, 4096);
    Area target(api, 0, 4096);
    const Descriptor piece{source.data(), target.data(), 100};
    const tca::TableId first = device.load({&piece, 1});
    const tca::TableId second = device.load({&piece, 1});
    CHECK_FALSE(first == second);
    device.unload(first);
    device.unload(second);
    CHECK(device.load({&piece, 1}).number < 2);
    CHECK(device.load({&piece, 1}).number < 2);
  }
  check_clean(api);
}

TEST_CASE("cuda: another process's device memory is written and read by its handle") {
  FakeMachine machine;
  FakeCuda here(machine);
  FakeCuda there(machine);
  for (const int device_there : {0, 1}) {
    CountingHost host;
    CudaDevice device(here, host, {});
    Area mine(here, -1, 1 << 16);
    Area theirs(there, device_there, 1 << 16);
    const std::vector<std::byte> bytes = random_bytes(1 << 16, 12);
    mine.write(bytes);
    theirs.write(std::vector<std::byte>(1 << 16));
    const cuda::IpcHandle handle = export_memory(there, theirs.memory());
    CHECK_THROWS_AS(cuda::open_memory(there, 0, handle, 1 << 16), Error);
    std::byte* const opened = device.open(handle, 1 << 16);
    CHECK(opened != theirs.data());
    CHECK(device.writes(opened, 1 << 16));
    const Descriptor put{mine.data(), opened, 1 << 16};
    device.start(0, device.load({&put, 1}), 1);
    wait_for(device, 0, 1);
    CHECK(theirs.read() == bytes);
    mine.write(std::vector<std::byte>(1 << 16));
    const Descriptor get{opened, mine.data(), 1 << 16};
    device.start(0, device.load({&get, 1}), 2);
    wait_for(device, 0, 2);
    CHECK(mine.read() == bytes);
  }
  check_clean(here);
  check_clean(there);
}

}  // namespace cuda_device_test
