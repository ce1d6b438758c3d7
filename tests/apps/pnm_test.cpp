// Pictures: every format is read to the sample, and whatever is wrong is told with file, place and remedy.
#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "apps/fft2d/pnm.hpp"
#include "runtime/core/error.hpp"
#include "tests/apps/pnm_seeds.hpp"
#include "tests/apps/temporary_folder.hpp"

namespace coracle::fft2d::pnm_test {

using namespace internals;

namespace {

using Samples = std::vector<std::uint16_t>;
using namespace std::string_view_literals;

Picture seed(std::size_t number) {
  return parse_pnm("seed", test::kPnmSeeds[number].bytes);
}

}  // namespace

TEST_CASE("pictures: plain and binary ones, grey and colour, of 8 and 16 bits are read to the sample") {
  CHECK(seed(0).samples == Samples{0, 1, 2, 13, 14, 15});
  CHECK(seed(0).white == 15);
  CHECK(seed(0).width == 3);
  CHECK(seed(0).height == 2);
  CHECK(seed(1).samples == Samples{0, 1, 2, 65535, 300, 7});
  CHECK(seed(1).channels == 3);
  CHECK(seed(2).samples == Samples{0, 128, 255, 1, 2, 3});
  CHECK(seed(3).samples == Samples{1, 1000});
  CHECK(seed(4).samples == Samples{1, 2, 3, 253, 254, 255});
  CHECK(seed(4).height == 2);
  CHECK(seed(5).samples == Samples{0x102, 0x304, 0xffff});
}

TEST_CASE("pictures: what is written is read back") {
  const apps_test::TemporaryFolder folder;
  for (std::size_t i = 0; i < std::size(test::kPnmSeeds); ++i) {
    const Picture picture = seed(i);
    write_pnm(folder.file("copy.pnm"), picture);
    const Picture copy = read_pnm(folder.file("copy.pnm"));
    CHECK(copy.samples == picture.samples);
    CHECK(copy.width == picture.width);
    CHECK(copy.channels == picture.channels);
    CHECK(copy.white == picture.white);
  }
}

TEST_CASE("pictures: a mistake is told with its place and how to mend it") {
  const auto check = [](std::string_view bytes, const char* text) {
    CHECK_THROWS_WITH_AS(parse_pnm("in.pnm", bytes), text, Error);
  };
  check("P4\n8 1\n\xff"sv,
        "in.pnm, byte 0: the picture is a bitmap of black and white; make a PGM of it: pbmtopgm 1 1 IN > OUT");
  check("\x89PNG"sv,
        "in.pnm, byte 0: the picture begins with none of P2, P3, P5, P6; give a PGM or PPM; tools such as pngtopnm or "
        "ImageMagick's convert make them");
  check("P5 12x 4 255\n"sv,
        "in.pnm, byte 3: the width is no whole number from 1 to 32768; write it with digits, or save the picture anew");
  check("P5 3"sv, "in.pnm, byte 4: the file ends before its height; get the whole file again");
  check(
      "P5 1 1 70000 \x01"sv,
      "in.pnm, byte 7: the largest value is no whole number from 1 to 65535; write it with digits, or save the picture "
      "anew");
  check("P5 2 2 255\n\x01\x02\x03"sv,
        "in.pnm, byte 11: 3 bytes are left for 4 samples of 1 bytes; get the whole file again, or correct width and "
        "height");
  check("P5 2 1 9\n\x01\x0a"sv,
        "in.pnm, byte 10: a sample is 10, above the largest, 9; correct the largest value in the header");
  check("P2 2 1 9 1 10"sv,
        "in.pnm, byte 11: the sample is no whole number from 0 to 9; write it with digits, or save the picture anew");
  check("P2 32768 32768 9 1 1"sv,
        "in.pnm, byte 16: 4 bytes are left for 1073741824 samples; get the whole file again, or correct width and "
        "height");
  check("P5 1 1 9 \x01P5"sv,
        "in.pnm, byte 10: 2 bytes follow the picture; give one picture a file, or correct width and height");
  CHECK_THROWS_WITH_AS(read_pnm("/nonexistent.pgm"),
                       "/nonexistent.pgm: No such file or directory; give the path of a readable PGM or PPM", Error);
}

namespace {

constexpr std::string_view kTokens[] = {
    "P5", "P2", "#", "\n", " ", "0", "99999999999999999999", "65536", "-1", "32768 32768 65535\n"};

void mutate_once(std::string& bytes, std::mt19937_64& random) {
  const std::size_t place = random() % (bytes.size() + 1);
  const std::string_view token = kTokens[random() % std::size(kTokens)];
  switch (random() % 6) {
    case 0:
      bytes.resize(place);
      break;
    case 1:
      bytes.insert(place, token);
      break;
    case 2:
      bytes.insert(place, 1, static_cast<char>(random()));
      break;
    case 3:
      bytes.erase(place, 1 + random() % 5);
      break;
    case 4:
      if (place < bytes.size()) bytes[place] = static_cast<char>(random());
      break;
    default:
      bytes.replace(place, std::min<std::size_t>(bytes.size() - place, random() % 4), token);
  }
}

/// True when the reader behaves.
bool reads_or_complains(const std::string& bytes) {
  try {
    const Picture picture = parse_pnm("in.pnm", bytes);
    // What it has read is a picture, which it reads again the same.
    return picture.samples.size() == picture.width * picture.height * picture.channels &&
           parse_pnm("again", to_pnm(picture)).samples == picture.samples;
  } catch (const Error& error) {
    const std::string_view what = error.what();
    return error.code() == Errc::bad_input && what.starts_with("in.pnm, byte ") && what.find("; ") != what.npos;
  }
}

}  // namespace

TEST_CASE("pictures: thousands of mutated ones and every prefix are read or refused") {
  for (const test::PnmSeed& seed : test::kPnmSeeds) {
    for (std::size_t size = 0; size < seed.bytes.size(); ++size) {
      INFO(seed.name, " to byte ", size);
      CHECK(reads_or_complains(std::string(seed.bytes.substr(0, size))));
    }
    for (std::uint64_t round = 1; round <= 5000; ++round) {
      std::mt19937_64 random(round);
      std::string bytes(seed.bytes);
      for (std::uint64_t i = 0, count = 1 + random() % 5; i < count; ++i) mutate_once(bytes, random);
      if (!reads_or_complains(bytes)) FAIL_CHECK("seed " << round << " of " << seed.name << ":\n" << bytes);
    }
  }
}

}  // namespace coracle::fft2d::pnm_test
