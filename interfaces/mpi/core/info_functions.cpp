// MPI's functions of infos.
#include "interfaces/mpi/core/error.hpp"
#include "interfaces/mpi/core/info.hpp"

namespace coracle::mpi {

namespace {

std::string checked_key(const char* key) {
  if (key == nullptr || *key == '\0')
    raise(ErrorClass::info_key, "the key is empty: give one of 1 to {} characters", kInfoKeyMax - 1);
  std::string text = key;
  if (text.size() >= kInfoKeyMax)
    raise(ErrorClass::info_key, "the key \"{}\" has {} characters: at most {} are allowed", text, text.size(),
          kInfoKeyMax - 1);
  return text;
}

}  // namespace

void info_create(Info*& info) {
  info = new Info;
}

void info_set(Info* info, const char* key, const char* value) {
  if (value == nullptr) raise(ErrorClass::info_value, "the value is a null pointer");
  checked(info).set(checked_key(key), value);
}

/// Of a longer value the first `valuelen` characters.
void info_get(Info* info, const char* key, int valuelen, std::string& value, bool& flag) {
  const std::string* found = checked(info).find(checked_key(key));
  if (valuelen < 0) raise(ErrorClass::arg, "valuelen is {}: it must be 0 or more", valuelen);
  flag = found != nullptr;
  if (flag) value = found->substr(0, static_cast<std::size_t>(valuelen));
}

void info_get_valuelen(Info* info, const char* key, int& valuelen, bool& flag) {
  const std::string* found = checked(info).find(checked_key(key));
  flag = found != nullptr;
  if (flag) valuelen = static_cast<int>(found->size());
}

void info_delete(Info* info, const char* key) {
  checked(info).erase(checked_key(key));
}

void info_get_nkeys(Info* info, int& nkeys) {
  nkeys = static_cast<int>(checked(info).entries().size());
}

void info_get_nthkey(Info* info, int n, std::string& key) {
  const auto& entries = checked(info).entries();
  if (n < 0 || static_cast<std::size_t>(n) >= entries.size())
    raise(ErrorClass::arg, "n is {}, and the info has {} keys: the first is 0", n, entries.size());
  key = entries[static_cast<std::size_t>(n)].first;
}

void info_dup(Info* info, Info*& newinfo) {
  newinfo = checked(info).duplicate();
}

void info_free(Info*& info) {
  if (checked(info).is_predefined()) raise(ErrorClass::info, "MPI_INFO_ENV is predefined: it can't be freed");
  free_handle(info);
}

}  // namespace coracle::mpi
