#include "interfaces/mpi/core/keyvals.hpp"

#include "interfaces/mpi/core/error.hpp"

namespace coracle::mpi {

namespace {

struct KeyvalName {
  KeyvalOf of;
  int keyval;
  const char* name;
};
constexpr KeyvalName kKeyvalNames[] = {
    {KeyvalOf::comm, kTagUpperBound, "MPI_TAG_UB"},
    {KeyvalOf::comm, kIo, "MPI_IO"},
    {KeyvalOf::comm, kHost, "MPI_HOST"},
    {KeyvalOf::comm, kWtimeIsGlobal, "MPI_WTIME_IS_GLOBAL"},
    {KeyvalOf::comm, kAppNumber, "MPI_APPNUM"},
    {KeyvalOf::comm, kLastUsedCode, "MPI_LASTUSEDCODE"},
    {KeyvalOf::comm, kUniverseSize, "MPI_UNIVERSE_SIZE"},
    {KeyvalOf::window, kWindowBase, "MPI_WIN_BASE"},
    {KeyvalOf::window, kWindowDisplacementUnit, "MPI_WIN_DISP_UNIT"},
    {KeyvalOf::window, kWindowSize, "MPI_WIN_SIZE"},
    {KeyvalOf::window, kWindowCreateFlavor, "MPI_WIN_CREATE_FLAVOR"},
    {KeyvalOf::window, kWindowModel, "MPI_WIN_MODEL"},
};

}  // namespace

const char* predefined_keyval_name(KeyvalOf of, int keyval) noexcept {
  for (const KeyvalName& known : kKeyvalNames) {
    if (known.of == of && known.keyval == keyval) return known.name;
  }
  return nullptr;
}

const char* plural_of(KeyvalOf of) noexcept {
  return of == KeyvalOf::comm ? "communicators" : of == KeyvalOf::datatype ? "datatypes" : "windows";
}

Keyvals& Keyvals::get() {
  // It outlives all objects with attributes.
  static Keyvals& keyvals = *new Keyvals;
  return keyvals;
}

int Keyvals::add(KeyvalOf of, const AttributeFunctions& functions) {
  keyvals_.emplace(next_, Keyval{of, functions});
  return next_++;
}

Keyval& Keyvals::find(KeyvalOf of, int keyval) {
  const auto found = keyvals_.find(keyval);
  if (found == keyvals_.end())
    raise(ErrorClass::keyval, "this is no keyval ({}): give one of MPI_Comm_create_keyval or MPI_Type_create_keyval",
          keyval == kKeyvalInvalid ? "MPI_KEYVAL_INVALID" : "it has not been made, or has been freed");
  if (found->second.of != of)
    raise(ErrorClass::keyval, "keyval {} was made for {}, not for {}", keyval, plural_of(found->second.of),
          plural_of(of));
  return found->second;
}

void Keyvals::take(int keyval) {
  ++keyvals_.at(keyval).uses;
}

void Keyvals::release(int keyval) noexcept {
  const auto found = keyvals_.find(keyval);
  if (found != keyvals_.end() && --found->second.uses == 0) keyvals_.erase(found);
}

int make_keyval(KeyvalOf of, const AttributeFunctions& functions) {
  return Keyvals::get().add(of, functions);
}

void free_keyval(KeyvalOf of, int keyval) {
  if (const char* name = predefined_keyval_name(of, keyval))
    raise(ErrorClass::keyval, "{} is predefined: it can't be freed", name);
  Keyval& known = Keyvals::get().find(of, keyval);
  if (known.freed) return;
  known.freed = true;
  Keyvals::get().release(keyval);
}

}  // namespace coracle::mpi
