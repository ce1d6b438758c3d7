// Traffic on a paged segment, for `coracle run` in every placement: paged-traffic FOLDER SEED [WORDS...]
#include <fmt/core.h>

#include <cstdlib>
#include <exception>
#include <string>

#include "tests/sanitized.hpp"
#include "tests/storage/paged_traffic.hpp"

using namespace coracle;
using namespace coracle::internals;

namespace {

struct Arguments {
  std::string folder;
  std::uint64_t seed;
};

Task<> traffic_of_all_kinds(Rank& self, Arguments arguments) {
  using storage::EvictionKind;
  coracle::internals::test::PagedTraffic traffic;
  traffic.seed = arguments.seed;
  for (const bool per_rank : {false, true}) {
    for (const HomeSpread spread : {HomeSpread::cyclic, HomeSpread::block, HomeSpread::one}) {
      traffic.options = PagedOptions();
      traffic.options.path = arguments.folder + "/traffic";
      traffic.options.bytes = 21 * 4096 + 8 * 5;
      traffic.options.page_bytes = 4096;
      traffic.options.cache_bytes = 6 * 4096;
      traffic.options.cache_per_rank = per_rank;
      traffic.options.spread = spread;
      traffic.options.cooperative = spread != HomeSpread::block || !per_rank;
      traffic.options.eviction = per_rank ? EvictionKind::arc : EvictionKind::lru;
      traffic.options.chances = per_rank ? 2 : 1;
      traffic.options.replace = true;
      traffic.reopen = spread == HomeSpread::cyclic;
      traffic.durably = spread == HomeSpread::one;
      traffic.races = per_rank || !test::kSanitized;
      ++traffic.seed;
      co_await coracle::internals::test::run_paged_traffic(self, traffic);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: paged-traffic FOLDER SEED\n");
    return 2;
  }
  const Arguments arguments{argv[1], std::strtoull(argv[2], nullptr, 10)};
  return coracle::run(argc, argv, [arguments](Rank& self) { return traffic_of_all_kinds(self, arguments); });
}
