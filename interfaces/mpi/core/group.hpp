// Group: ordered processes, named by their ranks in the job.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interfaces/mpi/core/object.hpp"

namespace coracle::mpi {

class Group final : public Object {
 public:
  /// `members`: ranks of the job, in the group's order.
  explicit Group(std::vector<std::uint32_t> members) noexcept : members_(std::move(members)) {}
  int size() const noexcept { return static_cast<int>(members_.size()); }
  /// The rank in the job of a place.
  std::uint32_t member(int place) const noexcept { return members_[static_cast<std::size_t>(place)]; }
  /// The place of a rank of the job; kUndefined where it is no member.
  int place_of(std::uint32_t rank) const noexcept;
  const std::vector<std::uint32_t>& members() const noexcept { return members_; }

 private:
  ~Group() override = default;
  std::vector<std::uint32_t> members_;
  mutable std::unordered_map<std::uint32_t, int> places_;  // Of a large group, from the first question on.
};

/// MPI_GROUP_EMPTY.
Group& empty_group();
/// A use of a group of these; of MPI_GROUP_EMPTY for none, as programs compare with it.
Group* make_group(std::vector<std::uint32_t> members);
/// Throws MpiError (group) for MPI_GROUP_NULL.
Group& checked(Group* group);

}  // namespace coracle::mpi
