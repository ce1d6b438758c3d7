// Keyvals: the keys of attributes, which all objects of a kind share.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "interfaces/mpi/core/attributes.hpp"

namespace coracle::mpi {

struct Keyval {
  KeyvalOf of;
  AttributeFunctions functions;
  std::uint32_t uses = 1;  ///< The program's, until it frees it, and one for each attribute.
  bool freed = false;
};

/// Of this process.
class Keyvals {
 public:
  static Keyvals& get();

  int add(KeyvalOf of, const AttributeFunctions& functions);
  /// Throws MpiError (keyval).
  Keyval& find(KeyvalOf of, int keyval);
  void take(int keyval);
  void release(int keyval) noexcept;

 private:
  static constexpr int kFirst = 1024;
  std::unordered_map<int, Keyval> keyvals_;
  int next_ = kFirst;
};

/// "MPI_TAG_UB"; null for one that is not predefined for such objects.
const char* predefined_keyval_name(KeyvalOf of, int keyval) noexcept;
/// "communicators".
const char* plural_of(KeyvalOf of) noexcept;

}  // namespace coracle::mpi
