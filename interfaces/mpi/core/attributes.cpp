#include "interfaces/mpi/core/attributes.hpp"

#include <algorithm>

#include "interfaces/mpi/core/constants.hpp"
#include "interfaces/mpi/core/error_handler.hpp"
#include "interfaces/mpi/core/keyvals.hpp"

namespace coracle::mpi {

namespace {

using ValuesByKeyval = std::map<int, AttributeValue>;

ValuesByKeyval& predefined_attributes() {
  static ValuesByKeyval& values = *new ValuesByKeyval{
      {kTagUpperBound, AttributeValue::of_number(kTagMax)},
      {kHost, AttributeValue::of_number(kProcNull)},
      {kIo, AttributeValue::of_number(kAnySource)},
      {kWtimeIsGlobal, AttributeValue::of_number(0)},
      {kLastUsedCode, AttributeValue::of_number(kFirstAddedCode - 1)},
  };
  return values;
}

}  // namespace

void set_predefined_attribute(int keyval, AttributeValue value) {
  predefined_attributes()[keyval] = value;
}

Attributes::~Attributes() {
  for (const auto& entry : values_) Keyvals::get().release(entry.first);
}

void Attributes::set(Object& object, int keyval, AttributeValue value) {
  check_program_may_set(keyval);
  if (values_.contains(keyval)) end_value(object, keyval);
  put(keyval, value);
}

void Attributes::set_predefined(int keyval, AttributeValue value) {
  values_[keyval] = {value, settings_++};
}

const AttributeValue* Attributes::get(int keyval) const {
  check(keyval);
  if (const auto found = values_.find(keyval); found != values_.end()) return &found->second.value;
  if (of_ != KeyvalOf::comm) return nullptr;
  const ValuesByKeyval& predefined = predefined_attributes();
  const auto found = predefined.find(keyval);
  return found == predefined.end() ? nullptr : &found->second;
}

void Attributes::remove(Object& object, int keyval) {
  check_program_may_set(keyval);
  if (!values_.contains(keyval))
    raise(ErrorClass::keyval, "there is no attribute of keyval {} here: it was never set, or is deleted", keyval);
  end_value(object, keyval);
  values_.erase(keyval);
  Keyvals::get().release(keyval);
}

void Attributes::copy_from(Object& from_object, const Attributes& from) {
  for (const int keyval : from.keyvals()) {
    const auto found = from.values_.find(keyval);
    // A copy function may have removed it; MPI's own of a window are not copied.
    if (found == from.values_.end() || predefined_keyval_name(of_, keyval) != nullptr) continue;
    const AttributeFunctions functions = Keyvals::get().find(of_, keyval).functions;
    if (functions.copy == nullptr) continue;
    const KeyvalUse kept(keyval);  // its function may end the attribute, and the keyval
    AttributeValue copy = found->second.value;
    bool copied = false;
    const int code = functions.copy(from_object, keyval, functions.extra, found->second.value.value, &copy.value,
                                    copied, functions.copy_function);
    if (code != 0) throw MpiError(code, fmt::format("the copy function of keyval {} gave error code {}", keyval, code));
    if (copied) put(keyval, copy);
  }
}

void Attributes::remove_all(Object& object) {
  // A delete function may set or remove others.
  while (!values_.empty()) {
    const int last = keyvals().back();
    if (predefined_keyval_name(of_, last) == nullptr) end_value(object, last);
    values_.erase(last);
    Keyvals::get().release(last);
  }
}

void Attributes::check(int keyval) const {
  if (predefined_keyval_name(of_, keyval) == nullptr) Keyvals::get().find(of_, keyval);
}

void Attributes::check_program_may_set(int keyval) const {
  check(keyval);
  if (const char* name = predefined_keyval_name(of_, keyval))
    raise(ErrorClass::keyval, "{} is MPI's own: programs can only read it", name);
}

void Attributes::end_value(Object& object, int keyval) {
  Attribute& attribute = values_.find(keyval)->second;
  if (attribute.is_ending)
    raise(ErrorClass::keyval, "the attribute of keyval {} is being deleted: its delete function can't set or delete it",
          keyval);
  const AttributeFunctions functions = Keyvals::get().find(of_, keyval).functions;
  if (functions.remove == nullptr) return;
  attribute.is_ending = true;
  const int code = functions.remove(object, keyval, attribute.value.value, functions.extra, functions.delete_function);
  attribute.is_ending = false;
  if (code != 0) throw MpiError(code, fmt::format("the delete function of keyval {} gave error code {}", keyval, code));
}

void Attributes::put(int keyval, AttributeValue value) {
  const Attribute attribute{value, settings_++};
  if (values_.insert_or_assign(keyval, attribute).second) Keyvals::get().take(keyval);
}

std::vector<int> Attributes::keyvals() const {
  std::vector<std::pair<std::uint64_t, int>> ordered;
  for (const auto& [keyval, attribute] : values_) ordered.emplace_back(attribute.order, keyval);
  std::sort(ordered.begin(), ordered.end());
  std::vector<int> keyvals;
  for (const auto& entry : ordered) keyvals.push_back(entry.second);
  return keyvals;
}

}  // namespace coracle::mpi
