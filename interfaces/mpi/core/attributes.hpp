// Attributes: what programs attach to communicators, datatypes (and windows), with functions for their copies and ends.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "interfaces/mpi/core/keyvals.hpp"
#include "interfaces/mpi/core/object.hpp"

namespace coracle::mpi {

/// How a value was set: MPI-3.1, 17.2.7 tells what another language gets.
enum class AttributeKind : std::uint8_t { pointer, fortran_integer, fortran_address };

struct AttributeValue {
  void* value = nullptr;
  AttributeKind kind = AttributeKind::pointer;

  /// Of MPI's own: as if set in Fortran, so that C gets a pointer to the number, in here.
  static AttributeValue of_number(int number) noexcept {
    return {reinterpret_cast<void*>(static_cast<std::intptr_t>(number)), AttributeKind::fortran_integer};
  }
};

/// MPI's own attributes of communicators, which all of them have alike. World sets them; MPI_LASTUSEDCODE, MPI_HOST,
/// MPI_IO, MPI_TAG_UB and MPI_WTIME_IS_GLOBAL are there from the start.
void set_predefined_attribute(int keyval, AttributeValue value);

/// Of one object.
class Attributes {
 public:
  explicit Attributes(KeyvalOf of) noexcept : of_(of) {}
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  /// Calls no function: remove_all() comes before.
  ~Attributes();

  // While the delete function of an attribute runs it can be read, but neither set nor removed: that throws MpiError
  // (keyval).

  /// Throws MpiError with the code that the delete function of a former value gave, which then stays, or (keyval).
  void set(Object& object, int keyval, AttributeValue value);
  /// MPI's own, of a window.
  void set_predefined(int keyval, AttributeValue value);
  /// Null where there is none. It lies where it is until it is removed. Throws MpiError (keyval).
  const AttributeValue* get(int keyval) const;
  /// Throws MpiError with the code that the delete function gave, and then it stays; or (keyval) where there is none.
  void remove(Object& object, int keyval);
  /// All of `from`, by their copy functions, in the order of their setting. Throws MpiError with the code that one
  /// gave: those before it are copied, and remove_all() is for whoever gives up the new object.
  void copy_from(Object& from_object, const Attributes& from);
  /// Before the object goes, or at MPI_Finalize for MPI_COMM_SELF: in the reverse order of their setting. Throws
  /// MpiError with the code that a delete function gave: that attribute and those set before it stay.
  void remove_all(Object& object);

 private:
  struct Attribute {
    AttributeValue value;
    std::uint64_t order;     // Of all settings.
    bool is_ending = false;  // Its delete function is being called.
  };
  void check(int keyval) const;
  void check_program_may_set(int keyval) const;
  void end_value(Object& object, int keyval);
  void put(int keyval, AttributeValue value);
  /// Their keyvals, oldest first.
  std::vector<int> keyvals() const;

  KeyvalOf of_;
  std::map<int, Attribute> values_;
  std::uint64_t settings_ = 0;
};

}  // namespace coracle::mpi
