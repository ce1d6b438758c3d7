// Numbers: an array of counts, displacements or addresses that a program hands over, of int or of a wider type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "interfaces/mpi/core/constants.hpp"

namespace coracle::mpi {

/// Refers to the program's array.
class Numbers {
 public:
  Numbers(const int* values) noexcept : narrow_(values) {}  // NOLINT(google-explicit-constructor)
  Numbers(const Count* values) noexcept : wide_(values) {}  // NOLINT(google-explicit-constructor)
  Count operator[](std::size_t index) const noexcept {
    return narrow_ != nullptr ? Count{narrow_[index]} : wide_[index];
  }
  bool is_null() const noexcept { return narrow_ == nullptr && wide_ == nullptr; }
  /// Whether this is the array that begins at `values`.
  bool is_at(const int* values) const noexcept { return narrow_ == values; }
  std::vector<Count> list(std::size_t count) const {
    std::vector<Count> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = (*this)[i];
    return all;
  }

 private:
  const int* narrow_ = nullptr;
  const Count* wide_ = nullptr;
};

}  // namespace coracle::mpi
