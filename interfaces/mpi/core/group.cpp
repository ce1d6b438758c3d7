#include "interfaces/mpi/core/group.hpp"

#include <algorithm>

#include "interfaces/mpi/core/constants.hpp"
#include "interfaces/mpi/core/error.hpp"

namespace coracle::mpi {

int Group::place_of(std::uint32_t rank) const noexcept {
  // Most groups are all of the job, or its first ranks.
  if (rank < members_.size() && members_[rank] == rank) return static_cast<int>(rank);
  constexpr std::size_t kLookedThrough = 16;
  if (members_.size() <= kLookedThrough) {
    const auto found = std::find(members_.begin(), members_.end(), rank);
    return found == members_.end() ? kUndefined : static_cast<int>(found - members_.begin());
  }
  if (places_.empty()) {
    places_.reserve(members_.size());
    for (int place = 0; place < size(); ++place) places_.emplace(member(place), place);
  }
  const auto found = places_.find(rank);
  return found == places_.end() ? kUndefined : found->second;
}

Group& empty_group() {
  static Group& group = *new Group({});
  group.set_predefined();
  return group;
}

Group* make_group(std::vector<std::uint32_t> members) {
  if (members.empty()) return Ref<Group>(&empty_group()).give();
  return new Group(std::move(members));
}

Group& checked(Group* group) {
  if (group == nullptr) raise(ErrorClass::group, "the group is MPI_GROUP_NULL: one without members is MPI_GROUP_EMPTY");
  return *group;
}

}  // namespace coracle::mpi
