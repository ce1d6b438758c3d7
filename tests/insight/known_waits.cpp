// Waits that are known beforehand, for the tests of summaries: `known_waits WHAT`.
//   late TIMES      rank 1 comes last to each of TIMES barriers, and the others wait for it
//   send COUNT BYTES   rank 0 sends rank 2 so many messages of so many bytes
//   receive         rank 0 receives what rank 1 sends only after a while
//   compute         no rank waits for another before the end
#include <chrono>
#include <coracle/coracle.hpp>
#include <cstdlib>
#include <string_view>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;

namespace {

Task<> late(Rank& self, int times) {
  for (int time = 0; time < times; ++time) {
    if (self.id() == 1) co_await self.busy_for(150ms);
    co_await self.world().barrier();
  }
}

Task<> send(Rank& self, int count, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (int each = 0; each < count; ++each) {
    if (self.id() == 0) co_await self.world().send(std::span(data), 2, 7);
    if (self.id() == 2) co_await self.world().recv(std::span(data), 0, 7);
  }
}

Task<> receive(Rank& self) {
  int value = 0;
  if (self.id() == 1) {
    co_await self.world().recv(std::span(&value, 1), 0, 8);
    co_await sleep_for(300ms);
    co_await self.world().send(std::span(&value, 1), 0, 7);
  } else if (self.id() == 0) {
    co_await self.world().send(std::span(&value, 1), 1, 8);
    co_await self.world().recv(std::span(&value, 1), 1, 7);  // the known line
  }
}

Task<> work(Rank& self, std::string_view what, int count, std::size_t bytes) {
  if (what == "late") co_await late(self, count);
  if (what == "send") co_await send(self, count, bytes);
  if (what == "receive") co_await receive(self);
  if (what == "compute") co_await self.busy_for(100ms);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const int count = argc > 2 ? std::atoi(argv[2]) : 1;
  const std::size_t bytes = argc > 3 ? static_cast<std::size_t>(std::atoi(argv[3])) : 1;
  return run(argc, argv, [=](Rank& self) { return work(self, what, count, bytes); });
}
