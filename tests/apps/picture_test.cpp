// Pictures are read back: sizes, headers, pixels.
#include "apps/stencil/picture.hpp"

#include <doctest/doctest.h>
#ifdef CORACLE_HAS_PNG
#include <png.h>
#endif

#include <fstream>
#include <iterator>
#include <limits>
#include <ostream>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/apps/temporary_folder.hpp"

namespace coracle::stencil::picture_test {

using namespace internals;

namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::vector<float> kSix = {0.0F, 0.5F, 1.0F, -3.0F, 7.0F, 0.25F};

}  // namespace

TEST_CASE("picture: a PGM holds header and grey values row by row") {
  const apps_test::TemporaryFolder folder;
  const std::string path = folder.file("six.pgm");
  write_picture(path, {kSix, 3, 2});
  const std::string expected = std::string("P5\n3 2\n255\n") + '\x00' + '\x80' + '\xff' + '\x00' + '\xff' + '\x40';
  CHECK(contents(path) == expected);
}

TEST_CASE("picture: colours grow lighter from black to pale yellow") {
  int last = -1;
  for (const Colour& colour : heat_colours()) {
    const int lightness = 299 * colour.red + 587 * colour.green + 114 * colour.blue;
    CHECK(lightness >= last);
    last = lightness;
  }
  CHECK(heat_colours().front().red == 0);
  CHECK(heat_colours().back().red == 252);
}

TEST_CASE("picture: what is no number is drawn as coldest") {
  const Field field = {kSix, 3, 2};
  CHECK(colour_index(field, std::numeric_limits<float>::quiet_NaN()) == 0);
  CHECK(colour_index(field, std::numeric_limits<float>::infinity()) == 255);
}

TEST_CASE("picture: an unknown extension and an impossible folder are named") {
  CHECK_THROWS_WITH_AS(write_picture("heat.bmp", {kSix, 3, 2}),
                       "heat.bmp: a picture's name ends in .png or .pgm; rename it", Error);
  CHECK_THROWS_WITH_AS(write_picture("/nonexistent/heat.pgm", {kSix, 3, 2}),
                       "can't create /nonexistent/heat.pgm (give the path of a file in a folder that exists): "
                       "No such file or directory",
                       Error);
}

TEST_CASE("picture: a full disk is told") {
  CHECK_THROWS_WITH_AS(
      [] {
        const apps_test::TemporaryFolder folder;
        std::filesystem::create_symlink("/dev/full", folder.file("full.pgm"));
        write_picture(folder.file("full.pgm"), {kSix, 3, 2});
      }(),
      doctest::Contains("No space left on device"), Error);
}

#ifdef CORACLE_HAS_PNG
TEST_CASE("picture: a PNG read back has the size and the colours") {
  const apps_test::TemporaryFolder folder;
  const std::string path = folder.file("six.png");
  write_picture(path, {kSix, 3, 2});
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_file(&image, path.c_str()));
  CHECK(image.width == 3);
  CHECK(image.height == 2);
  image.format = PNG_FORMAT_RGB;
  std::vector<png_byte> pixels(PNG_IMAGE_SIZE(image));
  REQUIRE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr));
  for (std::size_t i = 0; i < kSix.size(); ++i) {
    const Colour& expected = heat_colours()[colour_index({kSix, 3, 2}, kSix[i])];
    CHECK(pixels[3 * i] == expected.red);
    CHECK(pixels[3 * i + 1] == expected.green);
    CHECK(pixels[3 * i + 2] == expected.blue);
  }
}
#else
TEST_CASE("picture: a PNG without libpng says how to mend it") {
  CHECK_THROWS_WITH_AS(write_picture("heat.png", {kSix, 3, 2}), doctest::Contains("libpng-dev"), Error);
}
#endif

}  // namespace coracle::stencil::picture_test
