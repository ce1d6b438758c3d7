// Info: keys with values, in the order in which they were set.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "interfaces/mpi/core/constants.hpp"
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
  ~Info() override = default;
  std::vector<std::pair<std::string, std::string>> entries_;
};

/// Throws MpiError (info) for MPI_INFO_NULL.
Info& checked(Info* info);

/// MPI_INFO_ENV: how this program was started.
Info& environment_info();
/// Fills it (MPI-3.1, 10.5.3). `arguments`: the program's, its name first; what does not fit an info's value is cut.
void describe_environment(std::span<const char* const> arguments, int processes, ThreadLevel level);

}  // namespace coracle::mpi
