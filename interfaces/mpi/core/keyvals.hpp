// Keyvals: the keys of attributes, which all objects of a kind share.
#pragma once

#include <cstdint>
#include <unordered_map>

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

/// MPI_KEYVAL_INVALID, and the keyvals that MPI has made. Those of the program are above.
inline constexpr int kKeyvalInvalid = 0;
inline constexpr int kTagUpperBound = 501;
inline constexpr int kIo = 502;
inline constexpr int kHost = 503;
inline constexpr int kWtimeIsGlobal = 504;
inline constexpr int kAppNumber = 505;
inline constexpr int kLastUsedCode = 506;
inline constexpr int kUniverseSize = 507;
inline constexpr int kWindowBase = 601;
inline constexpr int kWindowDisplacementUnit = 602;
inline constexpr int kWindowSize = 603;
inline constexpr int kWindowCreateFlavor = 604;
inline constexpr int kWindowModel = 605;

/// Makes a keyval; positive, never used before.
int make_keyval(KeyvalOf of, const AttributeFunctions& functions);
/// Frees it: it goes when no attribute uses it any more. Until then it may be freed again, to no effect: delete
/// functions do so. Throws MpiError (keyval) for one that is not, or is predefined.
void free_keyval(KeyvalOf of, int keyval);

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

/// Keeps a keyval while it lives.
class KeyvalUse {
 public:
  explicit KeyvalUse(int keyval) : keyval_(keyval) { Keyvals::get().take(keyval); }
  KeyvalUse(const KeyvalUse&) = delete;
  KeyvalUse& operator=(const KeyvalUse&) = delete;
  ~KeyvalUse() { Keyvals::get().release(keyval_); }

 private:
  const int keyval_;
};

/// "MPI_TAG_UB"; null for one that is not predefined for such objects.
const char* predefined_keyval_name(KeyvalOf of, int keyval) noexcept;
/// "communicators".
const char* plural_of(KeyvalOf of) noexcept;

}  // namespace coracle::mpi
