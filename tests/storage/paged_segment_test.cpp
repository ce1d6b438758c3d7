// Paged segments in jobs of one rank, and simulated ones: what they hold, and what goes wrong with them.
#include "storage/paged_segment.hpp"

#include <doctest/doctest.h>

#include "tests/lone_rank.hpp"

using namespace coracle;

TEST_CASE("pages are found and forgotten") {}
