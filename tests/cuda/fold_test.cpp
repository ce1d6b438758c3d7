// How chains become copies: runs without any device, on addresses that are never followed.
#include <doctest/doctest.h>

#include <vector>

#include "transports/cuda/table.hpp"

namespace fold_test {

using namespace coracle;
using namespace coracle::internals;
using cuda::Box;
using cuda::fold;
using cuda::Folded;
using tca::Descriptor;

namespace {

constexpr std::size_t kPitchMax = (std::size_t{1} << 31) - 1;

const std::byte* from(std::size_t offset) {
  return reinterpret_cast<const std::byte*>(std::uintptr_t{0x10000000} + offset);
}
std::byte* to(std::size_t offset) {
  return reinterpret_cast<std::byte*>(std::uintptr_t{0x20000000} + offset);
}

}  // namespace

TEST_CASE("fold: what touches on both sides is one copy") {
  const std::vector<Descriptor> chain{{from(0), to(100), 100}, {from(100), to(200), 50}, {from(150), to(250), 200}};
  const Folded folded = fold(chain, kPitchMax);
  REQUIRE(folded.boxes.size() == 1);
  CHECK(folded.boxes[0].width == 350);
  CHECK(folded.boxes[0].contiguous());
  CHECK(folded.independent);
}

TEST_CASE("fold: a stride of the block's length is no stride") {
  const Folded folded = fold(std::vector<Descriptor>{{from(0), to(0), 64, 10, 64, 64}}, kPitchMax);
  REQUIRE(folded.boxes.size() == 1);
  CHECK(folded.boxes[0].contiguous());
  CHECK(folded.boxes[0].width == 640);
}

TEST_CASE("fold: rows at one distance are a plane and planes at one distance a cube") {
  std::vector<Descriptor> chain;
  for (std::size_t slice = 0; slice < 5; ++slice)
    for (std::size_t row = 0; row < 6; ++row)
      chain.push_back({from(slice * 1000 + row * 100), to(slice * 480 + row * 80), 80});
  // The targets touch, but not the sources.
  const Folded folded = fold(chain, kPitchMax);
  REQUIRE(folded.boxes.size() == 1);
  const Box& box = folded.boxes[0];
  CHECK(box.width == 80);
  CHECK(box.rows == 6);
  CHECK(box.slices == 5);
  CHECK(box.source_pitch == 100);
  CHECK(box.target_pitch == 80);
  CHECK(box.source_slice_rows == 10);
  CHECK(box.target_slice_rows == 6);
  CHECK(box.bytes() == 2400);
  CHECK(box.source_reach() == 4 * 1000 + 5 * 100 + 80);
}

TEST_CASE("fold: planes of which one side is not at whole rows stay planes") {
  std::vector<Descriptor> chain;
  for (std::size_t slice = 0; slice < 3; ++slice)
    chain.push_back({from(slice * 1005), to(slice * 1000), 80, 6, 100, 100});
  const Folded folded = fold(chain, kPitchMax);
  CHECK(folded.boxes.size() == 3);
  for (const Box& box : folded.boxes) CHECK(box.rows == 6);
}

TEST_CASE("fold: backwards and overlapping strides and too large ones become rows") {
  CHECK(fold(std::vector<Descriptor>{{from(9000), to(0), 10, 5, -20, 20}}, kPitchMax).boxes.size() == 5);
  CHECK(fold(std::vector<Descriptor>{{from(0), to(0), 10, 5, 0, 20}}, kPitchMax).boxes.size() == 5);
  CHECK(fold(std::vector<Descriptor>{{from(0), to(0), 10, 5, 2000, 20}}, 1999).boxes.size() == 5);
  CHECK(fold(std::vector<Descriptor>{{from(0), to(0), 10, 5, 2000, 20}}, 2000).boxes.size() == 1);
  const Folded over_itself = fold(std::vector<Descriptor>{{from(0), to(0), 10, 5, 20, 4}}, kPitchMax);
  CHECK(over_itself.boxes.size() == 5);
  CHECK_FALSE(over_itself.independent);
}

TEST_CASE("fold: what overlaps keeps its order") {
  std::vector<Descriptor> chain;
  for (std::size_t i = 0; i < 8; ++i) chain.push_back({from(i * 200), to(i * 90), 100});
  const Folded folded = fold(chain, kPitchMax);
  CHECK_FALSE(folded.independent);
  REQUIRE(folded.boxes.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) CHECK(folded.boxes[i].target == to(i * 90));
  // What one writes, another reads.
  CHECK_FALSE(fold(std::vector<Descriptor>{{from(0), to(0), 100}, {to(50), to(500), 100}}, kPitchMax).independent);
  CHECK(fold(std::vector<Descriptor>{{from(0), to(0), 100}, {to(100), to(500), 100}}, kPitchMax).independent);
}

TEST_CASE("fold: a last short descriptor stays by itself") {
  const std::vector<Descriptor> chain{{from(0), to(0), 100}, {from(100), to(100), 100}, {from(200), to(200), 8}};
  const Folded folded = fold(chain, kPitchMax);
  CHECK(folded.flag);
  REQUIRE(folded.boxes.size() == 2);
  CHECK(folded.boxes[0].width == 200);
  CHECK(folded.boxes[1].width == 8);
  CHECK_FALSE(fold(std::vector<Descriptor>{{from(0), to(0), 8}}, kPitchMax).flag);
}

TEST_CASE("fold: a long row of pairs takes time in proportion") {
  // Rows that could begin a plane but do not: the distance on one side is less than the width.
  std::vector<Descriptor> chain;
  for (std::size_t i = 0; i < 200'000; ++i) chain.push_back({from(i * 3), to(i * 100), 10});
  CHECK(fold(chain, kPitchMax).boxes.size() == chain.size());
}

}  // namespace fold_test
