// Which way a transfer takes over a network.
#include <doctest/doctest.h>

#include "runtime/rank/transfer.hpp"

namespace coracle::internals::scattered::choice_test {

TEST_CASE("scattered transfers: long blocks go by themselves, short ones together; one run always by itself") {
  const TransportTraits slow{15'000, 5, 0, false, 2'000, 2'000};
  const TransportTraits quick{1'500, 10, 0, false, 200, 100};
  const auto blocks_of = [](std::int64_t count, std::int64_t bytes) {
    return Layout::bytes(bytes).vector(count, 1, 2).shape();
  };
  const LayoutShape row = Layout::bytes(1 << 20).shape();
  CHECK(choose_way(slow, row, row) == Way::blocks);
  CHECK(choose_way(slow, Layout::bytes(8).shape(), Layout::bytes(8).shape()) == Way::blocks);
  CHECK(choose_way(slow, row, blocks_of(1 << 10, 1 << 10)) == Way::pieces);
  CHECK(choose_way(quick, row, blocks_of(1 << 10, 1 << 10)) == Way::blocks);
  CHECK(choose_way(slow, blocks_of(1 << 4, 1 << 16), row) == Way::blocks);
  CHECK(choose_way(quick, row, blocks_of(1 << 17, 8)) == Way::pieces);
  CHECK(choose_way(quick, blocks_of(1 << 17, 8), row) == Way::pieces);
}

}  // namespace coracle::internals::scattered::choice_test
