// The only source that is compiled with paths of this machine: other objects are the same for every clone, and a
// compiler's cache knows them.
#include "tests/places.hpp"

namespace coracle::internals::test {

std::string in_source(std::string_view path) {
  return std::string(CORACLE_SOURCE "/").append(path);
}

std::string in_build(std::string_view path) {
  return std::string(CORACLE_BUILD "/").append(path);
}

}  // namespace coracle::internals::test
