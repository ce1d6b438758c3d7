// Where this tree and its build are, for tests that read files or start programs.
#pragma once

#include <string>
#include <string_view>

namespace coracle::internals::test {

/// "networks/faults.txt" and the like as a path that is right in any working directory.
std::string in_source(std::string_view path);
/// The same of what is built: "apps/coracle".
std::string in_build(std::string_view path);

}  // namespace coracle::internals::test
