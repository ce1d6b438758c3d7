// A program that ends at once everywhere, while rank 1 still computes for rank 2 and lets its own part in the last
// barrier wait: for 18 nodes, of which rank 1's is an inner one of the barrier's tree.
#include <unistd.h>

#include <chrono>
#include <coracle/coracle.hpp>

using namespace coracle;
using namespace std::chrono_literals;

namespace {

Task<> compute(Rank&) {
  co_await sleep_for(900ms);
  ::usleep(2'500'000);  // the loop does not turn
}

Task<> app(Rank& self) {
  if (self.id() == 2) co_await self.tell(1, compute);
  if (self.id() == 0) co_await sleep_for(1000ms);
  if (self.id() == 16)
    co_await sleep_for(700ms);  // a child of rank 1, whose neighbour has ended when it begins to wait
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, app);
}
