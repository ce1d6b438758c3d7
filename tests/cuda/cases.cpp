#include "tests/cuda/cases.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <thread>

#include "runtime/core/error.hpp"
#include "runtime/core/timer.hpp"

namespace coracle::internals::test {

using namespace cuda;
using tca::Descriptor;

namespace {

constexpr std::byte kPoison{0xa5};
constexpr std::size_t kAreaBytes = 128 << 10;
constexpr std::uint64_t kPatienceNs = 20'000'000'000;

template <class Over>
void turn_until(CudaDevice& device, Over over) {
  const std::uint64_t until = real_clock().now_ns() + kPatienceNs;
  while (!over()) {
    device.advance(real_clock().now_ns());
    REQUIRE_MESSAGE(real_clock().now_ns() < until, "a channel does not end");
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

std::string message_of(auto&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing is thrown";
}

bool says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// Makes chains whose blocks lie in two areas; targets are disjoint unless it says otherwise.
class Chains {
 public:
  Chains(std::uint64_t seed, const Area& source, const Area& target)
      : random_(seed), source_(source.data()), target_(target.data()) {}

  std::vector<Descriptor> next() {
    chain_.clear();
    target_at_ = pick(0, 64);
    switch (pick(0, 6)) {
      case 0:
        irregular(pick(1, 60));
        break;
      case 1:
        rows(pick(1, 40));
        break;
      case 2:
        strided();
        break;
      case 3:
        cube();
        break;
      case 4:
        contiguous(pick(1, 20));
        break;
      case 5:
        backwards();
        break;
      default:
        irregular(pick(1, 9));
        strided();
        cube();
        break;
    }
    if (pick(0, 2) == 0) add(pick(1, 64), pick(0, 4000), target_at_);  // a flag
    return chain_;
  }
  /// Every block may be written over by later ones.
  std::vector<Descriptor> next_overlapping() {
    chain_.clear();
    for (std::size_t i = pick(2, 30); i > 0; --i) add(pick(1, 900), pick(0, 9000), pick(0, 3000));
    return chain_;
  }

 private:
  std::size_t pick(std::size_t from, std::size_t to) {
    return std::uniform_int_distribution<std::size_t>(from, to)(random_);
  }
  void add(std::size_t bytes, std::size_t source_at, std::size_t target_at) {
    chain_.push_back({source_ + source_at, target_ + target_at, bytes});
    target_at_ = std::max(target_at_, target_at + bytes);
  }
  void irregular(std::size_t count) {
    for (; count > 0; --count) add(pick(1, 700), pick(0, 9000), target_at_ + pick(0, 50));
  }
  void contiguous(std::size_t count) {
    std::size_t at = pick(0, 5000);
    for (; count > 0; --count) {
      const std::size_t bytes = pick(1, 500);
      add(bytes, at, target_at_);
      at += bytes;
    }
  }
  void rows(std::size_t count) {
    const std::size_t width = pick(1, 300);
    const std::size_t source_pitch = width + pick(0, 100);
    const std::size_t target_pitch = width + pick(0, 100);
    const std::size_t begin = target_at_;
    for (std::size_t row = 0; row < count; ++row) add(width, row * source_pitch, begin + row * target_pitch);
  }
  Descriptor block_stride(std::size_t source_at) {
    const std::size_t width = pick(1, 200);
    return {source_ + source_at,
            target_ + target_at_,
            width,
            pick(2, 20),
            static_cast<std::int64_t>(width + pick(0, 90)),
            static_cast<std::int64_t>(width + pick(0, 90))};
  }
  void strided() {
    chain_.push_back(block_stride(pick(0, 999)));
    target_at_ += chain_.back().count * static_cast<std::size_t>(chain_.back().target_stride);
  }
  void backwards() {
    Descriptor each = block_stride(pick(30'000, 31'000));
    each.source_stride = -each.source_stride;
    chain_.push_back(each);
    target_at_ += each.count * static_cast<std::size_t>(each.target_stride);
  }
  /// Slices of rows, at whole rows' distance or not.
  void cube() {
    const Descriptor first = block_stride(pick(0, 99));
    const std::int64_t rows_more = static_cast<std::int64_t>(first.count + pick(0, 3));
    const auto off = static_cast<std::int64_t>(pick(0, 1) * pick(0, 9));
    for (std::int64_t slice = 0, slices = static_cast<std::int64_t>(pick(2, 9)); slice < slices; ++slice) {
      Descriptor each = first;
      each.source += slice * rows_more * first.source_stride;
      each.target += slice * (rows_more * first.target_stride + off);
      chain_.push_back(each);
      target_at_ = static_cast<std::size_t>(each.target_block(each.count) - target_);
    }
  }

  std::mt19937_64 random_;
  const std::byte* source_;
  std::byte* target_;
  std::size_t target_at_ = 0;
  std::vector<Descriptor> chain_;
};

/// What the target's bytes must be after the chain, from what they were.
void apply(tca::Chain chain, const Area& source, std::span<const std::byte> from, const Area& target,
           std::vector<std::byte>& to) {
  for (const Descriptor& each : chain)
    for (std::uint64_t block = 0; block < each.count; ++block)
      std::memcpy(to.data() + (each.target_block(block) - target.data()),
                  from.data() + (each.source_block(block) - source.data()), each.block_bytes);
}

}  // namespace

std::uint64_t CountingHost::now_ns() noexcept {
  return real_clock().now_ns();
}

void wait_for_word(CudaDevice& device, unsigned channel, std::uint64_t sequence) {
  turn_until(device, [&] { return device.completed(channel) == sequence; });
}

void wait_for(CudaDevice& device, unsigned channel, std::uint64_t sequence) {
  turn_until(device, [&] { return device.completed(channel) == sequence && device.stopped(channel); });
}

Area::Area(CudaApi& api, int device, std::size_t bytes) : api_(api), device_(device), bytes_(bytes) {
  host_ = allocate_pinned(api, bytes);
  if (device < 0) return;
  memory_ = allocate_on(api, device, bytes);
  REQUIRE(api.create_stream(stream_) == kSuccess);
}

Area::~Area() {
  (void)api_.use_device(std::max(device_, 0));
  if (stream_ != nullptr) (void)api_.destroy_stream(stream_);
}

void Area::carry(void* target, const void* source) {
  REQUIRE(api_.use_device(device_) == kSuccess);
  REQUIRE(api_.copy(target, source, bytes_, stream_) == kSuccess);
  Status status = kNotReady;
  while (status == kNotReady) status = api_.query_stream(stream_);
  REQUIRE(status == kSuccess);
}

void Area::write(std::span<const std::byte> bytes) {
  std::memcpy(host_.data(), bytes.data(), bytes_);
  if (device_ >= 0) carry(memory_.data(), host_.data());
}

std::vector<std::byte> Area::read() {
  if (device_ >= 0) carry(host_.data(), memory_.data());
  return {host_.data(), host_.data() + bytes_};
}

std::vector<std::byte> random_bytes(std::size_t bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> result(bytes);
  for (std::byte& each : result) each = static_cast<std::byte>(random());
  return result;
}

void random_chains(CudaApi& api, TableWay way, int source_device, int target_device, std::uint64_t seed) {
  CAPTURE(seed);
  CAPTURE(to_string(way));
  CAPTURE(source_device);
  CAPTURE(target_device);
  CountingHost host;
  CudaOptions options;
  options.tables.graph_from_start = 2;
  CudaDevice device(api, host, options);
  Area source(api, source_device, kAreaBytes);
  Area target(api, target_device, kAreaBytes);
  Chains chains(seed, source, target);
  std::uint64_t sequence = 0;
  for (unsigned round = 0; round < 25; ++round) {
    CAPTURE(round);
    const bool overlapping = way != TableWay::batch && round % 5 == 4;
    const std::vector<Descriptor> chain = overlapping ? chains.next_overlapping() : chains.next();
    const tca::TableId table = device.load(chain, way);
    for (unsigned start = 0; start < 3; ++start) {
      const std::vector<std::byte> from = random_bytes(kAreaBytes, seed * 1000 + round * 10 + start);
      source.write(from);
      std::vector<std::byte> to(kAreaBytes, kPoison);
      target.write(to);
      const unsigned channel = static_cast<unsigned>(sequence % options.channels);
      device.start(channel, table, ++sequence);
      wait_for(device, channel, sequence);
      REQUIRE(device.failure(channel).empty());
      apply(chain, source, from, target, to);
      REQUIRE(target.read() == to);
    }
    device.unload(table);
  }
}

void all_channels(CudaApi& api, unsigned channels) {
  CountingHost host;
  CudaOptions options;
  options.channels = channels;
  CudaDevice device(api, host, options);
  REQUIRE(device.rules().channels == channels);
  Area source(api, -1, kAreaBytes);
  Area target(api, 0, kAreaBytes);
  const std::vector<std::byte> from = random_bytes(kAreaBytes, channels);
  source.write(from);
  target.write(std::vector<std::byte>(kAreaBytes, kPoison));
  const std::size_t part = kAreaBytes / channels;
  std::vector<tca::TableId> tables;
  for (unsigned i = 0; i < channels; ++i) {
    const Descriptor piece{source.data() + i * part, target.data() + i * part, part};
    tables.push_back(device.load({&piece, 1}));
  }
  for (std::uint64_t sequence = 1; sequence <= 30; ++sequence) {
    for (unsigned i = 0; i < channels; ++i) device.start(i, tables[i], sequence);
    for (unsigned i = 0; i < channels; ++i) wait_for(device, i, sequence);
  }
  std::vector<std::byte> expected = from;
  std::fill(expected.begin() + static_cast<std::ptrdiff_t>(part * channels), expected.end(), kPoison);
  CHECK(target.read() == expected);
  CHECK(device.statistics().starts == 30 * channels);
  CHECK(device.statistics().failures == 0);
}

void rings(CudaApi& api) {
  CountingHost host;
  CudaOptions options;
  options.ring_from_ns = 1'000'000'000;  // of what is expected: at the rate below
  options.bytes_per_ns = 0.0001;
  CudaDevice device(api, host, options);
  Area source(api, -1, kAreaBytes);
  Area target(api, 0, kAreaBytes);
  const Descriptor large{source.data(), target.data(), kAreaBytes};
  const Descriptor small{source.data(), target.data(), 16};
  device.start(0, device.load({&small, 1}), 1);
  wait_for(device, 0, 1);
  CHECK(host.rings == 0);
  device.start(1, device.load({&large, 1}), 7);
  CHECK(device.spin_ns(1, host.now_ns()) == 0);
  wait_for(device, 1, 7);
  turn_until(device, [&] { return host.rings == 1; });  // it may come a moment after the rest
  CHECK(device.statistics().rings == 1);
}

void times(CudaApi& api) {
  for (const bool by_events : {false, true}) {
    CountingHost host;
    CudaOptions options;
    options.timed_by_events = by_events;
    CudaDevice device(api, host, options);
    Area source(api, 0, kAreaBytes);
    Area target(api, 0, kAreaBytes);
    const Descriptor piece{source.data(), target.data(), kAreaBytes};
    const std::uint64_t before = host.now_ns();
    device.start(0, device.load({&piece, 1}), 1);
    wait_for(device, 0, 1);
    CHECK(device.elapsed_ns(0) > 0);
    CHECK(device.elapsed_ns(0) <= host.now_ns() - before);
  }
}

void segments(CudaApi& api) {
  const std::size_t bytes = 1 << 20;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto* const begin = static_cast<std::byte*>(memory);
  PointerInfo info;
  {
    CountingHost host;
    CudaDevice device(api, host, {});
    CHECK_FALSE(device.reads(begin, 16));
    device.reach().add_host({begin, bytes});
    REQUIRE(api.pointer_info(begin, info) == kSuccess);
    CHECK(info.kind == MemoryKind::unknown);
    CHECK(device.reads(begin + bytes - 16, 16));
    CHECK(device.writes(begin, bytes));
    CHECK_FALSE(device.reads(begin + bytes - 16, 17));
    REQUIRE(api.pointer_info(begin, info) == kSuccess);
    CHECK(info.kind == MemoryKind::host);
    Area target(api, 0, 4096);
    std::memcpy(begin + 100, "segment", 7);
    const Descriptor piece{begin + 100, target.data(), 7};
    device.start(0, device.load({&piece, 1}), 1);
    wait_for(device, 0, 1);
    CHECK(std::memcmp(target.read().data(), "segment", 7) == 0);
  }
  REQUIRE(api.pointer_info(begin, info) == kSuccess);
  CHECK(info.kind == MemoryKind::unknown);
  ::munmap(memory, bytes);
}

void refusals(CudaApi& api) {
  CountingHost host;
  CudaDevice device(api, host, {});
  Area source(api, -1, 4096);
  Area target(api, 0, 4096);
  std::vector<std::byte> plain(64);
  const auto load = [&](Descriptor each) { return message_of([&] { device.load({&each, 1}); }); };
  CHECK(says(message_of([&] { device.load({}); }), "empty"));
  CHECK(says(load({source.data(), target.data(), 0}), "copies nothing"));
  CHECK(says(load({plain.data(), target.data(), 8}), "reads memory that is neither a GPU's nor pinned"));
  CHECK(says(load({source.data(), plain.data(), 8}), "writes memory that is neither a GPU's nor pinned"));
  const std::vector<Descriptor> overlapping{{source.data(), target.data(), 8}, {source.data(), target.data() + 4, 8}};
  CHECK(says(message_of([&] { device.load(overlapping, TableWay::batch); }), "no order"));
  CudaOptions options;
  options.placement = Placement::pvas;
  CHECK(says(message_of([&] { CudaDevice(api, host, options); }), "Gpu::open"));
  options.placement = Placement::sim;
  CHECK(says(message_of([&] { CudaDevice(api, host, options); }), "peach2"));
  options.placement = Placement::thread;
  options.device = 99;
  CHECK(says(message_of([&] { CudaDevice(api, host, options); }), "no device 99"));
  options.device = 0;
  options.channels = 9;
  CHECK(says(message_of([&] { CudaDevice(api, host, options); }), "1..8"));
  CHECK(
      says(message_of([&] { (void)allocate_on(api, 0, std::size_t{1} << 50); }), "1125899906842624 bytes on device 0"));
}

}  // namespace coracle::internals::test
