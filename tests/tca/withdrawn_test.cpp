// Memory that its owner has withdrawn while devices or packets were on their way there: nothing gets in any more, since
// it may have been freed, and whoever asked is told.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/sim/job.hpp"
#include "tests/tca/stepped_job.hpp"
#include "transports/tca/device_thread.hpp"

namespace withdrawn_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::tca;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kLong = 320'000;

/// Of whole 16 bytes, at a multiple of them, outside every segment.
class Outside {
 public:
  explicit Outside(std::size_t bytes, std::byte value = std::byte{0}) : units_(bytes / sizeof(Unit)) {
    std::ranges::fill(span(), value);
  }
  std::span<std::byte> span() noexcept { return std::as_writable_bytes(std::span(units_)); }
  bool is_all(std::byte value) noexcept {
    return std::ranges::all_of(span(), [value](std::byte each) { return each == value; });
  }

 private:
  struct alignas(16) Unit {
    std::byte bytes[16];
  };
  std::vector<Unit> units_;
};

/// What rank 0 has under way to memory of rank 1 when that withdraws it: `operations` starts it.
template <class Start>
Operation& withdrawn_under(SteppedJob& job, Operations& operations, Outside& memory, Start start) {
  std::optional<Exposed<std::byte>> exposed(job.rank(1).expose(memory.span()));
  const RemoteAddress place = exposed->remote().address();
  Operation& operation = start(operations, place);
  CHECK(!operation.finished());
  exposed.reset();
  job.settle();
  REQUIRE(operation.finished());
  return operation;
}

}  // namespace

TEST_CASE("tca: a put whose target is withdrawn while the device copies writes nothing there, and says so") {
  for (const std::size_t bytes : {std::size_t{kLong}, std::size_t{512}}) {
    CAPTURE(bytes);
    SteppedJob job(2);
    Operations operations(job.transport(0));
    Outside memory(kLong);
    std::fill_n(job.memory(0, 0), kLong, std::byte{7});
    const auto put = [&](Operations& made, const RemoteAddress& place) -> Operation& {
      if (bytes == kLong) return made.put({job.memory(0, 0), bytes}, place);
      return made.put_signal({job.memory(0, 0), bytes}, place, job.place(1, 3 << 20));  // in a table with its packet
    };
    const Operation& operation = withdrawn_under(job, operations, memory, put);
    CHECK(operation.outcome() == Errc::out_of_segment);
    CHECK(memory.is_all(std::byte{0}));
    CHECK(!job.rank(0).lost(1));
    // The channels go on, and the same bytes get where there is memory.
    Operation& next = operations.put({job.memory(0, 0), bytes}, job.place(1, 0));
    job.settle();
    CHECK(next.finished());
    CHECK(!next.outcome());
    CHECK(*job.memory(1, bytes - 1) == std::byte{7});
  }
}

TEST_CASE("tca: a get into memory of the asker's that is withdrawn meanwhile fails, and so does one from there") {
  SteppedJob job(2);
  Operations operations(job.transport(0));
  Outside memory(kLong, std::byte{5});
  std::vector<std::byte> back(kLong);
  const auto get = [&](Operations& made, const RemoteAddress& place) -> Operation& { return made.get(place, back); };
  CHECK(withdrawn_under(job, operations, memory, get).outcome() == Errc::out_of_segment);
  CHECK(std::ranges::count(back, std::byte{0}) == static_cast<std::ptrdiff_t>(kLong));
  // Whoever withdraws its own target gets what it has left, and is told.
  std::fill_n(job.memory(1, 0), kLong, std::byte{3});
  std::optional<Exposed<std::byte>> exposed(job.rank(0).expose(memory.span()));
  Operation& into = operations.get(job.place(1, 0), memory.span());
  while (!job.transport(1).engine().busy()) REQUIRE(job.step());
  exposed.reset();
  job.settle();
  REQUIRE(into.finished());
  CHECK(into.outcome() == Errc::out_of_segment);
  CHECK(memory.is_all(std::byte{5}));
}

namespace {

/// A get of `from` that rank 1 withdraws after so many steps, and then uses for something else. False when it had ended
/// before.
bool get_until_withdrawn(std::size_t steps, std::size_t shift, bool to_segment) {
  constexpr std::byte kGood{5};
  constexpr std::byte kGone{0xee};
  constexpr std::size_t kBytes = 150'000;
  SteppedJob job(2);
  Operations operations(job.transport(0));
  Outside memory(kBytes + 16, kGood);
  std::vector<std::byte> ordinary(kBytes);
  const std::span<std::byte> target = to_segment ? std::span(job.memory(0, shift), kBytes) : std::span(ordinary);
  std::optional<Exposed<std::byte>> exposed(job.rank(1).expose(memory.span()));
  Operation& get = operations.get(exposed->remote().address(), target);
  for (std::size_t step = 0; step < steps && !get.finished(); ++step) REQUIRE(job.step());
  if (get.finished()) return false;
  exposed.reset();
  std::ranges::fill(memory.span(), kGone);
  job.settle();
  REQUIRE(get.finished());
  CHECK(std::ranges::count(target, kGone) == 0);
  if (get.failed())
    CHECK(get.outcome() == Errc::out_of_segment);
  else
    CHECK(std::ranges::count(target, kGood) == static_cast<std::ptrdiff_t>(kBytes));
  CHECK(!job.rank(0).lost(1));
  return true;
}

}  // namespace

TEST_CASE("tca: a get of memory that is withdrawn at any moment brings nothing of what is there afterwards") {
  for (const bool to_segment : {true, false}) {
    for (const std::size_t shift : {std::size_t{0}, std::size_t{8}, std::size_t{5}}) {
      if (!to_segment && shift != 0) continue;
      CAPTURE(to_segment);
      CAPTURE(shift);
      std::size_t withdrawn = 0;
      for (std::size_t steps = 0; get_until_withdrawn(steps, shift, to_segment); ++steps) ++withdrawn;
      CHECK(withdrawn > 3);
    }
  }
}

TEST_CASE("tca: packets for memory that has been withdrawn are left out: bytes, signals and atomics") {
  SteppedJob job(2);
  Operations operations(job.transport(0));
  Outside memory(4096);
  const std::vector<std::byte> ordinary(100, std::byte{9});
  const auto put = [&](Operations& made, RemoteAddress place) -> Operation& {
    RemoteAddress signal = place;
    signal.offset += 2048;
    return made.put_signal(ordinary, place, signal);
  };
  withdrawn_under(job, operations, memory, put);
  CHECK(memory.is_all(std::byte{0}));
  const auto add = [](Operations& made, const RemoteAddress& place) -> Operation& { return made.fetch_add(place, 1); };
  CHECK(withdrawn_under(job, operations, memory, add).outcome() == Errc::out_of_segment);
  CHECK(memory.is_all(std::byte{0}));
}

TEST_CASE("tca: a device writes nothing into what has become another rank's memory") {
  SteppedJob job(3);
  Operations operations(job.transport(0));
  Outside memory(kLong);
  std::fill_n(job.memory(0, 0), kLong, std::byte{7});
  std::optional<Exposed<std::byte>> next;
  const auto put = [&](Operations& made, const RemoteAddress& place) -> Operation& {
    Operation& operation = made.put({job.memory(0, 0), kLong}, place);
    next.emplace(job.rank(2).expose(memory.span()));
    return operation;
  };
  CHECK(withdrawn_under(job, operations, memory, put).outcome() == Errc::out_of_segment);
  CHECK(memory.is_all(std::byte{0}));
  // The same addresses for the rank that has them now.
  Operation& good = operations.put({job.memory(0, 0), kLong}, next->remote().address());
  job.settle();
  CHECK(good.finished());
  CHECK(!good.outcome());
  CHECK(memory.is_all(std::byte{7}));
}

TEST_CASE("tca: a device that is given up for lost gets into no memory that was withdrawn since, in sim") {
  Outside memory(kLong);
  sim::SimJob job;
  job.size = job.nodes = 2;
  job.segment_bytes = 4 << 20;
  job.silence_limit_ns = 1'000'000;
  job.transport = RemoteTransport::tca;
  // Rank 0's device waits in front of the cut, while that rank, which is stopped, can't know that it is given up.
  job.faults =
      sim::parse_faults("105 us cut rank 0 rank 1 for 3 ms\n110 us stop rank 0 for 2500 us\n", "test", job.shape());
  std::string put_said;
  bool withdrawn = false;
  const sim::SimulationResult outcome = job.run([&](Rank& self) -> Task<> {
    auto slab = self.allocate<std::byte>(kLong);
    std::fill_n(slab.data(), kLong, std::byte{7});
    std::optional<Exposed<std::byte>> exposed;
    if (self.id() == 1) exposed.emplace(self.expose(memory.span()));
    co_await sleep_for(100us);
    if (self.id() == 0) {
      Remote<std::byte> there(RemoteAddress{0, 1, 1});
      const Result<> put = co_await as_result(self.put(std::span<const std::byte>(slab.data(), kLong), there));
      put_said = put.ok() ? "" : put.error().what();
      co_return;
    }
    std::vector<std::byte> back(kLong);
    const Result<> get = co_await as_result(self.get(Remote<std::byte>(RemoteAddress{1 << 20, 0, 0}), back));
    EXPECT(!get.ok() && self.lost(0));
    exposed.reset();
    withdrawn = true;
    co_await sleep_for(10ms);
  });
  CHECK(text_of(outcome) == "");
  CHECK(withdrawn);
  CHECK(put_said.find("peer lost") != std::string::npos);
  CHECK(memory.is_all(std::byte{0}));
}

TEST_CASE("tca: a device in real time copies nothing to a peer that its rank has given up, from then on") {
  JobShape shape;
  shape.size = 3;
  shape.segment_bytes = 4 << 20;
  shape.inbox_bytes = PacketArea::bytes(shape.size);
  const JobRegion region = JobRegion::create(shape, JobRegion::Backing::anonymous);
  std::fill_n(region.segment(0), 4096, std::byte{7});
  DeviceThread device(region, 0, Peach2Model());
  std::uint64_t sequence = 0;
  const auto copy_to = [&](std::uint32_t peer) {
    const Descriptor descriptor{region.segment(0), region.segment(peer), 4096};
    const TableId table = device.load({&descriptor, 1});
    device.start(0, table, ++sequence);
    while (device.completed(0) != sequence || !device.stopped(0)) std::this_thread::yield();
    device.unload(table);
  };
  device.given_up(1);
  copy_to(1);
  copy_to(2);
  CHECK(*region.segment(1) == std::byte{0});
  CHECK(*region.segment(2) == std::byte{7});
}

}  // namespace withdrawn_test
