// Copies by the kernel, here from this process itself: random layouts, and far more runs than one call takes.
#include "runtime/messages/direct_copies.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "tests/layout/area.hpp"

namespace process_copy_test {

using namespace coracle;
using namespace coracle::internals;
using coracle::internals::test::Area;
using coracle::internals::test::Dice;

namespace {

bool is_refused(const std::error_code& error) {
  return error == std::errc::operation_not_permitted || error == std::errc::function_not_supported;
}

}  // namespace

TEST_CASE("process copy: random layouts are copied into other random layouts, and nothing else is touched") {
  const std::uint64_t seed = test::chosen_seed();
  std::printf("copies by the kernel: CORACLE_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  Dice dice(seed);
  int copied = 0;
  for (int round = 0; round < 500; ++round) {
    Area source(dice, test::random_layout(dice, 4), true);
    Area target(dice, test::random_layout(dice, 4), false);
    const std::uint64_t bytes = std::min(source.bytes(), target.bytes());
    if (bytes == 0 || target.all.overlaps()) continue;
    INFO("seed ", seed, " round ", round, ": ", source.what.layout.describe(), " -> ", target.what.layout.describe());
    std::vector<std::byte> expected = target.memory;
    std::swap(expected, target.memory);
    for (std::uint64_t i = 0; i < bytes; ++i) target.at(i) = source.at(i);
    std::swap(expected, target.memory);
    const std::error_code error =
        copy_from_process(::getpid(), MessageTarget(target.target()), MessageSource(source.source()), bytes);
    if (is_refused(error)) return;  // this kernel lets no process read another
    REQUIRE_MESSAGE(!error, error.message());
    REQUIRE(target.memory == expected);
    ++copied;
  }
  CHECK(copied > 50);
}

TEST_CASE("process copy: memory that is not there is an error") {
  std::vector<std::byte> target(100);
  const MessageSource nowhere(std::span(reinterpret_cast<const std::byte*>(8), target.size()));
  const std::error_code error =
      copy_from_process(::getpid(), MessageTarget(std::span<std::byte>(target)), nowhere, target.size());
  CHECK((error.value() == EFAULT || is_refused(error)));
}

}  // namespace process_copy_test
