// A CUDA device on the stand-in, when things go wrong: every table ends, with bytes or with a reason.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/cuda/cases.hpp"
#include "tests/cuda/fake_cuda.hpp"
#include "transports/cuda/cuda_device.hpp"
#include "transports/cuda/failure.hpp"

namespace failures_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::test;
using cuda::CudaDevice;
using cuda::CudaOptions;
using tca::Descriptor;

namespace {

void check_clean(FakeCuda& api) {
  for (const std::string& misuse : api.misuses()) FAIL_CHECK(misuse);
  CHECK(api.counts().none());
}

bool says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// A device with a page on either side.
struct Workplace {
  explicit Workplace(FakeCuda& api, const CudaOptions& options = {})
      : device(api, host, options), source(api, -1, 4096), target(api, 0, 4096) {
    const Descriptor piece{source.data(), target.data(), 4096};
    table = device.load({&piece, 1});
  }

  CountingHost host;
  CudaDevice device;
  Area source;
  Area target;
  tca::TableId table;
};

}  // namespace

TEST_CASE("cuda: an error of the device ends all tables by its name and no start hangs after it") {
  FakeMachine machine;
  FakeCuda api(machine);
  for (const std::uint64_t ring_from : {std::uint64_t{0}, std::uint64_t{200'000}}) {
    FakeCuda process(machine);
    CudaOptions options;
    options.ring_from_ns = ring_from;
    Workplace at(process, options);
    const Descriptor other{at.source.data(), at.target.data(), 100};
    const tca::TableId second = at.device.load({&other, 1});
    machine.set({.failing_copies = 1});
    at.device.start(2, at.table, 5);
    at.device.start(1, second, 6);
    wait_for(at.device, 2, 5);
    wait_for(at.device, 1, 6);
    CHECK(says(at.device.failure(2), "device 0 (stand-in 0), channel 2: cudaErrorIllegalAddress"));
    CHECK(says(at.device.failure(2), "end the job"));
    at.device.start(0, at.table, 7);
    CHECK(at.device.completed(0) == 7);
    CHECK(at.device.stopped(0));
    CHECK(says(at.device.failure(0), "cudaErrorIllegalAddress"));
    CHECK(at.host.rings > 0);
    for (const std::string& misuse : process.misuses()) FAIL_CHECK(misuse);
  }
}

TEST_CASE("cuda: a refused copy fails its table only when what was handed over is over") {
  FakeMachine machine;
  FakeCuda api(machine);
  {
    Workplace at(api);
    const std::vector<Descriptor> chain{{at.source.data(), at.target.data(), 1000},
                                        {at.source.data() + 1000, at.target.data() + 2000, 1000}};
    const tca::TableId table = at.device.load(chain);
    machine.set({.stalls = 1, .refused_call = "copy", .accepted = 1, .refusals = 1});
    at.device.start(0, table, 1);
    while (!api.stalled()) {
    }
    CHECK(at.device.completed(0) == 0);
    CHECK_FALSE(at.device.stopped(0));
    at.device.advance(at.host.now_ns() + 1'000'000'000);
    CHECK(at.device.completed(0) == 0);
    CHECK(at.device.failure(0).empty());
    api.resume();
    wait_for(at.device, 0, 1);
    CHECK(says(at.device.failure(0), "cudaErrorInvalidValue"));
    machine.set({});
    at.device.start(0, table, 2);
    wait_for(at.device, 0, 2);
    CHECK(at.device.failure(0).empty());
    CHECK(at.device.statistics().failures == 1);
  }
  check_clean(api);
}

TEST_CASE("cuda: refusals anywhere in a start end it with a reason") {
  for (const char* call : {"use_device", "write_word", "call_host", "record_event"}) {
    CAPTURE(call);
    FakeMachine machine;
    FakeCuda api(machine);
    {
      CudaOptions options;
      options.ring_from_ns = 0;
      options.timed_by_events = true;
      Workplace at(api, options);
      machine.set({.refused_call = call, .refusals = 1});
      at.device.start(0, at.table, 1);
      wait_for(at.device, 0, 1);
      CHECK(says(at.device.failure(0), "cudaErrorInvalidValue"));
      at.device.start(0, at.table, 2);
      wait_for(at.device, 0, 2);
      CHECK(at.device.failure(0).empty());
    }
    check_clean(api);
  }
}

TEST_CASE("cuda: a word that comes late is waited for and one that does not come is asked after") {
  FakeMachine machine;
  FakeCuda api(machine);
  {
    Workplace at(api);
    at.source.write(random_bytes(4096, 1));
    machine.set({.late_words = 1, .late_ns = 20'000'000});
    at.device.start(0, at.table, 1);
    wait_for(at.device, 0, 1);
    CHECK(at.device.failure(0).empty());
    CHECK(at.device.statistics().missed_words == 0);
    machine.set({.lost_words = 1});
    at.device.start(0, at.table, 2);
    wait_for(at.device, 0, 2);
    CHECK(at.device.failure(0).empty());
    CHECK(at.device.statistics().missed_words == 1);
    CHECK(at.target.read() == random_bytes(4096, 1));
    at.device.start(0, at.table, 3);
    wait_for(at.device, 0, 3);
    CHECK(at.device.statistics().missed_words == 1);
  }
  check_clean(api);
}

TEST_CASE("cuda: a channel is not started again while the function behind its table is to be called") {
  FakeMachine machine;
  FakeCuda api(machine);
  {
    CudaOptions options;
    options.ring_from_ns = 0;
    Workplace at(api, options);
    machine.set({.stalled_functions = 1});
    at.device.start(0, at.table, 1);
    wait_for_word(at.device, 0, 1);
    while (!api.stalled()) {
    }
    CHECK_FALSE(at.device.stopped(0));
    CHECK(at.host.rings == 0);
    api.resume();
    wait_for(at.device, 0, 1);
    CHECK(at.device.failure(0).empty());
  }
  check_clean(api);
}

TEST_CASE("cuda: a graph that is refused is not asked for again") {
  FakeMachine machine;
  FakeCuda api(machine);
  {
    Workplace at(api);
    std::vector<Descriptor> chain;  // each over half of the one before: neither a batch nor a plane
    for (std::size_t i = 0; i < 9; ++i) chain.push_back({at.source.data() + i * 200, at.target.data() + i * 50, 100});
    const tca::TableId table = at.device.load(chain);
    machine.set({.refused_call = "instantiate", .refusals = 1});
    for (std::uint64_t start = 1; start <= 5; ++start) {
      at.device.start(0, table, start);
      wait_for(at.device, 0, start);
      CHECK(at.device.failure(0).empty());
    }
    CHECK(api.calls("instantiate") == 1);
    CHECK(api.counts().graphs == 0);
    CHECK(at.device.way_of(table) == cuda::TableWay::one_by_one);
  }
  check_clean(api);
}

TEST_CASE("cuda: a stuck stream fails its table and its channel returns when it goes on") {
  FakeMachine machine;
  FakeCuda api(machine);
  {
    CudaOptions options;
    options.stuck_after_ns = 20'000'000;
    Workplace at(api, options);
    machine.set({.stalls = 1});
    at.device.start(0, at.table, 1);
    wait_for_word(at.device, 0, 1);
    while (!api.stalled()) {
    }
    CHECK(says(at.device.failure(0), "hangs"));
    CHECK(says(at.device.failure(0), "Xid"));
    CHECK(at.host.rings > 0);
    // Starts fail at once, until it goes on.
    CHECK(at.device.stopped(0));
    at.device.start(0, at.table, 2);
    CHECK(at.device.completed(0) == 2);
    CHECK(says(at.device.failure(0), "hangs"));
    // The others go on.
    const Descriptor other{at.source.data(), at.target.data(), 100};
    at.device.start(1, at.device.load({&other, 1}), 2);
    wait_for(at.device, 1, 2);
    CHECK(at.device.failure(1).empty());
    api.resume();
    for (std::uint64_t sequence = 3;; ++sequence) {
      at.device.start(0, at.table, sequence);
      wait_for(at.device, 0, sequence);
      if (at.device.failure(0).empty()) break;
    }
    CHECK(at.device.completed(2) == 0);
  }
  check_clean(api);
}

TEST_CASE("cuda: an aborted table fails its channel until the stream has come to rest") {
  FakeMachine machine;
  FakeCuda api(machine);
  {
    Workplace at(api);
    at.device.abort(0);
    CHECK(at.device.failure(0).empty());
    machine.set({.stalls = 1});
    at.device.start(0, at.table, 1);
    while (!api.stalled()) {
    }
    at.device.abort(0);
    CHECK(at.device.stopped(0));
    CHECK(says(at.device.failure(0), "holds the channel"));
    at.device.unload(at.table);
    const Descriptor piece{at.source.data(), at.target.data(), 100};
    const tca::TableId table = at.device.load({&piece, 1});
    at.device.start(0, table, 2);
    CHECK(at.device.completed(0) == 2);
    CHECK_FALSE(at.device.failure(0).empty());
    api.resume();
    for (std::uint64_t sequence = 3;; ++sequence) {
      at.device.start(0, table, sequence);
      wait_for(at.device, 0, sequence);
      if (at.device.failure(0).empty()) break;
    }
  }
  check_clean(api);
}

TEST_CASE("cuda: a device ends beside a stuck stream and leaves what that may still touch") {
  std::vector<std::byte> segment(4096);  // it must outlive the stream
  FakeMachine machine;
  FakeCuda api(machine);
  Area source(api, -1, 4096);
  Area target(api, 0, 4096);
  {
    CountingHost host;
    CudaOptions options;
    options.end_wait_ns = 10'000'000;
    CudaDevice device(api, host, options);
    device.reach().add_host(segment);
    machine.set({.stalls = 1});
    const Descriptor piece{segment.data(), target.data(), 4096};
    device.start(0, device.load({&piece, 1}), 1);
    while (!api.stalled()) {
    }
  }
  CHECK(api.counts().streams == 1 + 1);  // and the area's
  CHECK(api.counts().pinned == 1 + 2);
  CHECK(api.counts().registered == 1);
  CHECK(api.misuses().empty());
  api.resume();
}

TEST_CASE("cuda: a device ends beside a function that is yet to be called and leaves what that touches") {
  FakeMachine machine;
  FakeCuda api(machine);
  {
    CountingHost host;
    Area source(api, -1, 4096);
    Area target(api, 0, 4096);
    CudaOptions options;
    options.ring_from_ns = 0;
    options.end_wait_ns = 10'000'000;
    {
      CudaDevice device(api, host, options);
      machine.set({.stalled_functions = 1});
      const Descriptor piece{source.data(), target.data(), 4096};
      device.start(0, device.load({&piece, 1}), 1);
      wait_for_word(device, 0, 1);
    }
    CHECK(api.counts().pinned == 1 + 2);
    api.resume();
  }
  CHECK(api.misuses().empty());
}

TEST_CASE("cuda: what can't be had is said with its remedy") {
  FakeMachine machine({.memory_bytes = 1 << 20});
  FakeCuda api(machine);
  const auto message = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing is thrown";
  };
  CHECK(says(message([&] { (void)cuda::allocate_on(api, 1, 2 << 20); }),
             "2097152 bytes on device 1: cudaErrorMemoryAllocation"));
  CHECK(says(message([&] { (void)cuda::allocate_pinned(api, 2 << 20); }), "ulimit -l"));
  CHECK(says(message([&] { (void)cuda::allocate_on(api, 7, 1); }), "coracle info"));
  machine.set({.refused_call = "register_host", .refusals = 1, .refused_with = cuda::kNotPermitted});
  std::vector<std::byte> segment(4096);
  CountingHost host;
  {
    CudaDevice device(api, host, {});
    device.reach().add_host(segment);
    CHECK_FALSE(device.writes(segment.data(), 1));
    CHECK_FALSE(device.reads(segment.data(), 4096));
    CHECK(says(device.reach().refusal(), "seccomp"));
    const Descriptor piece{segment.data(), segment.data() + 100, 8};
    CHECK(says(message([&] { device.load({&piece, 1}); }), "seccomp"));
  }
  // A device that can't be opened in full leaves nothing.
  machine.set({.refused_call = "create_stream", .refusals = 1, .refused_with = cuda::kOutOfMemory});
  CHECK(says(message([&] { CudaDevice(api, host, {}); }), "making a stream"));
  machine.set({.refused_call = "create_event", .refusals = 1, .refused_with = cuda::kOutOfMemory});
  CudaOptions timed;
  timed.timed_by_events = true;
  CHECK(says(message([&] { CudaDevice(api, host, timed); }), "making an event"));
  check_clean(api);
}

TEST_CASE("cuda: a probe says what there is or why there is nothing") {
  FakeMachine two;
  FakeCuda both(two);
  const cuda::Support found = cuda::probe(both);
  CHECK(found.available);
  CHECK(found.devices == 2);
  CHECK(says(found.detail, "driver for CUDA 13.0; 0: stand-in 0"));
  CHECK(found.remedy.empty());
  FakeMachine driverless({.driver = false});
  FakeCuda none(driverless);
  CHECK_FALSE(cuda::probe(none).available);
  CHECK(says(cuda::probe(none).detail, "no NVIDIA driver: cudaErrorInsufficientDriver"));
  CHECK(says(cuda::probe(none).remedy, "install"));
  FakeMachine empty({.devices = 0});
  FakeCuda bare(empty);
  CHECK_FALSE(cuda::probe(bare).available);
  CHECK(says(cuda::probe(bare).remedy, "CUDA_VISIBLE_DEVICES"));
  // The one built in must at least answer.
  CHECK_FALSE(cuda::probe().detail.empty());
  CHECK(cuda::probe().available == cuda::probe().remedy.empty());
}

TEST_CASE("cuda: the stand-in sees misuse") {
  FakeMachine machine({.peers = false});
  FakeCuda api(machine);
  {
    Area pinned(api, -1, 4096);
    Area device(api, 0, 4096);
    Area other(api, 1, 4096);
    std::vector<std::byte> plain(64);
    cuda::Stream stream = nullptr;
    REQUIRE(api.use_device(0) == cuda::kSuccess);
    REQUIRE(api.create_stream(stream) == cuda::kSuccess);
    CHECK(api.copy(device.data(), plain.data(), 64, stream) == cuda::kInvalidValue);
    CHECK(api.copy(device.data(), pinned.data(), 4097, stream) == cuda::kInvalidValue);
    CHECK(api.copy(other.data(), device.data(), 64, stream) == cuda::kPeerUnsupported);
    void* const target = device.data();
    const void* const source = pinned.data();
    const std::size_t bytes = 16;
    CHECK(api.copy_batch({&target, &source, &bytes, 1}, nullptr) == cuda::kInvalidHandle);
    CHECK(api.write_word(stream, reinterpret_cast<std::uint64_t*>(plain.data()), 1) == cuda::kInvalidValue);
    CHECK(api.copy_2d({device.data(), device.data() + 2048, 10, 4, 1, 100, 100}, stream) == cuda::kInvalidPitch);
    CHECK(api.copy_3d({pinned.data(), device.data(), 100, 4, 1, 50, 100}, stream) == cuda::kInvalidPitch);
    REQUIRE(api.call_host(
                stream, [](void* data) { (void)static_cast<FakeCuda*>(data)->use_device(0); }, &api) == cuda::kSuccess);
    while (api.query_stream(stream) == cuda::kNotReady) {
    }
    CHECK(api.misuses().size() == 6);
    CHECK(api.destroy_stream(stream) == cuda::kSuccess);
  }
  CHECK(api.counts().none());
}

}  // namespace failures_test
