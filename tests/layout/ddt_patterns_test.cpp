// The patterns of DDTBench: as many bytes as the benchmark has, and loops written by hand that do what the layouts do.
#include "apps/bench/ddt/ddt_patterns.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "runtime/layout/layout.hpp"

namespace coracle::internals::ddt_patterns_test {
namespace {

using bench::DdtPattern;

const std::map<std::string, std::vector<std::uint64_t>>& bytes_by_name() {
  const std::vector<std::uint64_t> wrf_x{173712, 102648, 63168};
  const std::vector<std::uint64_t> wrf_y{90804, 75012, 63168, 55272, 43428};
  const std::vector<std::uint64_t> lu{480, 1320, 2560, 4080, 6480, 16320, 40800};
  const std::vector<std::uint64_t> rows{4096, 65536, 262144, 1048576};
  static const std::map<std::string, std::vector<std::uint64_t>> all{
      {"WRF_x_vec", wrf_x},
      {"WRF_x_sa", wrf_x},
      {"WRF_y_vec", wrf_y},
      {"WRF_y_sa", wrf_y},
      {"MILC_su3_zd", {98304, 49152, 24576, 12288}},
      {"NAS_LU_x", lu},
      {"NAS_LU_y", lu},
      {"NAS_MG_x", {2048, 32768, 131072, 524288}},
      {"NAS_MG_y", rows},
      {"NAS_MG_z", rows},
      {"FFT2", {262144, 1048576, 2359296, 4194304, 9437184}},
      {"LAMMPS_full", {195968, 143552, 106368}},
      {"LAMMPS_atomic", {11664, 6960, 5472}},
      {"SPECFEM3D_oc", {12900, 7588, 3508, 1972}},
      {"SPECFEM3D_cm", {177672, 106248, 55224, 26424}},
      {"SPECFEM3D_mt", {91200, 76800, 67200, 74400}},
  };
  return all;
}

std::vector<std::byte> counting(std::size_t bytes) {
  std::vector<std::byte> memory(bytes);
  for (std::size_t i = 0; i < bytes; ++i) memory[i] = static_cast<std::byte>(i * 7 + i / 256);
  return memory;
}

void check(const DdtPattern& pattern) {
  INFO(pattern.name, " ", pattern.size);
  const std::vector<std::byte> source = counting(pattern.send.buffer_bytes);
  std::vector<std::byte> by_hand(pattern.bytes);
  std::vector<std::byte> packed(pattern.bytes);
  pattern.pack_by_hand(source.data(), by_hand.data());
  CHECK(pack({source.data(), pattern.send.layout, pattern.send.count}, 0, packed) == pattern.bytes);
  CHECK(packed == by_hand);
  std::vector<std::byte> expected(pattern.receive.buffer_bytes);
  std::vector<std::byte> target(pattern.receive.buffer_bytes);
  pattern.unpack_by_hand(packed.data(), expected.data());
  const ScatteredTarget all{target.data(), pattern.receive.layout, pattern.receive.count};
  CHECK(unpack(packed, 0, all) == pattern.bytes);
  CHECK(target == expected);
  std::fill(target.begin(), target.end(), std::byte{0});
  copy(all, {source.data(), pattern.send.layout, pattern.send.count}, 0, pattern.bytes);
  CHECK(target == expected);
}

}  // namespace

TEST_CASE("DDTBench: sixteen patterns with the benchmark's sizes") {
  std::map<std::string, std::vector<std::uint64_t>> found;
  for (const DdtPattern& pattern : bench::ddt_patterns()) found[pattern.name].push_back(pattern.bytes);
  CHECK(found.size() == 16);
  CHECK(found == bytes_by_name());
}

TEST_CASE("DDTBench: layouts do what the loops do") {
  constexpr std::size_t kBytesMax = 64 << 20;  // the largest grid has the same shapes as the smaller ones
  int checked = 0;
  for (const DdtPattern& pattern : bench::ddt_patterns()) {
    if (pattern.send.buffer_bytes > kBytesMax) continue;
    check(pattern);
    ++checked;
  }
  CHECK(checked > 60);
}

TEST_CASE("DDTBench: vectors and subarrays of WRF have one form") {
  std::map<std::string, std::vector<Layout>> found;
  for (const DdtPattern& pattern : bench::ddt_patterns()) found[pattern.name].push_back(pattern.send.layout);
  for (const char* direction : {"WRF_x", "WRF_y"}) {
    const auto& by_vectors = found.at(std::string(direction) + "_vec");
    const auto& by_subarrays = found.at(std::string(direction) + "_sa");
    REQUIRE(by_vectors.size() == by_subarrays.size());
    for (std::size_t i = 0; i < by_vectors.size(); ++i)
      CHECK(by_vectors[i].resized(0, 1) == by_subarrays[i].resized(0, 1));
  }
}

}  // namespace coracle::internals::ddt_patterns_test
