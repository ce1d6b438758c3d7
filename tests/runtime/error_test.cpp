// Errors carry what, where and against whom.
#include "runtime/core/error.hpp"

#include <doctest/doctest.h>

#include <ostream>

namespace error_test {

using coracle::internals::Errc;
using coracle::internals::Error;

TEST_CASE("error: an operation's message names operation, rank, peer and detail") {
  const Error error = Error::of_operation(Errc::out_of_segment, "put", 2, 5, "offset 4096 of 1024");
  CHECK(error.code() == Errc::out_of_segment);
  CHECK(std::string(error.what()) ==
        "put on rank 2 with rank 5 failed: address outside its segment (offset 4096 of 1024)");
}

}  // namespace error_test
