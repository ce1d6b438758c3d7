// Attributes: whose functions are called when, in what order, and what becomes of their error codes.
#include "interfaces/mpi/core/attributes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "interfaces/mpi/core/constants.hpp"
#include "interfaces/mpi/core/error_handler.hpp"
#include "interfaces/mpi/core_functions.hpp"
#include "tests/mpi/error_of.hpp"

namespace mpi_attributes_test {

namespace {

using namespace coracle::mpi;
using coracle::mpi::tests::Caught;
using coracle::mpi::tests::error_of;

class Thing final : public Object {
 public:
  Attributes attributes{KeyvalOf::comm};
};

/// What the functions were called with, and what they give.
struct Log {
  std::vector<std::string> calls;
  int copy_code = 0;
  int delete_code = 0;
  bool copies = true;
};

long number_in(const void* value) {
  return static_cast<long>(reinterpret_cast<std::intptr_t>(value));
}
void* with_number(long number) {
  return reinterpret_cast<void*>(number);
}

int copy(Object&, int, void* extra, void* value_in, void** value_out, bool& copied, void* function) {
  Log& log = *static_cast<Log*>(extra);
  log.calls.push_back("copy " + std::to_string(number_in(value_in)) + static_cast<const char*>(function));
  *value_out = with_number(number_in(value_in) + 100);
  copied = log.copies;
  return log.copy_code;
}

int remove(Object&, int, void* value, void* extra, void* function) {
  Log& log = *static_cast<Log*>(extra);
  log.calls.push_back("delete " + std::to_string(number_in(value)) + static_cast<const char*>(function));
  return log.delete_code;
}

char copy_mark[] = "c";
char delete_mark[] = "d";

int keyval_with(Log& log) {
  return make_keyval(KeyvalOf::comm, {copy, remove, copy_mark, delete_mark, &log});
}

long value_of(const Thing& thing, int keyval) {
  const AttributeValue* found = thing.attributes.get(keyval);
  return found == nullptr ? -1 : number_in(found->value);
}

using Calls = std::vector<std::string>;

}  // namespace

TEST_CASE("mpi attributes: setting one again ends the former value first") {
  Log log;
  Thing thing;
  const int keyval = keyval_with(log);
  CHECK(value_of(thing, keyval) == -1);
  thing.attributes.set(thing, keyval, {with_number(1)});
  thing.attributes.set(thing, keyval, {with_number(2)});
  CHECK(value_of(thing, keyval) == 2);
  thing.attributes.remove(thing, keyval);
  CHECK(value_of(thing, keyval) == -1);
  CHECK(log.calls == Calls{"delete 1d", "delete 2d"});
  CHECK(error_of([&] { thing.attributes.remove(thing, keyval); }).is(ErrorClass::keyval, "no attribute"));
  free_keyval(KeyvalOf::comm, keyval);
}

TEST_CASE("mpi attributes: copies go in the order of setting, ends in the reverse") {
  Log log;
  Thing thing, other;
  const int first = keyval_with(log);
  const int second = keyval_with(log);
  const int third = keyval_with(log);
  thing.attributes.set(thing, third, {with_number(3)});
  thing.attributes.set(thing, first, {with_number(1)});
  thing.attributes.set(thing, second, {with_number(2)});
  thing.attributes.set(thing, first, {with_number(11)});
  other.attributes.copy_from(thing, thing.attributes);
  CHECK(value_of(other, first) == 111);
  CHECK(value_of(other, third) == 103);
  thing.attributes.remove_all(thing);
  other.attributes.remove_all(other);
  CHECK(log.calls == Calls{"delete 1d", "copy 3c", "copy 2c", "copy 11c", "delete 11d", "delete 2d", "delete 3d",
                           "delete 111d", "delete 102d", "delete 103d"});
  for (const int keyval : {first, second, third}) free_keyval(KeyvalOf::comm, keyval);
}

TEST_CASE("mpi attributes: what has no copy function, or is told not to, is not copied") {
  Log log;
  log.copies = false;
  Thing thing, other;
  const int never = make_keyval(KeyvalOf::comm, {});
  const int not_now = keyval_with(log);
  thing.attributes.set(thing, never, {with_number(1)});
  thing.attributes.set(thing, not_now, {with_number(2)});
  other.attributes.copy_from(thing, thing.attributes);
  CHECK(other.attributes.get(never) == nullptr);
  CHECK(other.attributes.get(not_now) == nullptr);
  thing.attributes.remove_all(thing);
  for (const int keyval : {never, not_now}) free_keyval(KeyvalOf::comm, keyval);
}

TEST_CASE("mpi attributes: an error code of a function ends the call with it") {
  Log log;
  Thing thing, other;
  const int first = keyval_with(log);
  const int second = keyval_with(log);
  thing.attributes.set(thing, first, {with_number(1)});
  thing.attributes.set(thing, second, {with_number(2)});
  log.copy_code = 77;
  CHECK(error_of([&] { other.attributes.copy_from(thing, thing.attributes); }).code == 77);
  CHECK(other.attributes.get(first) == nullptr);
  log.delete_code = 78;
  CHECK(error_of([&] { thing.attributes.set(thing, first, {with_number(9)}); }).code == 78);
  CHECK(error_of([&] { thing.attributes.remove(thing, first); }).code == 78);
  CHECK(error_of([&] { thing.attributes.remove_all(thing); }).code == 78);
  CHECK(value_of(thing, first) == 1);
  CHECK(value_of(thing, second) == 2);
  log.delete_code = 0;
  thing.attributes.remove_all(thing);
  CHECK(log.calls == Calls{"copy 1c", "delete 1d", "delete 1d", "delete 2d", "delete 2d", "delete 1d"});
  for (const int keyval : {first, second}) free_keyval(KeyvalOf::comm, keyval);
}

TEST_CASE("mpi attributes: a freed keyval lives as long as its attributes") {
  Log log;
  Thing thing;
  int keyval = keyval_with(log);
  const int kept = keyval;
  thing.attributes.set(thing, keyval, {with_number(1)});
  comm_free_keyval(keyval);
  CHECK(keyval == kKeyvalInvalid);
  CHECK(value_of(thing, kept) == 1);
  free_keyval(KeyvalOf::comm, kept);  // again: as delete functions do
  CHECK(value_of(thing, kept) == 1);
  thing.attributes.remove(thing, kept);
  CHECK(log.calls == Calls{"delete 1d"});
  CHECK(error_of([&] { thing.attributes.get(kept); }).is(ErrorClass::keyval, "is no keyval"));
  CHECK(keyval_with(log) != kept);
}

TEST_CASE("mpi attributes: the last object that goes ends a freed keyval") {
  Log log;
  const int keyval = keyval_with(log);
  Thing thing;
  {
    Thing gone;
    gone.attributes.set(gone, keyval, {with_number(1)});
    thing.attributes.copy_from(gone, gone.attributes);
    free_keyval(KeyvalOf::comm, keyval);
  }
  CHECK(value_of(thing, keyval) == 101);
  thing.attributes.remove_all(thing);
  CHECK(log.calls == Calls{"copy 1c", "delete 101d"});
  CHECK(error_of([&] { thing.attributes.get(keyval); }).is(ErrorClass::keyval, "is no keyval"));
}

TEST_CASE("mpi attributes: a keyval is for one kind of objects") {
  Thing thing;
  const int keyval = make_keyval(KeyvalOf::datatype, {});
  CHECK(error_of([&] {
          thing.attributes.set(thing, keyval, {});
        }).is(ErrorClass::keyval, "made for datatypes, not for communicators"));
  CHECK(error_of([&] { free_keyval(KeyvalOf::window, keyval); }).code == static_cast<int>(ErrorClass::keyval));
  CHECK(error_of([&] { thing.attributes.get(kKeyvalInvalid); }).is(ErrorClass::keyval, "MPI_KEYVAL_INVALID"));
  free_keyval(KeyvalOf::datatype, keyval);
}

TEST_CASE("mpi attributes: those of MPI are the same on all communicators, and read-only") {
  Thing thing;
  CHECK(value_of(thing, kTagUpperBound) == kTagMax);
  CHECK(thing.attributes.get(kTagUpperBound)->kind == AttributeKind::fortran_integer);
  CHECK(value_of(thing, kUniverseSize) == -1);
  set_predefined_attribute(kUniverseSize, AttributeValue::of_number(8));
  CHECK(value_of(thing, kUniverseSize) == 8);
  CHECK(error_of([&] {
          thing.attributes.set(thing, kTagUpperBound, {});
        }).is(ErrorClass::keyval, "MPI_TAG_UB is MPI's own"));
  CHECK(error_of([&] { thing.attributes.remove(thing, kHost); }).is(ErrorClass::keyval, "MPI_HOST"));
  CHECK(error_of([&] { free_keyval(KeyvalOf::comm, kIo); }).is(ErrorClass::keyval, "MPI_IO is predefined"));
  Attributes of_datatype(KeyvalOf::datatype);
  CHECK(error_of([&] { of_datatype.get(kTagUpperBound); }).is(ErrorClass::keyval, "is no keyval"));
}

TEST_CASE("mpi attributes: MPI_LASTUSEDCODE grows with the program's codes") {
  Thing thing;
  int added = 0;
  add_error_class(added);
  CHECK(value_of(thing, kLastUsedCode) == added);
}

TEST_CASE("mpi attributes: a delete function can read its attribute, but neither set nor delete it") {
  struct Looks {
    long seen = -1;
    Caught set, removed, all;
    static int at_it(Object& object, int keyval, void*, void* extra, void*) {
      auto& thing = dynamic_cast<Thing&>(object);
      auto& looks = *static_cast<Looks*>(extra);
      looks.seen = value_of(thing, keyval);
      looks.set = error_of([&] { thing.attributes.set(object, keyval, {with_number(7)}); });
      looks.removed = error_of([&] { thing.attributes.remove(object, keyval); });
      looks.all = error_of([&] { thing.attributes.remove_all(object); });
      return 0;
    }
  };
  Looks looks;
  Thing thing;
  const int keyval = make_keyval(KeyvalOf::comm, {nullptr, Looks::at_it, nullptr, nullptr, &looks});
  thing.attributes.set(thing, keyval, {with_number(1)});
  for (const long next : {2L, 3L}) {
    thing.attributes.set(thing, keyval, {with_number(next)});
    CHECK(looks.seen == next - 1);
    for (const Caught& caught : {looks.set, looks.removed, looks.all})
      CHECK(caught.is(ErrorClass::keyval, "is being deleted"));
    CHECK(value_of(thing, keyval) == next);
  }
  thing.attributes.remove_all(thing);
  CHECK(looks.seen == 3);
  free_keyval(KeyvalOf::comm, keyval);
}

TEST_CASE("mpi attributes: one whose delete function has failed can be set and deleted again") {
  Log log;
  Thing thing;
  const int keyval = keyval_with(log);
  thing.attributes.set(thing, keyval, {with_number(1)});
  log.delete_code = 5;
  CHECK(error_of([&] { thing.attributes.set(thing, keyval, {with_number(2)}); }).code == 5);
  log.delete_code = 0;
  thing.attributes.set(thing, keyval, {with_number(3)});
  thing.attributes.remove(thing, keyval);
  CHECK(log.calls == Calls{"delete 1d", "delete 1d", "delete 3d"});
  free_keyval(KeyvalOf::comm, keyval);
}

TEST_CASE("mpi attributes: functions may free their keyval, and a copy function end what it copies") {
  struct Frees {
    static int at_delete(Object&, int keyval, void*, void*, void*) {
      free_keyval(KeyvalOf::comm, keyval);
      return 0;
    }
    static int at_copy(Object& object, int keyval, void*, void* value, void** copy, bool& copied, void*) {
      dynamic_cast<Thing&>(object).attributes.remove(object, keyval);
      *copy = value;
      copied = true;
      return 0;
    }
  };
  Thing thing, other;
  const int keyval = make_keyval(KeyvalOf::comm, {Frees::at_copy, Frees::at_delete, nullptr, nullptr, nullptr});
  thing.attributes.set(thing, keyval, {with_number(1)});
  thing.attributes.set(thing, keyval, {with_number(2)});
  CHECK(value_of(thing, keyval) == 2);
  other.attributes.copy_from(thing, thing.attributes);
  CHECK(thing.attributes.get(keyval) == nullptr);
  CHECK(value_of(other, keyval) == 2);
  other.attributes.remove_all(other);
  CHECK(error_of([&] { other.attributes.get(keyval); }).is(ErrorClass::keyval, "is no keyval"));
}

TEST_CASE("mpi attributes: a delete function may end others") {
  struct Ends {
    static int others(Object& object, int, void*, void* extra, void*) {
      auto& thing = dynamic_cast<Thing&>(object);
      const int keyval = *static_cast<int*>(extra);
      if (thing.attributes.get(keyval) != nullptr) thing.attributes.remove(object, keyval);
      return 0;
    }
  };
  Log log;
  Thing thing;
  int other = keyval_with(log);
  const int keyval = make_keyval(KeyvalOf::comm, {nullptr, Ends::others, nullptr, nullptr, &other});
  thing.attributes.set(thing, other, {with_number(1)});
  thing.attributes.set(thing, keyval, {with_number(2)});
  thing.attributes.remove_all(thing);
  CHECK(log.calls == Calls{"delete 1d"});
  free_keyval(KeyvalOf::comm, other);
  free_keyval(KeyvalOf::comm, keyval);
}

}  // namespace mpi_attributes_test
