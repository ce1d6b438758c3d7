// A program whose ranks put into their right neighbours' segments without end, for tests that take a rank or a link
// away: `ceaseless [catch | busy]`. It says "under way" once data flows. With `catch` a lost peer is no error: it is
// named, and the rank ends well. With `busy` rank 1 computes for 3 s meanwhile, and then all end well.
#include <chrono>
#include <coracle/coracle.hpp>
#include <cstdio>
#include <cstring>
#include <vector>

using namespace coracle;
using namespace coracle::internals;

namespace {

bool catches = false;
bool is_busy = false;

void compute() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (std::chrono::steady_clock::now() < end) {
  }
}

Task<> put_until(Rank& self, const bool* stop) {
  const std::size_t bytes = is_busy ? 64 << 20 : 4 << 20;  // the former is more than sockets hold
  const auto slab = self.allocate<std::byte>(bytes);
  const auto places = co_await self.world().gather_all(slab.remote());
  const std::vector<std::byte> data(bytes, static_cast<std::byte>(self.id()));
  const auto target = places[(self.id() + 1) % self.size()];
  for (std::uint64_t round = 0; !*stop; ++round) {
    if (is_busy && round == 8) co_return;
    if (is_busy && round == 4 && self.id() == 1) compute();
    co_await self.put(data, target);
    co_await yield();
    if (round != 3) continue;
    std::printf("rank %u is under way\n", self.id());
    std::fflush(stdout);
  }
}

Task<> put_and_catch(Rank& self, const bool* stop) {
  try {
    co_await put_until(self, stop);
  } catch (const Error& error) {
    if (error.code() != Errc::peer_lost) throw;
    std::printf("rank %u caught: %s\n", self.id(), error.what());
  }
}

Task<> await_loss(Rank& self, bool* stop) {
  co_await self.more_lost(0);
  *stop = true;
  const Loss& loss = self.losses().front();
  std::printf("rank %u goes on without rank %u: %s\n", self.id(), loss.peer, loss.reason.c_str());
  std::fflush(stdout);
}

Task<> app(Rank& self) {
  bool stop = false;
  if (!catches) co_return co_await put_until(self, &stop);
  co_await when_all(put_and_catch(self, &stop), await_loss(self, &stop));
}

}  // namespace

int main(int argc, char** argv) {
  catches = argc > 1 && std::strcmp(argv[1], "catch") == 0;
  is_busy = argc > 1 && std::strcmp(argv[1], "busy") == 0;
  return run(argc, argv, app);
}
