// A program whose rank 0 says whether ranks that share no address space read each other's memory by the kernel.
#include <coracle/coracle.hpp>
#include <cstdio>

using namespace coracle;

namespace {

Task<> app(Rank& self) {
  if (self.id() == 0) std::puts(self.core().region().header().kernel_copies ? "by the kernel" : "not by the kernel");
  co_return;
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, app);
}
