// The TCA transport's packets, step by step: full rings, credits that get lost, memory that is withdrawn before the
// doorbell, and how little memory all of it takes.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/allocations.hpp"
#include "tests/tca/stepped_job.hpp"

namespace packets_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::tca;

namespace {

/// The numbers of the requests that have come to a rank, in order.
struct Log {
  explicit Log(Rank&) {}
  std::vector<std::uint64_t> numbers;
  std::vector<std::byte> last_bytes;
};
void on_number(Rank& rank, const Message& message) {
  Log& log = rank.local<Log>();
  log.numbers.push_back(message.argument(0));
  if (!message.payload().empty()) log.last_bytes.push_back(message.payload().back());
}
void on_nothing(Rank&, const Message&) {}

std::vector<std::uint64_t> up_to(std::uint64_t count) {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t number = 0; number < count; ++number) numbers.push_back(number);
  return numbers;
}

constexpr std::uint64_t kRequests = 30;

/// Rank 0 sends to rank 1, which is busy: fills the ring. Gives the requests.
std::vector<RequestOperation*> fill_ring(SteppedJob& job, Operations& operations, std::span<const std::byte> payload) {
  job.set_busy(1, true);
  std::vector<RequestOperation*> requests;
  for (std::uint64_t number = 0; number < kRequests; ++number)
    requests.push_back(&operations.request(1, HandlerId::of(on_number), payload, number));
  job.settle_for(50'000'000);  // rank 0 asks for credits meanwhile
  return requests;
}

std::ptrdiff_t finished(const std::vector<RequestOperation*>& requests) {
  return std::ranges::count_if(requests, [](const RequestOperation* each) { return each->finished(); });
}

std::uint64_t signal_at(const SteppedJob& job, std::uint32_t rank, std::uint64_t offset) {
  std::uint64_t count = 0;
  std::memcpy(&count, job.memory(rank, offset), sizeof count);
  return count;
}

}  // namespace

TEST_CASE("tca: a ring holds eight packets; who finds it full waits until its receiver turns, and all come in order") {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, PacketSlot::kPayloadBytes}) {
    CAPTURE(bytes);
    SteppedJob job(2);
    Operations operations(job.transport(0));
    const std::vector<std::byte> payload(bytes, std::byte{7});
    const auto requests = fill_ring(job, operations, payload);
    CHECK(job.transport(0).full_rings() == 1);
    CHECK(finished(requests) == PacketArea::kSlots);
    CHECK(job.rank(1).local<Log>().numbers.empty());
    job.set_busy(1, false);
    job.settle();
    CHECK(finished(requests) == kRequests);
    CHECK(job.rank(1).local<Log>().numbers == up_to(kRequests));
    CHECK(std::ranges::count(job.rank(1).local<Log>().last_bytes, std::byte{7}) ==
          static_cast<std::ptrdiff_t>(bytes > 0 ? kRequests : 0));
    CHECK(job.transport(0).full_rings() >= kRequests / PacketArea::kSlots);
    CHECK(job.transport(0).in_flight() == 0);
  }
}

TEST_CASE("tca: a message of more parts than its ring has slots comes whole") {
  SteppedJob job(2);
  Operations operations(job.transport(0));
  std::vector<std::byte> payload(3 * PacketArea::kSlots * PacketSlot::kPayloadBytes + 5);
  payload.back() = std::byte{9};
  job.set_busy(1, true);
  const RequestOperation& request = operations.request(1, HandlerId::of(on_number), payload, 0);
  job.settle_for(50'000'000);
  CHECK(job.transport(0).full_rings() == 1);
  CHECK(!request.finished());
  job.set_busy(1, false);
  job.settle();
  CHECK(request.finished());
  CHECK(job.rank(1).local<Log>().last_bytes == std::vector{std::byte{9}});
}

TEST_CASE("tca: a full ring whose credits get lost is told of them again, when its sender asks") {
  SteppedJob job(2);
  Operations operations(job.transport(0));
  const auto requests = fill_ring(job, operations, {});
  constexpr unsigned kLost = 5;
  DeviceFaults faults;
  faults.lost_stores = kLost;
  job.transport(1).device().break_down(faults);
  job.set_busy(1, false);
  job.settle();
  CHECK(finished(requests) == kRequests);
  CHECK(job.rank(1).local<Log>().numbers == up_to(kRequests));
  CHECK(job.transport(0).in_flight() == 0);
}

TEST_CASE("tca: memory that is withdrawn between a batch's filling and its doorbell fails its own put only") {
  SteppedJob job(2);
  Operations operations(job.transport(0));
  constexpr std::uint64_t kSignals = 1 << 20;
  std::vector<std::byte> outside(4096);
  auto exposed = std::make_optional(job.rank(1).expose(outside));
  std::fill_n(job.memory(0, 0), 512, std::byte{5});
  const std::span<const std::byte> source(job.memory(0, 0), 512);
  // A table is on its way: what follows gathers for the next.
  operations.request(1, HandlerId::of(on_number), {}, 0);
  Operation& before = operations.put_signal(source, job.place(1, 4096), job.place(1, kSignals));
  Operation& withdrawn = operations.put_signal(source, exposed->remote().address(), job.place(1, kSignals + 64));
  Operation& after = operations.put_signal(source, job.place(1, 8192), job.place(1, kSignals + 128));
  operations.request(1, HandlerId::of(on_number), {}, 1);
  exposed.reset();
  job.settle();
  CHECK(before.finished());
  CHECK(!before.outcome());
  CHECK(withdrawn.finished());
  CHECK(withdrawn.outcome() == Errc::out_of_segment);
  CHECK(after.finished());
  CHECK(!after.outcome());
  CHECK(signal_at(job, 1, kSignals) == 1);
  CHECK(signal_at(job, 1, kSignals + 64) == 0);
  CHECK(signal_at(job, 1, kSignals + 128) == 1);
  CHECK(*job.memory(1, 4096) == std::byte{5});
  CHECK(*job.memory(1, 8192) == std::byte{5});
  CHECK(std::ranges::count(outside, std::byte{0}) == 4096);
  CHECK(job.rank(1).local<Log>().numbers == up_to(2));
  CHECK(job.transport(0).in_flight() == 0);
}

TEST_CASE("tca: a get from memory that is withdrawn before the answer's doorbell ends with an error") {
  SteppedJob job(2);
  Operations operations(job.transport(0));
  Operations others(job.transport(1));
  std::vector<std::byte> outside(512, std::byte{6});
  auto exposed = std::make_optional(job.rank(1).expose(outside));
  Operation& get = operations.get(exposed->remote().address(), std::span(job.memory(0, 0), 512));
  // Its answer gathers behind a table that rank 1 has on its way, with a request to be sent after it.
  job.set_busy(1, true);
  job.settle_for(1'000'000);
  others.request(0, HandlerId::of(on_number), {}, 0);
  job.set_busy(1, false);
  for (int looks = 0; job.transport(1).modes().memory_to_memory == 0 && looks < 100; ++looks) job.transport(1).poll();
  REQUIRE(job.transport(1).modes().memory_to_memory == 1);
  exposed.reset();
  others.request(0, HandlerId::of(on_number), {}, 1);
  job.settle();
  CHECK(get.finished());
  CHECK(get.outcome() == Errc::out_of_segment);
  CHECK(*job.memory(0, 0) == std::byte{0});
  CHECK(job.rank(0).local<Log>().numbers == up_to(2));
}

TEST_CASE("tca: a payload that was to be read in place goes through the send buffer when its memory is withdrawn") {
  SteppedJob job(2);
  Operations operations(job.transport(0));
  alignas(16) std::array<std::byte, 2048> outside;
  outside.fill(std::byte{8});
  auto exposed = std::make_optional(job.rank(0).expose(std::span<std::byte>(outside)));
  operations.request(1, HandlerId::of(on_number), {}, 0);
  Operation& put = operations.put(outside, job.place(1, 4097));
  CHECK(job.transport(0).modes().memory_to_buffer == 1);
  exposed.reset();
  job.settle();
  CHECK(put.finished());
  CHECK(!put.outcome());
  CHECK(std::count(job.memory(1, 4097), job.memory(1, 4097 + 2048), std::byte{8}) == 2048);
  CHECK(job.rank(1).local<Log>().numbers == up_to(1));
}

namespace {

/// Every way that bytes go, each to its end. `made`: how many operations of each kind were made before.
class AllWays {
 public:
  explicit AllWays(SteppedJob& job) : job_(job), transport_(job.transport(0)) {}

  void go() {
    put(job_.memory(0, 0), 64 << 10, kTarget, false);   // from memory to memory, split over channels
    put(job_.memory(0, 0), 512, kTarget, true);         // the same by one table with its signal
    put(job_.memory(0, 16), 2048, kTarget + 1, true);   // read in place, into a buffer
    put(ordinary_.data() + 1, 100, kTarget, true);      // by one packet
    put(ordinary_.data() + 1, 100'000, kTarget, true);  // through buffers here
    get(job_.memory(0, 1 << 20), 512);
    get(ordinary_.data(), 512);
    Operation add(Operation::Verb::fetch_add, "fetch_add", 1);
    add.bytes = add.width;
    add.remote = job_.place(1, kTarget);
    add.operand = 1;
    add.compare = 0;
    finish(add);
    RequestOperation request(1);
    request.header.handler = HandlerId::of(on_nothing);
    request.local = ordinary_.data();
    request.bytes = 100;
    finish(request);
  }

 private:
  static constexpr std::uint64_t kTarget = 2 << 20;
  static constexpr std::uint64_t kSignal = 3 << 20;

  void put(const std::byte* source, std::size_t bytes, std::uint64_t target, bool signals) {
    Operation operation(Operation::Verb::put, "put", 1);
    operation.local = const_cast<std::byte*>(source);
    operation.bytes = bytes;
    operation.remote = job_.place(1, target);
    operation.signal = job_.place(1, kSignal);
    operation.signal_add = signals ? 1 : 0;
    finish(operation);
  }
  void get(std::byte* target, std::size_t bytes) {
    Operation operation(Operation::Verb::get, "get", 1);
    operation.local = target;
    operation.bytes = bytes;
    operation.remote = job_.place(1, kTarget);
    finish(operation);
  }
  void finish(Operation& operation) {
    transport_.submit(operation);
    while (!operation.finished() && job_.step()) {
    }
    done_ += operation.finished() && !operation.failed() ? 1 : 0;
  }

  SteppedJob& job_;
  TcaTransport& transport_;
  std::vector<std::byte> ordinary_ = std::vector<std::byte>(100'001);
  int done_ = 0;

 public:
  int done() const noexcept { return done_; }
};

}  // namespace

TEST_CASE("tca: puts, gets, atomics and messages that are repeated allocate nothing once their split is learned") {
  SteppedJob job(2);
  AllWays ways(job);
  constexpr int kRunsToLearn = 40;  // pieces through buffers are patterns by buffer, which are used in turn
  constexpr int kRuns = 100;
  for (int run = 0; run < kRunsToLearn; ++run) ways.go();
  const std::uint64_t before = test::allocation_count();
  for (int run = 0; run < kRuns; ++run) ways.go();
  const std::uint64_t allocations = test::allocation_count() - before;
  CHECK(ways.done() == 9 * (kRunsToLearn + kRuns));
  const ModeCounts& modes = job.transport(0).modes();
  CHECK(modes.memory_to_memory > 0);
  CHECK(modes.memory_to_buffer > 0);
  CHECK(modes.buffer_to_buffer > 0);
  CHECK(modes.buffer_to_memory > 0);
  if (test::allocations_are_counted())
    CHECK(allocations == 0);
  else
    MESSAGE("not counted: sanitizers bring their own operator new");
}

}  // namespace packets_test
