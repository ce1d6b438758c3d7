// A program that every rank runs (`coracle run --place pvas|process|thread`): puts and gets with memory of GPUs at
// either end, on the stand-in; of layouts, too. `--messages`: GPUs of peers are reached by messages only. `--failing`:
// a copy ends the device's context. `--refusing`: one rank has no room on its GPU. `--two`: each rank has two GPUs;
// `--two-apart`: which do not reach each other. `--owner-dies`, `--rank-dies`: a process of a shared address space is
// killed; `--owner-stops`: stopped; `--owner-fails`: one ends badly. Exit status 0 when all checks of all ranks hold.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include "runtime/rank/exchange.hpp"
#include "tests/cuda/gpu_program.hpp"

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::test;

namespace {

std::string_view mode;

/// Of each kind here to and from each kind at the next rank.
Task<> transfers(Rank& self, Memory& memory, const std::vector<Remote<std::byte>>& segments,
                 const std::vector<Remote<std::byte>>& devices, std::size_t count) {
  std::mt19937_64 random(self.id() + count);
  const std::uint32_t right = (self.id() + 1) % self.size();
  for (const Kind here : kKinds) {
    for (const bool to_device : {false, true}) {
      const Remote<std::byte> there = to_device ? devices[right] : segments[right];
      const Kind target = to_device ? Kind::device : Kind::segment;
      const Bytes sent = random_bytes(random, count);
      const Bytes poison = random_bytes(random, count + 16);
      co_await fill(self, memory.of(target), poison);
      // The source and the target may be the same memory here: each rank puts into the second half of the other's.
      const Place source = memory.of(here);
      const std::size_t half = Memory::kBytes / 2;
      const Place second{source.bytes.subspan(half), source.remote.address().segment == 0
                                                         ? source.remote
                                                         : source.remote + static_cast<std::ptrdiff_t>(half)};
      co_await fill(self, second, sent);
      co_await self.world().barrier();
      co_await self.put(second.bytes.first(count), there);
      // Back from there, into what has been overwritten meanwhile.
      const Bytes wrong = random_bytes(random, count);
      co_await fill(self, second, wrong);
      co_await self.get(there, second.bytes.first(count));
      require(co_await content(self, second, count) == sent, "a put and a get bring the same bytes back");
      co_await self.world().barrier();
      // What lies behind the target is as it was.
      const Bytes all = co_await content(self, memory.of(target), count + 16);
      require(std::equal(all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                         poison.begin() + static_cast<std::ptrdiff_t>(count)),
              "bytes behind a put are untouched");
      co_await self.world().barrier();
    }
  }
}

/// Tiles of other shapes on both sides; the gaps stay as they are.
Task<> layouts(Rank& self, Memory& memory, const std::vector<Remote<std::byte>>& segments,
               const std::vector<Remote<std::byte>>& devices) {
  std::mt19937_64 random(self.id() + 77);
  const std::uint32_t right = (self.id() + 1) % self.size();
  const Layout here = Layout::bytes(48).hvector(2000, 1, 100);
  const Layout there = Layout::bytes(96).hvector(1000, 1, 130);
  const Layout whole = Layout::bytes(96'000);
  constexpr std::size_t kThere = 1000 * 130;
  constexpr std::size_t kHere = 2000 * 100;
  for (const Kind kind : kKinds) {
    for (const bool to_device : {false, true}) {
      const Kind target = to_device ? Kind::device : Kind::segment;
      if (kind == target) continue;  // the same memory would be both
      const Bytes data = random_bytes(random, kHere);
      const Bytes poison(kThere, std::byte{0xAB});
      co_await fill(self, memory.of(kind), data);
      co_await fill(self, memory.of(target), poison);
      co_await self.world().barrier();
      const Remote<std::byte> place = to_device ? devices[right] : segments[right];
      const ScatteredSource source{memory.of(kind).bytes.data(), here};
      co_await self.put(source, place, there);
      Bytes packed(static_cast<std::size_t>(whole.size()));
      const ScatteredTarget target_here{packed.data(), whole};
      co_await self.get(place, there, 1, target_here);
      Bytes expected(packed.size());
      pack({data.data(), here}, 0, expected);
      require(packed == expected, "a put of a layout and a get of it bring the same bytes back");
      co_await self.world().barrier();
      const Bytes landed = co_await content(self, memory.of(target), kThere);
      for (std::size_t row = 0; row < 1000; ++row)
        for (std::size_t gap = 96; gap < 130; ++gap)
          require(landed[row * 130 + gap] == std::byte{0xAB}, "gaps between blocks are untouched");
      co_await self.world().barrier();
    }
  }
}

Task<> signals(Rank& self, Memory& memory, const std::vector<Remote<std::byte>>& devices) {
  const Slab<Signal> signal = self.allocate_signals(1);
  const auto all = co_await self.world().gather_all(signal.remote());
  const std::uint32_t right = (self.id() + 1) % self.size();
  const Bytes sent(100'000, static_cast<std::byte>(self.id() + 1));
  co_await self.put_signal(sent, devices[right], all[right]);
  co_await self.wait(signal[0], 1);
  const auto left = static_cast<std::byte>((self.id() + self.size() - 1) % self.size() + 1);
  const Bytes came = co_await content(self, memory.of(Kind::device), sent.size());
  require(came == Bytes(sent.size(), left), "who sees the signal sees the bytes on its GPU");
  co_await self.world().barrier();
  for (int each = 0; each < 8; ++each)
    self.put_nbi(std::span(sent).subspan(static_cast<std::size_t>(each) * 1000, 1000), devices[right] + each * 1000);
  co_await self.nbi_done();
  co_await self.world().barrier();
}

/// Operations that somebody else waits for, from a GPU's memory to a segment that is reached by loads and stores.
Task<> implicit_ones(Rank& self, Memory& memory) {
  constexpr std::size_t kPart = 1000;
  const std::span<std::byte> own = memory.of(Kind::device).bytes.first(8 * kPart);
  const Slab<std::byte> slab = self.allocate<std::byte>(own.size());
  const auto slabs = co_await self.world().gather_all(slab.remote());
  const Remote<std::byte> there = slabs[(self.id() + 1) % self.size()];
  const Bytes sent(own.size(), static_cast<std::byte>(self.id() + 1));
  co_await fill(self, memory.of(Kind::device), sent);
  for (std::size_t each = 0; each < 8; ++each)
    self.put_nbi(std::span<const std::byte>(own).subspan(each * kPart, kPart),
                 there + static_cast<std::ptrdiff_t>(each * kPart));
  co_await self.nbi_done();
  co_await self.world().barrier();
  const auto left = static_cast<std::byte>((self.id() + self.size() - 1) % self.size() + 1);
  const std::span<std::byte> came = slab.local();
  require(std::all_of(came.begin(), came.end(), [left](std::byte byte) { return byte == left; }),
          "what is put from a GPU without a handle has come when nbi_done() returns");
  co_await self.world().barrier();
  // Of those that concern no GPU nothing is left to wait for, either.
  Handle put = self.put_nb(std::span<const std::byte>(sent).first(kPart), there);
  co_await put.done();
  self.put_nbi(std::span<const std::byte>(sent).first(kPart), there);
  co_await self.nbi_done();
  Handle get = self.get_nb(there, own);
  co_await get.done();
  const Bytes back = co_await content(self, memory.of(Kind::device), own.size());
  require(back == sent, "what is got into a GPU with a handle has come when it is done");
  co_await self.world().barrier();
}

/// A rank's memory on two GPUs and in its segment.
struct TwoGpus {
  static constexpr std::size_t kBytes = 200'000;

  TwoGpus(Rank& rank, Gpu& first, Gpu& second)
      : on_first(first.allocate<std::byte>(kBytes)),
        on_second(second.allocate<std::byte>(kBytes)),
        segment(rank.allocate<std::byte>(kBytes)),
        places{Place{on_first.local(), on_first.remote()}, Place{on_second.local(), on_second.remote()},
               Place{segment.local(), segment.remote()}} {}

  DeviceSlab<std::byte> on_first;
  DeviceSlab<std::byte> on_second;
  Slab<std::byte> segment;
  std::array<Place, 3> places;
};

/// From each place here to each at the next rank: the bytes land there, and nowhere else.
Task<> between(Rank& self, TwoGpus& memory, const std::vector<std::array<Remote<std::byte>, 3>>& all) {
  std::mt19937_64 random(self.id() + 99);
  const std::uint32_t right = (self.id() + 1) % self.size();
  constexpr std::size_t kHalf = TwoGpus::kBytes / 2;
  const Bytes poison(kHalf, std::byte{0x5A});
  for (Place& here : memory.places) {
    for (std::size_t target = 0; target < memory.places.size(); ++target) {
      for (Place& each : memory.places) co_await fill(self, each, poison);
      const Bytes sent = random_bytes(random, kHalf);
      const Place second{here.bytes.subspan(kHalf), here.remote + static_cast<std::ptrdiff_t>(kHalf)};
      co_await fill(self, second, sent);
      co_await self.world().barrier();
      co_await self.put(second.bytes, all[right][target]);
      Bytes back(kHalf);
      co_await self.get(all[right][target], std::span(back));
      require(back == sent, "what was put to one of a peer's GPUs comes back from there");
      co_await self.world().barrier();
      for (std::size_t other = 0; other < memory.places.size(); ++other) {
        if (other == target) continue;
        const Bytes untouched = co_await content(self, memory.places[other], kHalf);
        require(untouched == poison, "a put to one GPU leaves the others as they are");
      }
      co_await self.world().barrier();
    }
  }
}

Task<> errors(Rank& self, Memory& memory, const std::vector<Remote<std::byte>>& devices) {
  const std::uint32_t right = (self.id() + 1) % self.size();
  const std::span<std::byte> source = memory.of(Kind::device).bytes.first(100);
  const Remote<std::byte> behind = devices[right] + (std::ptrdiff_t{1} << 40);
  const auto too_far = [&]() -> Task<> { co_await self.put(source, behind); };
  co_await refused(Errc::out_of_segment, too_far, "a put behind a GPU's segment is refused");
  const auto add = [&]() -> Task<> { co_await self.fetch_add(devices[right].as<std::uint64_t>(), 1); };
  co_await refused(Errc::unsupported, add, "an atomic on a GPU's memory is refused");
}

/// What the driver breaks off, and all after it, ends with an error.
Task<> failures(Rank& self, Gpu& gpu) {
  const DeviceSlab<std::byte> there = gpu.allocate<std::byte>(200'000);
  Bytes here(200'000);
  const Slab<std::byte> target = self.allocate<std::byte>(200'000);
  const auto segments = co_await self.world().gather_all(target.remote());
  co_await self.world().barrier();
  if (self.id() == 0) {
    test::FakeSpace::of_this_process().failing_copies = 1;
    const auto put = [&]() -> Task<> { co_await self.put(here, there.remote()); };
    co_await refused(Errc::device_failed, put, "a put that the driver breaks off ends with that");
    const auto get = [&]() -> Task<> { co_await self.get(there.remote(), std::span(here)); };
    co_await refused(Errc::device_failed, get, "a get from a GPU that has failed ends with that");
    const Remote<std::byte> peer = segments[1];
    const auto far = [&]() -> Task<> { co_await self.put(there.local(), peer); };
    co_await refused(Errc::device_failed, far, "a put from a GPU that has failed ends with that");
  }
  co_await self.world().barrier();
  require(self.local<scattered::Exchange>().incoming() == 0, "a put that has failed leaves nothing at its target");
}

/// Puts to this rank's GPU until one fails.
Task<Errc> put_until_it_fails(Rank& self, const DeviceSlab<std::byte>& there) {
  const Bytes here(100'000);
  for (;;) {
    try {
      co_await self.put(here, there.remote());
    } catch (const Error& error) {
      co_return static_cast<Errc>(error.code().value());
    }
  }
}

/// `pvas`: every operation of every rank ends with an error from then on, and none hangs.
Task<> owner_dies(Rank& self, Gpu& gpu) {
  const DeviceSlab<std::byte> there = gpu.allocate<std::byte>(100'000);
  const auto all = co_await self.world().gather_all(there.remote());
  if (self.id() == 0) ::kill(test::FakeSpace::of_this_process().owner(), SIGKILL);
  require(co_await put_until_it_fails(self, there) == Errc::device_failed, "a put ends with the owner's death");
  Bytes here(100'000);
  const std::uint32_t right = (self.id() + 1) % self.size();
  const Remote<std::byte> peer = all[right];
  const auto get = [&]() -> Task<> { co_await self.get(peer, std::span(here)); };
  co_await refused(Errc::device_failed, get, "a get from a GPU without owner ends with that");
  co_await self.world().barrier();
  const auto between = [&]() -> Task<> { co_await self.put(there.local(), peer); };
  co_await refused(Errc::device_failed, between, "a put between GPUs without owner ends with that");
  if (self.id() == 0) fmt::print("ok\n");
}

/// `pvas`: the same, and the owner is killed: it could go on to read what ranks have taken back meanwhile.
Task<> owner_stops(Rank& self, Gpu& gpu) {
  const DeviceSlab<std::byte> there = gpu.allocate<std::byte>(100'000);
  const auto all = co_await self.world().gather_all(there.remote());
  const Remote<std::byte> peer = all[(self.id() + 1) % self.size()];
  co_await self.put(there.local(), peer);
  co_await self.world().barrier();
  const pid_t owner = test::FakeSpace::of_this_process().owner();
  if (self.id() == 0) ::kill(owner, SIGSTOP);
  const auto between = [&]() -> Task<> {
    for (;;) co_await self.put(there.local(), peer);
  };
  co_await refused(Errc::device_failed, between, "a put ends though nobody answers");
  require(::kill(owner, 0) != 0 && errno == ESRCH, "the owner is no more");
  if (self.id() == 0) fmt::print("ok\n");
}

/// `pvas`, `--survive`: the last rank dies amid its copies, also of those to a peer's GPU; the others go on.
Task<> rank_dies(Rank& self, Gpu& gpu) {
  const DeviceSlab<std::byte> there = gpu.allocate<std::byte>(300'000);
  const auto all = co_await self.world().gather_all(there.remote());
  const std::uint32_t last = self.size() - 1;
  const auto others = co_await self.world().split(self.id() == last ? 1 : 0, self.id());
  co_await let_die(self, last);
  const Bytes junk(100'000);
  if (self.id() == last) {
    for (int i = 0; i < 50; ++i) self.put_nbi(junk, all[0] + 200'000);
    ::kill(::getpid(), SIGKILL);
  }
  co_await self.more_lost(0);
  std::mt19937_64 random(self.id());
  const std::uint32_t right = (self.id() + 1) % last;
  for (int round = 0; round < 20; ++round) {
    const Bytes sent = random_bytes(random, 100'000);
    co_await self.put(sent, all[right]);
    Bytes back(sent.size());
    co_await self.get(all[right], std::span(back));
    require(back == sent, "ranks that live copy as before");
    co_await others->barrier();
  }
  fmt::print("rank {} goes on\n", self.id());
  std::fflush(nullptr);
}

/// Each rank has two GPUs; `apart`: that do not reach each other.
Task<> two_gpus(Rank& self, Gpu& first, const GpuOptions& options) {
  Gpu& second = *co_await Gpu::open(self, driver(), options);
  require(first.number() == 0 && second.number() == 1, "GPUs are numbered as they are opened");
  TwoGpus memory(self, first, second);
  const std::array<Remote<std::byte>, 3> mine{memory.places[0].remote, memory.places[1].remote,
                                              memory.places[2].remote};
  require(mine[0].address().segment != mine[1].address().segment, "segments of two GPUs are told apart");
  const auto all = co_await self.world().gather_all(mine);
  co_await between(self, memory, all);
  // Each GPU's own engines copy what is its own.
  const std::uint64_t before = second.engine().engine().counts().doorbells;
  co_await self.put(memory.on_second.local(), mine[2]);
  require(second.engine().engine().counts().doorbells > before, "a copy from a GPU goes by its own engines");
  const RemoteAddress third{0, 0, Accelerator::kSegment + 2};
  const auto nowhere = [&]() -> Task<> { co_await self.put(memory.segment.local(), Remote<std::byte>(third)); };
  co_await refused(Errc::out_of_segment, nowhere, "a put to a GPU that was not opened is refused");
  co_await self.world().barrier();
}

/// All ranks hear that one of them has no room.
Task<> refusals(Rank& self, const GpuOptions& options) {
  co_await self.world().barrier();
  if (self.id() == 0) {
    test::FakeSpace::of_this_process().refused_allocations = 1;
  }
  co_await self.world().barrier();
  bool thrown = false;
  try {
    co_await Gpu::open(self, driver(), options);
  } catch (const Error&) {
    thrown = true;
  }
  require(thrown, "no rank opens its GPU when one can't");
  co_await self.world().barrier();
  co_await Gpu::open(self, driver(), options);  // now all can
}

Task<> app(Rank& self) {
  GpuOptions options;
  options.segment_bytes = 1 << 20;
  options.direct = mode != "--messages";
  if (mode == "--refusing") co_return co_await refusals(self, options);
  Gpu& gpu = *co_await Gpu::open(self, driver(), options);
  int seen = 0;
  require((driver().device_count(seen) == cuda::kInitializationError) == (self.placement() == Placement::pvas),
          "in one address space the driver serves nobody but the owner");
  if (mode == "--failing") co_return co_await failures(self, gpu);
  if (mode == "--owner-dies") co_return co_await owner_dies(self, gpu);
  if (mode == "--owner-stops") co_return co_await owner_stops(self, gpu);
  if (mode == "--rank-dies") co_return co_await rank_dies(self, gpu);
  if (mode == "--two" || mode == "--two-apart") co_await two_gpus(self, gpu, options);
  Memory memory(self, gpu);
  const auto segments = co_await self.world().gather_all(memory.segment.remote());
  const auto devices = co_await self.world().gather_all(memory.device.remote());
  for (const std::size_t count : {1U, 1000U, 65536U, 65537U, 290'001U})
    co_await transfers(self, memory, segments, devices, count);
  co_await layouts(self, memory, segments, devices);
  co_await signals(self, memory, devices);
  co_await implicit_ones(self, memory);
  co_await errors(self, memory, devices);
  co_await self.world().barrier();
  require_no_misuse();
  if (self.id() == 0) fmt::print("ok\n");
}

}  // namespace

int main(int argc, char** argv) {
  mode = argc > 1 ? argv[1] : "";
  abilities.peers = mode != "--two-apart";
  if (owns_devices()) return mode == "--owner-fails" ? (own_devices(), 1) : own_devices();
  return run(argc, argv, app);
}
