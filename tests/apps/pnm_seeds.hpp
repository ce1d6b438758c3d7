// A small valid picture of each PNM format: read by the tests, mutated by the fuzz test.
#pragma once

#include <string_view>

namespace coracle::fft2d::test {

using namespace std::string_view_literals;

struct PnmSeed {
  std::string_view name;
  std::string_view bytes;
};

inline constexpr PnmSeed kPnmSeeds[] = {
    {"plain.pgm", "P2\n# grey\n3 2\n15\n0 1 2\n13 14 15\n"sv},
    {"plain.ppm", "P3 2 1 65535\n0 1 2\n65535 300 7"sv},
    {"grey.pgm", "P5\n3 2 # wide and high\n255\n\x00\x80\xff\x01\x02\x03"sv},
    {"deep.pgm", "P5 2 1\n1000\n\x00\x01\x03\xe8"sv},
    {"colour.ppm", "P6\n1 2\n255\n\x01\x02\x03\xfd\xfe\xff"sv},
    {"deep.ppm", "P6\n1 1\n65535\n\x01\x02\x03\x04\xff\xff\n"sv},
};

}  // namespace coracle::fft2d::test
