// Attributes: what programs attach to communicators, datatypes (and windows), with functions for their copies and ends.
#pragma once

#include <cstdint>
#include <map>

#include "interfaces/mpi/core/object.hpp"

namespace coracle::mpi {

/// What an attribute's functions are called with, by the language that made its keyval: the ABI's business. Both give
/// an error code in the core's numbers. `value_in`/`value_out`: a pointer; of Fortran an integer in its bits.
struct AttributeFunctions {
  using Copy = int (*)(Object& old_object, int keyval, void* extra, void* value_in, void** value_out, bool& copied,
                       void* function);
  using Delete = int (*)(Object& object, int keyval, void* value, void* extra, void* function);
  Copy copy = nullptr;      ///< Null: never copied.
  Delete remove = nullptr;  ///< Null: nothing to do.
  void* copy_function = nullptr;
  void* delete_function = nullptr;
  void* extra = nullptr;
};

enum class KeyvalOf : std::uint8_t { comm, datatype, window };

/// How a value was set: MPI-3.1, 17.2.7 tells what another language gets.
enum class AttributeKind : std::uint8_t { pointer, fortran_integer, fortran_address };

struct AttributeValue {
  void* value = nullptr;
  AttributeKind kind = AttributeKind::pointer;
};

/// Makes a keyval; positive, never used before.
int make_keyval(KeyvalOf of, const AttributeFunctions& functions);
/// Frees it: it goes when no attribute uses it any more. Throws MpiError (keyval) for one that is not, or is
/// predefined.
void free_keyval(KeyvalOf of, int keyval);

/// Of one object.
class Attributes {
 public:
  explicit Attributes(KeyvalOf of) noexcept : of_(of) {}
  /// Throws MpiError with the code that the delete function of a former value gave, or (keyval).
  void set(Object& object, int keyval, AttributeValue value);
  /// Null where there is none. Throws MpiError (keyval).
  const AttributeValue* get(int keyval) const;
  void remove(Object& object, int keyval);
  /// All of `from`, by their copy functions. Throws MpiError with the code that one gave.
  void copy_from(Object& from_object, const Attributes& from);
  /// Before the object goes, or at MPI_Finalize for MPI_COMM_SELF: in the reverse order of their setting.
  void remove_all(Object& object);

 private:
  KeyvalOf of_;
  std::map<int, AttributeValue> values_;
  // ... as needed
};

}  // namespace coracle::mpi
