// A program that every rank runs (`coracle run --place process|thread`): tagged messages from and to memory of GPUs, on
// the stand-in. `--messages`: GPUs of peers are reached by messages only. `--failing`: the ranks' GPUs end. `--lost`:
// two ranks lose each other while messages are under way. Exit status 0 when all checks of all ranks hold.
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/messages/messages.hpp"
#include "runtime/rank/exchange.hpp"
#include "tests/cuda/gpu_program.hpp"

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::test;
using namespace std::chrono_literals;

namespace {

std::string_view mode;

constexpr std::size_t kHalf = Memory::kBytes / 2;

/// The first half of each memory is received into, the second one sent from.
Place source_of(Memory& memory, Kind kind) {
  const Place whole = memory.of(kind);
  const bool has_place = kind != Kind::pageable;
  return {whole.bytes.subspan(kHalf), has_place ? whole.remote + static_cast<std::ptrdiff_t>(kHalf) : whole.remote};
}

/// How a message is sent and received.
enum class Form { posted_first, probed, matched, persistent };
constexpr std::array kForms{Form::posted_first, Form::probed, Form::matched, Form::persistent};

Task<> check_received(Started<Received>& receive, std::size_t bytes) {
  const Received received = co_await receive.done();
  require(received.bytes == bytes, "a receive tells the length of its message");
}

/// From the left to the right neighbour, any two kinds of memory.
Task<> pass_on(Rank& self, Form form, std::span<const std::byte> sent, std::span<std::byte> target) {
  Team& team = self.world();
  const std::uint32_t right = (self.id() + 1) % self.size();
  const std::uint32_t left = (self.id() + self.size() - 1) % self.size();
  const std::uint64_t tag = 7;
  if (form == Form::posted_first) {
    Started<Received> receive = start(self, team.recv(target, left, tag));
    co_await self.world().barrier();
    co_await team.send(sent, right, tag);
    co_await check_received(receive, sent.size());
  } else if (form == Form::persistent) {
    PersistentSend send = team.prepare_send(sent, right, tag);
    PersistentRecv recv = team.prepare_recv(target, left, tag);
    for (int round = 0; round < 2; ++round) {
      Started<> sending = send.start();
      Started<Received> receive = recv.start();
      co_await check_received(receive, sent.size());
      co_await sending.done();
    }
  } else {
    Started<> sending = start(self, team.send(sent, right, tag));
    const Received there = co_await team.wait_probe(left, tag);
    require(there.bytes == sent.size(), "a probe tells the length of a message");
    Received received{};
    if (form == Form::matched) {
      std::optional<MatchedMessage> message = team.matched_probe(left, tag);
      received = co_await message->recv(target);
    } else {
      received = co_await team.recv(target);
    }
    require(received.bytes == sent.size() && received.source == left, "a message that was probed is received");
    co_await sending.done();
  }
}

/// All lengths of messages between all kinds of memory, in one form.
Task<> contiguous(Rank& self, Memory& memory, Form form) {
  std::mt19937_64 random(self.id() + 1);
  const std::uint32_t left = (self.id() + self.size() - 1) % self.size();
  for (const std::size_t bytes : {0U, 1U, 1000U, 65'537U, 290'001U}) {
    for (const Kind from : kKinds) {
      for (const Kind to : kKinds) {
        const Bytes sent = random_bytes(random, bytes);
        const Bytes poison = random_bytes(random, bytes + 16);
        // What the left one sends is known by its seed.
        std::mt19937_64 same(left * 1'000 + bytes);
        std::mt19937_64 own(self.id() * 1'000 + bytes);
        const Bytes expected = random_bytes(same, bytes);
        co_await fill(self, source_of(memory, from), random_bytes(own, bytes));
        co_await fill(self, memory.of(to), poison);
        co_await pass_on(self, form, source_of(memory, from).bytes.first(bytes), memory.of(to).bytes.first(bytes + 8));
        Bytes all = expected;
        all.insert(all.end(), poison.begin() + static_cast<std::ptrdiff_t>(bytes), poison.end());
        require(co_await content(self, memory.of(to), bytes + 16) == all, "a message brings its bytes, and no others");
      }
    }
  }
}

/// A layout of about `bytes`, with gaps; of two loops, or of blocks in any order.
Layout random_layout(std::mt19937_64& random, std::size_t bytes) {
  const std::int64_t block = 1 + static_cast<std::int64_t>(random() % 300);
  const std::int64_t blocks = 1 + static_cast<std::int64_t>(bytes) / block;
  const std::int64_t gap = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(block + 2));
  if (random() % 2 == 0) {
    std::vector<std::int64_t> places(static_cast<std::size_t>(blocks));
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::int64_t>(i) * (block + gap) + 3;
    std::shuffle(places.begin(), places.end(), random);
    return Layout::bytes(block).hindexed_block(1, places);
  }
  const std::int64_t inner = 1 + static_cast<std::int64_t>(random() % 5);
  const Layout rows = Layout::bytes(block).hvector(inner, 1, block + gap);
  return rows.hvector((blocks + inner - 1) / inner, 1, rows.extent() + gap + 1);
}

/// From layout to layout; a message may be shorter than what it is received into.
Task<> scattered(Rank& self, Memory& memory, std::uint64_t seed) {
  // The same everywhere.
  std::mt19937_64 random(seed);
  const Layout source = random_layout(random, random() % 40'000);
  const Layout target = random_layout(random, static_cast<std::size_t>(source.size()));
  const std::uint64_t count = 1 + random() % 2;
  const auto source_bytes = static_cast<std::size_t>(source.footprint(1).high);
  const auto target_bytes = static_cast<std::size_t>(target.footprint(count).high);
  require(source_bytes <= kHalf && target_bytes <= kHalf, "layouts of the test fit into its memory");
  const Bytes data = random_bytes(random, source_bytes);
  const Bytes poison = random_bytes(random, target_bytes);
  Bytes packed(static_cast<std::size_t>(source.size()));
  pack({data.data(), source}, 0, packed);
  Bytes expected = poison;
  unpack(packed, 0, {expected.data(), target, count});
  Team& team = self.world();
  const std::uint32_t right = (self.id() + 1) % self.size();
  const std::uint32_t left = (self.id() + self.size() - 1) % self.size();
  for (const Kind from : kKinds) {
    for (const Kind to : kKinds) {
      co_await fill(self, source_of(memory, from), data);
      co_await fill(self, memory.of(to), poison);
      const ScatteredSource sent{source_of(memory, from).bytes.data(), source};
      const ScatteredTarget into{memory.of(to).bytes.data(), target, count};
      const Received received = co_await team.send_recv(sent, right, seed, into, left, seed);
      require(received.bytes == packed.size(), "a message of a layout has its packed length");
      require(co_await content(self, memory.of(to), target_bytes) == expected, "gaps and what lies behind stay");
    }
  }
}

/// To oneself, and in the order in which messages of any kinds of memory were sent.
Task<> order(Rank& self, Memory& memory) {
  Team& team = self.world();
  const std::uint32_t right = (self.id() + 1) % self.size();
  for (const std::uint32_t to : {self.id(), right}) {
    const Bytes first(1000, std::byte{1});
    const Bytes second(1000, std::byte{2});
    const Place device = source_of(memory, Kind::device);
    co_await fill(self, device, first);
    Started<> one = start(self, team.send(device.bytes.first(1000), to, 9));
    Started<> two = start(self, team.send(std::span(second), to, 9));
    const Place target = memory.of(Kind::device);
    co_await team.recv(target.bytes.first(1000), kAnySource, 9);
    require(co_await content(self, target, 1000) == first, "what is sent first, from a GPU, is received first");
    co_await team.recv(target.bytes.first(1000), kAnySource, kAnyTag);
    require(co_await content(self, target, 1000) == second, "what is sent next, from host memory, is received next");
    co_await one.done();
    co_await two.done();
    co_await team.barrier();
  }
}

/// Messages that are longer than their buffer, short and long ones.
Task<> truncations(Rank& self, Memory& memory) {
  Team& team = self.world();
  const std::uint32_t right = (self.id() + 1) % self.size();
  for (const std::size_t bytes : {1000U, 100'000U}) {
    for (const Kind from : kKinds) {
      const Place target = memory.of(Kind::device);
      const Bytes poison(bytes, std::byte{0xAB});
      co_await fill(self, target, poison);
      Started<> sending = start(self, team.send(source_of(memory, from).bytes.first(bytes), right, 3));
      const auto receive = [&]() -> Task<> { co_await team.recv(target.bytes.first(bytes - 1), kAnySource, 3); };
      co_await refused(Errc::truncated, receive, "a message that is too long for memory on a GPU is told");
      co_await sending.done();
      require(co_await content(self, target, bytes) == poison, "what is truncated is not copied");
      co_await team.barrier();
    }
  }
}

/// A send from a GPU that nobody receives is withdrawn; a dropped one lets its sender go on.
Task<> withdrawals(Rank& self, Memory& memory) {
  Team& team = self.world();
  const std::uint32_t right = (self.id() + 1) % self.size();
  const std::uint32_t left = (self.id() + self.size() - 1) % self.size();
  const std::span<std::byte> source = source_of(memory, Kind::device).bytes.first(50'000);
  bool withdrawn = false;
  try {
    co_await with_timeout(20ms, team.send(source, right, 21));
  } catch (const Error& error) {
    withdrawn = error.code() == std::errc::timed_out;
  }
  require(withdrawn, "a send from a GPU can be cancelled");
  co_await team.barrier();
  require(!team.probe(kAnySource, 21), "a send that was withdrawn is not there any more");
  Started<> sending = start(self, team.send(source, right, 22));
  co_await team.wait_probe(left, 22);
  { const std::optional<MatchedMessage> dropped = team.matched_probe(left, 22); }
  co_await sending.done();
  co_await team.barrier();
}

Task<> ends_with(Started<>& send, Errc code, std::string_view what) {
  const auto done = [&]() -> Task<> { co_await send.done(); };
  co_await refused(code, done, what);
}

Task<> ends_with(Started<Received>& receive, Errc code, std::string_view what) {
  const auto done = [&]() -> Task<> { co_await receive.done(); };
  co_await refused(code, done, what);
}

/// After all GPUs have failed: both ends of a message hear of it, and other messages go on.
Task<> failures(Rank& self, Gpu& gpu) {
  Memory memory(self, gpu);
  const Layout layout = Layout::bytes(40).hvector(2000, 1, 100);
  Team& team = self.world();
  const std::uint32_t other = 1 - self.id();
  co_await team.barrier();
  if (self.id() == 0 || self.placement() != Placement::thread) {
    FakeFaults faults;
    faults.failing_copies = 1;
    machine().set(faults);
    const auto put = [&]() -> Task<> { co_await self.put(memory.own, memory.device.remote()); };
    co_await refused(Errc::device_failed, put, "a put to a GPU that fails ends with that");
  }
  co_await team.barrier();
  for (const Kind from : kKinds) {
    for (const Kind to : kKinds) {
      if (from != Kind::device && to != Kind::device) continue;
      Started<> send = start(self, team.send(source_of(memory, from).bytes.first(100'000), other, 5));
      Started<Received> receive = start(self, team.recv(memory.of(to).bytes.first(100'000), other, 5));
      co_await ends_with(receive, Errc::device_failed, "a receive whose GPU, or whose sender's, fails ends with that");
      co_await ends_with(send, Errc::device_failed, "a send whose GPU, or whose receiver's, fails ends with that");
      const ScatteredSource source{source_of(memory, from).bytes.data(), layout};
      const ScatteredTarget target{memory.of(to).bytes.data(), layout};
      Started<> rows_out = start(self, team.send(source, other, 6));
      Started<Received> rows_in = start(self, team.recv(target, other, 6));
      co_await ends_with(rows_in, Errc::device_failed, "a receive of a layout, too");
      co_await ends_with(rows_out, Errc::device_failed, "a send of a layout, too");
    }
  }
  const Bytes small(100, std::byte{1});
  co_await team.send(small, other, 8);
  const auto receive = [&]() -> Task<> { co_await team.recv(memory.of(Kind::device).bytes.first(100), other, 8); };
  co_await refused(Errc::device_failed, receive, "a receive of a short message fails alone");
  Bytes there(100'000);
  const std::span<const std::byte> sent = source_of(memory, Kind::pageable).bytes.first(100'000);
  co_await team.send_recv(sent, other, 4, std::span(there), other, 4);
  co_await team.barrier();
  require(Messages::of(team.rank()).unexpected() == 0, "nothing is left of messages that have failed");
  require(self.local<scattered::Exchange>().incoming() == 0, "nor of their transfers");
}

/// Rank 1's GPU stands still while a message comes from it and another goes to it. Then the two lose each other.
Task<> losses(Rank& self, Gpu& gpu) {
  Memory memory(self, gpu);
  Team& team = self.world();
  const bool has_gpu = self.id() == 1;
  const std::uint32_t other = 1 - self.id();
  const Slab<Signal> signal = self.allocate_signals(1);
  const auto signals = co_await team.gather_all(signal.remote());
  const Kind kind = has_gpu ? Kind::device : Kind::pageable;
  if (has_gpu) {
    FakeFaults faults;
    faults.stalls = 16;
    machine().set(faults);
  }
  Started<> send = start(self, team.send(source_of(memory, kind).bytes, other, 5));
  Started<Received> receive = start(self, team.recv(memory.of(kind).bytes.first(kHalf), other, 5));
  if (has_gpu) {
    while (!driver().stalled()) co_await sleep_for(1ms);
    co_await self.raise(signals[0], 1);
  } else {
    co_await self.wait(signal[0], 1);
  }
  self.core().peer_lost({other, "the test has lost it"});
  if (has_gpu) {
    machine().set({});
    driver().resume();  // until then its memory is not the program's
  }
  co_await ends_with(send, Errc::peer_lost, "a send from or to a GPU ends with its receiver");
  // What goes to the GPU may all have come before its sender was lost.
  std::error_code code;
  try {
    co_await receive.done();
  } catch (const Error& error) {
    code = error.code();
  }
  require(code == Errc::peer_lost || (has_gpu && !code), "a receive from or to a GPU ends with its sender");
}

Task<> app(Rank& self) {
  GpuOptions options;
  options.segment_bytes = 1 << 20;
  options.direct = mode != "--messages";
  if (mode == "--failing") options.device = 0;  // which fails for all ranks of a process
  Gpu& gpu = *co_await Gpu::open(self, driver(), options);
  if (mode == "--failing") co_return co_await failures(self, gpu);
  if (mode == "--lost") co_return co_await losses(self, gpu);
  Memory memory(self, gpu);
  for (const Form form : kForms) co_await contiguous(self, memory, form);
  for (std::uint64_t seed = 1; seed <= 12; ++seed) co_await scattered(self, memory, seed);
  co_await order(self, memory);
  co_await truncations(self, memory);
  co_await withdrawals(self, memory);
  co_await self.world().barrier();
  require_no_misuse();
  if (self.id() == 0) fmt::print("ok\n");
}

}  // namespace

int main(int argc, char** argv) {
  mode = argc > 1 ? argv[1] : "";
  if (owns_devices()) return own_devices();
  return run(argc, argv, app);
}
