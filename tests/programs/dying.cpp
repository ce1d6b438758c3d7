// A program of which rank 1 dies where it leaves memory half changed that its peers look at, for the tests of
// `--survive`: `dying 'WHERE'`. Each survivor says what it made of it. A moment of some nanoseconds can't be hit from
// outside, so the rank does the first half of the operation by hand, and then dies.
//
//     ring       between taking a sleeper's announcement and the system call that would wake it
//     ring io    the same, of sleepers that wait for a descriptor, too
//     write      between reserving a place in rank 0's ring of messages and filling it
//     answer     the same in its ring of answers
//     arrive     between taking its number among those who have come to a collective and saying whose it is
//     help       as the sender of a long message that has taken a chunk to copy, and hasn't copied it
//     reduce, reduce of two, reduce_scatter, scan, exclusive_scan
//                in the middle of combining long data
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <coracle/coracle.hpp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/io.hpp"
#include "runtime/job/job.hpp"
#include "runtime/team/round.hpp"
#include "transports/direct/direct.hpp"

using namespace coracle;
using namespace coracle::internals;

namespace {

constexpr std::uint32_t kVictim = 1;

std::string where;

// --- ring ---

/// Takes all announcements away from those who sleep, until they sleep in spite of it.
void ring_in_vain(Rank& self) {
  const JobRegion& region = self.core().region();
  for (std::uint32_t peer = 0; peer < self.size(); ++peer) {
    if (peer == kVictim) continue;
    std::atomic<std::uint32_t>& state = region.block(peer).doorbell.state;
    // One that was only about to sleep announces it again.
    for (int quiet = 0; quiet < 50; ++quiet) {
      if (state.exchange(Doorbell::kAwake, std::memory_order_acq_rel) != Doorbell::kAwake) quiet = 0;
      ::usleep(2000);
    }
  }
}

Task<> die_ringing(Rank& self) {
  if (self.id() == kVictim) {
    const JobRegion& region = self.core().region();
    for (std::uint32_t peer = 0; peer < self.size(); ++peer)
      while (peer != kVictim && region.block(peer).doorbell.state.load() == Doorbell::kAwake) ::usleep(1000);
    ring_in_vain(self);
    ::raise(SIGKILL);
  }
  co_await self.more_lost(0);
}

Task<> read_for_ever(Rank& self, int fd) {
  co_await self.loop().io().wait_readable(fd);
}

/// The loop sleeps in its I/O while a descriptor is waited for.
Task<> die_ringing_readers(Rank& self) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) std::abort();
  self.service().spawn(read_for_ever(self, ends[0]));
  co_await die_ringing(self);
}

// --- write ---

void reserve_in_vain(Rank& self) {
  const JobRegion& region = self.core().region();
  const auto inbox = [&](std::uint32_t rank) { return reinterpret_cast<direct::Inbox*>(region.inbox(rank)); };
  const bool request = where == "write";
  direct::Ring& ring = request ? inbox(0)->requests : inbox(0)->replies;
  ring.reserve(3, &inbox(kVictim)->writing, request ? direct::number_of_requests(0) : direct::number_of_replies(0));
  ::raise(SIGKILL);
}

int add_one(Rank&, int number) {
  return number + 1;
}

Task<> die_writing(Rank& self) {
  if (self.id() == kVictim) reserve_in_vain(self);
  co_await self.more_lost(0);
  // Whoever has got a place behind the dead one's is to be heard, as are the answers.
  for (int round = 0; round < 3000; ++round)
    if (co_await self.call(self.id() == 0 ? 2 : 0, add_one, round) != round + 1) std::abort();
}

// --- arrive ---

/// The first to come, of whom nobody gets to know who he is.
Task<> arrive_and_die(Rank& self) {
  const std::uint64_t number = self.world().node_area().take_number();
  const std::uint64_t first = number << NodeAreaPart::kStepBits;
  auto& part = *reinterpret_cast<NodeAreaPart*>(self.core().region().node_area(0));
  auto& arrivals = part.controls[number % NodeAreaPart::kRounds].arrivals;
  arrivals.store(first + 1);
  for (std::uint32_t peer = 0; peer < self.size(); ++peer)
    if (peer != kVictim) co_await self.world().send_value(1, peer);
  while (arrivals.load() < first + self.size() - 1) ::usleep(1000);
  ::usleep(50'000);
  ::raise(SIGKILL);
}

Task<> die_arriving(Rank& self) {
  const auto slab = self.allocate<double>(1 << 20);
  co_await self.world().barrier();
  if (self.id() == kVictim) co_await arrive_and_die(self);
  co_await self.world().recv_value<int>(kVictim);
  BroadcastChoice one_after_the_other;
  one_after_the_other.fan_out = 1;
  co_await self.world().broadcast(slab.local(), 0, one_after_the_other);
}

// --- help ---

Task<> send_long(Rank& self, std::span<const std::byte> data) {
  co_await self.world().send(data, 0);
}

/// Takes a chunk of whatever rank 0 is copying. False: it copies nothing.
bool claim_by_hand(Rank& self) {
  for (CopyClaims& claims : self.core().region().block(0).copies)
    if (claims.claim_last(claims.number())) return true;
  return false;
}

/// Of two ranks. Where they have no core each, nobody helps, and this one dies after a while.
Task<> die_helping(Rank& self) {
  std::vector<std::byte> data(std::size_t{64} << 20);
  if (self.id() != kVictim) {
    co_await self.world().barrier();
    co_await self.world().recv(data, kVictim);
    co_await self.more_lost(0);
    co_return;
  }
  co_await self.world().barrier();
  ::usleep(100'000);  // until rank 0 receives
  self.service().spawn(send_long(self, data));
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  bool has_claimed = false;
  while (!has_claimed && std::chrono::steady_clock::now() < give_up) {
    has_claimed = claim_by_hand(self);
    if (!has_claimed) co_await yield();
  }
  if (has_claimed) std::fputs("has taken a chunk\n", stderr);
  ::raise(SIGKILL);
}

// --- reduce, ... ---

/// In a place of its own, since operations are copied.
std::uint64_t combined = 0;

struct DeadlySum {
  bool dies;
  std::uint64_t operator()(std::uint64_t left, std::uint64_t right) const {
    constexpr std::uint64_t kLast = 30'000;
    if (dies && ++combined == kLast) ::raise(SIGKILL);
    return left + right;
  }
};

Task<> die_combining(Rank& self) {
  const DeadlySum sum{self.id() == kVictim};
  std::vector<std::uint64_t> values(200'000, 1);
  std::vector<std::uint64_t> mine(values.size() / self.size());
  const auto pair = co_await self.world().split(self.id() / 2, self.id());
  if (where == "reduce") co_await self.world().reduce(std::span(values), sum, 0);
  if (where == "reduce of two") co_await pair->reduce(std::span(values), sum, 1);
  if (where == "reduce_scatter") co_await self.world().reduce_scatter(values, std::span(mine), sum);
  if (where == "scan") co_await self.world().scan(std::span(values), sum);
  if (where == "exclusive_scan") co_await self.world().exclusive_scan(std::span(values), sum, std::uint64_t{0});
  // Some may have had all that they need.
  co_await self.more_lost(0);
}

Task<> app(Rank& self) {
  try {
    if (where == "ring") co_await die_ringing(self);
    if (where == "ring io") co_await die_ringing_readers(self);
    if (where == "write" || where == "answer") co_await die_writing(self);
    if (where == "arrive") co_await die_arriving(self);
    if (where == "help") co_await die_helping(self);
    if (where.starts_with("reduce") || where.ends_with("scan")) co_await die_combining(self);
  } catch (const Error& error) {
    if (error.code() != Errc::peer_lost) throw;
  }
  std::printf("rank %u goes on\n", self.id());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  where = argv[1];
  return run(argc, argv, app);
}
