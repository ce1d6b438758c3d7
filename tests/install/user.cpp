// A program outside the tree, as a user would begin one: ranks give their right neighbour their number.
#include <coracle/coracle.hpp>
#include <cstdint>

coracle::Task<> app(coracle::Rank& self) {
  auto slot = self.allocate<std::uint32_t>(1);
  auto slots = co_await self.world().gather_all(slot.remote());
  co_await self.put_value(self.id(), slots[(self.id() + 1) % self.size()]);
  co_await self.world().barrier();
  const std::uint32_t left = (self.id() + self.size() - 1) % self.size();
  CORACLE_ASSERT(slot[0] == left, "rank {} holds {}, not {}", self.id(), slot[0], left);
}

int main(int argc, char** argv) {
  return coracle::run(argc, argv, app);
}
