// The first program: every rank says where it is and writes its number into its right neighbour's memory.
#include <fmt/core.h>
#include <coracle/coracle.hpp>

using coracle::Rank;
using coracle::Task;

Task<> hello(Rank& self) {
  // Memory that peers may reach. Each rank tells its left neighbour where its own is. (gather_all tells everybody
  // everything; here that would be as much memory again for every rank there is.)
  auto greeting = self.allocate<std::uint32_t>(1);
  const std::uint32_t right = (self.id() + 1) % self.size();
  const std::uint32_t left = (self.id() + self.size() - 1) % self.size();
  co_await self.world().send_value(greeting.remote(), left);
  const auto there = co_await self.world().recv_value<coracle::Remote<std::uint32_t>>(right);

  co_await self.put_value(self.id(), there);
  co_await self.world().barrier();  // now all greetings have come

  fmt::print("rank {} of {} on node {} of {} ({}): greeted by rank {}\n", self.id(), self.size(), self.node(),
             self.nodes(), to_string(self.placement()), greeting[0]);
}

int main(int argc, char** argv) {
  return coracle::run(argc, argv, hello);
}
