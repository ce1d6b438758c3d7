// The MpiError that a call throws, for checks of its class and text.
#pragma once

#include <string>
#include <utility>

#include "interfaces/mpi/core/error.hpp"

namespace coracle::mpi::tests {

struct Caught {
  int code = 0;
  std::string text;
  /// Whether it is of the class, and its text has `part` in it.
  bool is(ErrorClass of, const std::string& part) const {
    return code == static_cast<int>(of) && text.find(part) != std::string::npos;
  }
};

/// Of no error, all is empty.
template <class Call>
Caught error_of(Call&& call) {
  try {
    std::forward<Call>(call)();
  } catch (const MpiError& error) {
    return {error.code(), error.what()};
  }
  return {};
}

/// Its class alone; success if none.
template <class Call>
ErrorClass class_of(Call&& call) {
  return static_cast<ErrorClass>(error_of(std::forward<Call>(call)).code);
}

}  // namespace coracle::mpi::tests
