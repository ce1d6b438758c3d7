// Files that were edited at random, with seals that fit: nothing that a file says may harm the program.
#include <doctest/doctest.h>

#include <random>

#include "tests/sanitized.hpp"
#include "tests/seeds.hpp"
#include "tests/storage/store_input.hpp"
#include "tests/storage/temporary_folder.hpp"

namespace store_input_test {

using namespace coracle;
using namespace coracle::internals;
using coracle::internals::test::StoreImage;

namespace {

/// Mostly places and values that mean something.
std::vector<std::byte> random_input(std::mt19937_64& random) {
  std::vector<std::byte> input{static_cast<std::byte>(random() % 8 != 0)};
  for (std::uint64_t edits = 1 + random() % 4; edits > 0; --edits) {
    const std::uint64_t block = random() % 2 == 0 ? random() % 10 : random() % 32;
    const std::uint64_t word = random() % 4 == 0 ? random() % 1023 : 2 + random() % 24;
    constexpr std::uint64_t kValues[] = {0,    1,     2,          3,          41,    255,      256,
                                         4096, 65536, 1ULL << 31, 1ULL << 40, ~0ULL, ~0ULL - 1};
    std::uint64_t value = kValues[random() % std::size(kValues)];
    if (random() % 4 == 0) value = random();
    for (const std::uint64_t byte : {block, block >> 8, word, word >> 8}) input.push_back(static_cast<std::byte>(byte));
    for (int shift = 0; shift < 64; shift += 8) input.push_back(static_cast<std::byte>(value >> shift));
  }
  return input;
}

}  // namespace

TEST_CASE("store: files that were edited at random never harm who opens or checks them") {
  const test::Seeds seeds("CORACLE_STORE_INPUT_SEEDS", test::kSanitized ? 100 : 500);
  const coracle::internals::test::TemporaryFolder folder;
  EventLoop loop;
  StoreImage::make(loop, folder.file("good"));
  const StoreImage image(folder.file("good"));
  for (const std::uint64_t seed : seeds) {
    INFO(seeds.repeat(seed));
    std::mt19937_64 random(seed);
    const std::vector<std::byte> input = random_input(random);
    coracle::internals::test::take_store_input(loop, image, folder.file("edited"), input);
  }
}

}  // namespace store_input_test
