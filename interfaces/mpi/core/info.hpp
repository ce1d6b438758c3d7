// Info: keys with values, in the order in which they were set.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "interfaces/mpi/core/object.hpp"

namespace coracle::mpi {

class Info final : public Object {
 public:
  /// Throws MpiError (info_key, info_value) for what is empty or too long.
  void set(std::string key, std::string value);
  /// Null where there is none.
  const std::string* find(const std::string& key) const noexcept;
  /// Throws MpiError (info_nokey).
  void erase(const std::string& key);
  const std::vector<std::pair<std::string, std::string>>& entries() const noexcept { return entries_; }
  Info* duplicate() const;

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
};

}  // namespace coracle::mpi
