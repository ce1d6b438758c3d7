// The cost model: its formulas where the result is known by hand, and what it chooses.
#include "collectives/choice/model.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "collectives/choice/tuning.hpp"

namespace model_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

using enum BroadcastMethod;

/// 10 us, 1 us of overhead, 1 byte per ns between nodes; free inside, but for the copies.
Costs simple_costs() {
  Costs costs;
  costs.inside = {0, 0, 10, 1};
  costs.between = {9'000, 1'000, 500, 1};
  costs.arrival_spread_ns = 0;
  return costs;
}

constexpr double kHello = 10'000;  // a message of no bytes

}  // namespace

TEST_CASE("model: one member needs no time, and one node no network") {
  const CostModel model(simple_costs());
  CHECK(model.broadcast_ns({plain, BroadcastTree::binomial, 8192, 4, 1}, 1000, {1, 1}) == 0);
  CHECK(model.broadcast_ns({plain, BroadcastTree::binomial, 8192, 4, 1}, 10'000, {1, 2}) == doctest::Approx(1'000));
}

TEST_CASE("model: a plain broadcast pays each step with the whole message, and for those beside it") {
  const CostModel model(simple_costs());
  const BroadcastChoice choice{plain, BroadcastTree::binomial, 8192, 4, 1};
  CHECK(model.broadcast_ns(choice, 50'000, {2, 1}) == doctest::Approx(kHello + 60'000));
  CHECK(model.broadcast_ns(choice, 50'000, {16, 1}) == doctest::Approx(kHello + 4 * 10'000 + 7 * 50'000));
  CHECK(model.broadcast_ns(choice, 50'000, {16, 2}) == doctest::Approx(kHello + 4 * 10'000 + 7 * 50'000 + 5'000));
}

TEST_CASE("model: a pipeline pays each step with one piece, and the rest through the root's port") {
  const CostModel model(simple_costs());
  const BroadcastChoice choice{pipelined, BroadcastTree::binomial, 10'000, 8, 1};
  CHECK(model.broadcast_ns(choice, 100'000, {16, 1}) ==
        doctest::Approx(kHello + 4 * 10'000 + 7 * 10'000 + 9 * 4 * (1'000 + 10'000)));
  // One piece at a time on its way to a node: it must be answered before the next one leaves.
  const BroadcastChoice narrow{pipelined, BroadcastTree::binomial, 10'000, 1, 1};
  CHECK(model.broadcast_ns(narrow, 100'000, {2, 1}) == doctest::Approx(kHello + 20'000 + 9 * (20'000 + 9'000)));
}

TEST_CASE("model: scatter and gather move each byte about twice, whatever the number of nodes") {
  const CostModel model(simple_costs());
  constexpr std::size_t kBytes = 64'000'000;
  for (const std::uint32_t nodes : {16U, 64U}) {
    const double least = 2.0 * kBytes * (nodes - 1) / nodes;
    for (const BroadcastTree tree : {BroadcastTree::recursive_doubling, BroadcastTree::ring}) {
      const double ns = model.broadcast_ns({pipelined, tree, 1 << 20, 8, 1}, kBytes, {nodes, 1});
      CHECK(ns > least);
      CHECK(ns < 1.2 * least);
    }
  }
}

TEST_CASE("model: readers of one buffer share its bandwidth beyond their number") {
  Costs costs = simple_costs();
  costs.inside = {0, 0, 10, 2};
  const CostModel model(costs);
  const auto ns = [&model](std::uint32_t fan_out) {
    return model.broadcast_ns({plain, BroadcastTree::binomial, 8192, 4, fan_out}, 10'000, {1, 9});
  };
  CHECK(ns(8) == doctest::Approx(4 * 1'000));
  CHECK(ns(2) == doctest::Approx(3 * 1'000));  // 1 + 2 + 4 + 8 members: three levels
  CHECK(ns(1) == doctest::Approx(8 * 1'000));
}

TEST_CASE("model: late leaders cost a sixth of the spread per step, and the first of n much less") {
  Costs costs = simple_costs();
  costs.between.overhead_ns = 0;
  const CostModel even(costs);
  costs.arrival_spread_ns = 600'000;
  const CostModel uneven(costs);
  for (const std::uint32_t local_size : {1U, 4U, 8U}) {
    const auto late = [&](BroadcastMethod method) {
      const BroadcastChoice choice{method, BroadcastTree::binomial, 8192, 4, 1};
      return uneven.broadcast_ns(choice, 1000, {16, local_size}) - even.broadcast_ns(choice, 1000, {16, local_size});
    };
    CHECK(late(pipelined) == doctest::Approx(4 * 100'000));
    CHECK(late(competitive) == doctest::Approx(4 * 600'000.0 * local_size / ((local_size + 1) * (2 * local_size + 1))));
  }
}

TEST_CASE("model: what is chosen is the best of the candidates, and complete") {
  const CostModel model(Costs{});
  for (const TeamShape shape :
       {TeamShape{1, 2}, TeamShape{1, 16}, TeamShape{2, 1}, TeamShape{16, 8}, TeamShape{10, 4}, TeamShape{1024, 64}}) {
    for (std::size_t bytes = 0; bytes <= 64 << 20; bytes = bytes * 8 + 1) {
      CAPTURE(shape.nodes);
      CAPTURE(shape.local_size);
      CAPTURE(bytes);
      const BroadcastChoice best = model.choose_broadcast(bytes, shape);
      CHECK(best.method != automatic);
      CHECK(best.tree != BroadcastTree::automatic);
      CHECK(best.chunk_bytes > 0);
      CHECK(best.depth > 0);
      CHECK(best.fan_out > 0);
      const double ns = model.broadcast_ns(best, bytes, shape);
      for (const BroadcastChoice& candidate : model.broadcast_candidates(bytes, shape))
        CHECK_MESSAGE(model.broadcast_ns(candidate, bytes, shape) >= 0.98 * ns, to_words(candidate));
    }
  }
}

TEST_CASE("model: short messages go down a tree, long ones around") {
  const CostModel model(Costs{});
  CHECK(model.choose_broadcast(64, {16, 8}).tree == BroadcastTree::binomial);
  CHECK(model.choose_broadcast(64 << 20, {10, 8}).tree == BroadcastTree::ring);
  CHECK(model.choose_broadcast(64 << 20, {16, 8}).tree != BroadcastTree::binomial);
}

TEST_CASE("model: a choice is kept, but recursive doubling needs a power of two of nodes") {
  const CostModel model(Costs{});
  const BroadcastChoice asked{plain, BroadcastTree::recursive_doubling, 12'345, 3, 2};
  CHECK(model.choose_broadcast(1 << 20, {8, 4}, asked) == asked);
  CHECK(model.choose_broadcast(1 << 20, {9, 4}, asked).tree == BroadcastTree::ring);
  CHECK(model.choose_broadcast(1 << 20, {1, 4}, asked).method == plain);
}

TEST_CASE("model: the other collectives have few steps for short vectors and little traffic for long ones") {
  const CostModel model(Costs{});
  for (const std::uint32_t participants : {2U, 3U, 16U, 100U}) {
    CAPTURE(participants);
    const auto choice = [&model, participants](Collective collective, std::size_t bytes) {
      return model.choose(collective, {bytes, participants});
    };
    CHECK(choice(Collective::all_reduce, 8) == Algorithm::doubling);
    CHECK(choice(Collective::reduce, 8) == Algorithm::binomial);
    CHECK(choice(Collective::gather_all, 8) == Algorithm::bruck);
    CHECK(choice(Collective::gather, 64 << 20) == Algorithm::linear);
    CHECK(choice(Collective::scatter, 64 << 20) == Algorithm::linear);
    CHECK(choice(Collective::reduce_scatter, 64 << 20) == Algorithm::pairwise);
    CHECK(choice(Collective::all_to_all, 64 << 20) == Algorithm::pairwise);
    if (participants == 2) continue;
    CHECK(choice(Collective::all_reduce, 64 << 20) != Algorithm::doubling);
    CHECK(choice(Collective::reduce, 64 << 20) == Algorithm::halving);
  }
  CHECK(model.choose(Collective::all_to_all, {8, 100}) == Algorithm::bruck);
  CHECK(model.choose(Collective::reduce_scatter, {8, 100}) == Algorithm::doubling);
  CHECK(model.choose(Collective::reduce_scatter, {8, 2}) == Algorithm::pairwise);
  CHECK(model.choose(Collective::scatter, {8, 100}) == Algorithm::binomial);
}

TEST_CASE("model: the times of the other collectives are those of their messages, one after the other") {
  // 10 us for a message without data; above 8 KiB three to receive and four to exchange. 10 bytes per ns are copied, 5
  // combined.
  const CostModel model(simple_costs());
  const auto ns = [&model](Collective collective, Algorithm algorithm, std::size_t bytes, std::uint32_t participants) {
    return model.collective_ns(collective, algorithm, {bytes, participants});
  };
  CHECK(ns(Collective::all_reduce, Algorithm::doubling, 1'000, 1) == 0);
  CHECK(ns(Collective::all_reduce, Algorithm::doubling, 1'000, 8) == doctest::Approx(3 * (10'000 + 1'000 + 200)));
  // Folded at first, and unfolded at last.
  CHECK(ns(Collective::all_reduce, Algorithm::doubling, 1'000, 15) == doctest::Approx(5 * 11'000 + 4 * 200));
  CHECK(ns(Collective::all_reduce, Algorithm::halving, 80'000, 2) == doctest::Approx(2 * (40'000 + 40'000) + 8'000));
  CHECK(ns(Collective::reduce, Algorithm::binomial, 20'000, 5) == doctest::Approx(3 * (30'000 + 20'000 + 4'000)));
  CHECK(ns(Collective::reduce, Algorithm::binomial, 1'000, 5) == doctest::Approx(2 * 10'000 + 3 * (1'000 + 200)));
  CHECK(ns(Collective::gather, Algorithm::linear, 1'000, 5) == doctest::Approx(11'000 + 3 * 2'000));
  CHECK(ns(Collective::gather, Algorithm::binomial, 1'000, 4) == doctest::Approx(2 * 400 + 11'000 + 12'000));
  CHECK(ns(Collective::all_to_all, Algorithm::pairwise, 1'000, 6) == doctest::Approx(2 * 10'000 + 5 * 2'000));
  // In the steps of distance 1 and 2, of three places one block goes on.
  CHECK(ns(Collective::all_to_all, Algorithm::bruck, 1'000, 3) == doctest::Approx(600 + 2 * (11'000 + 200)));
  CHECK(ns(Collective::scan, Algorithm::doubling, 1'000, 6) == doctest::Approx(3 * (11'000 + 400)));
}

TEST_CASE("model: members of one node exchange messages at the cost of their node, not of the network") {
  Costs costs = simple_costs();
  const CostModel model(costs);
  costs.between.latency_ns *= 10;
  const CostModel slower(costs);
  const Work work{1'000, 4, true};
  const double ns = model.collective_ns(Collective::all_reduce, Algorithm::doubling, work);
  CHECK(ns > 0);
  CHECK(slower.collective_ns(Collective::all_reduce, Algorithm::doubling, work) == ns);
}

TEST_CASE("model: of the other collectives' algorithms none is predicted to be faster than the chosen one") {
  const CostModel model(Costs{});
  for (std::size_t i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    for (const bool on_one_node : {false, true}) {
      for (std::size_t bytes = 0; bytes <= 64 << 20; bytes = bytes * 8 + 1) {
        const Work work{bytes, 12, on_one_node};
        const double best_ns = model.collective_ns(collective, model.choose(collective, work), work);
        for (const Algorithm algorithm : algorithms_of(collective)) {
          CAPTURE(bytes);
          CHECK_MESSAGE(model.collective_ns(collective, algorithm, work) >= 0.9 * best_ns, name_of(algorithm));
        }
      }
    }
  }
}

}  // namespace model_test
