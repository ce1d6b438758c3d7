// MPI's functions that make a group of some members of another, chosen by rank.
#include "interfaces/mpi/core/error.hpp"
#include "interfaces/mpi/core/group.hpp"
#include "interfaces/mpi/core/numbers.hpp"

namespace coracle::mpi {

namespace {

/// Distinct places of a group, in the order of their choice.
class ChosenPlaces {
 public:
  explicit ChosenPlaces(const Group& group) : group_(group), chosen_(static_cast<std::size_t>(group.size())) {}

  void add(Count rank) {
    if (rank < 0 || rank >= group_.size())
      raise(ErrorClass::rank, "rank {} is not in the group, which has {} members: ranks begin with 0", rank,
            group_.size());
    const auto place = static_cast<std::size_t>(rank);
    if (chosen_[place]) raise(ErrorClass::rank, "rank {} is named twice: name each once", rank);
    chosen_[place] = true;
    members_.push_back(group_.members()[place]);
  }

  /// first, first + stride, ... up to last.
  void add_range(Count first, Count last, Count stride) {
    if (stride == 0)
      raise(ErrorClass::arg, "the range ({}, {}, {}) has the stride 0: a single rank is (r, r, 1)", first, last,
            stride);
    if ((stride > 0 && last < first) || (stride < 0 && last > first))
      raise(ErrorClass::rank, "the range ({}, {}, {}) has no ranks: its stride leads away from the last", first, last,
            stride);
    for (Count rank = first; stride > 0 ? rank <= last : rank >= last; rank += stride) add(rank);
  }

  std::vector<std::uint32_t> take() { return std::move(members_); }
  std::vector<std::uint32_t> others() const {
    std::vector<std::uint32_t> left;
    for (std::size_t place = 0; place < chosen_.size(); ++place) {
      if (!chosen_[place]) left.push_back(group_.members()[place]);
    }
    return left;
  }

 private:
  const Group& group_;
  std::vector<bool> chosen_;
  std::vector<std::uint32_t> members_;
};

ChosenPlaces choose(Group* group, int n, Numbers ranks) {
  ChosenPlaces choice(checked(group));
  if (n < 0) raise(ErrorClass::arg, "n is {}: it must be 0 or more", n);
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) choice.add(ranks[i]);
  return choice;
}

/// `ranges`: n triplets (first, last, stride).
ChosenPlaces choose_ranges(Group* group, int n, Numbers ranges) {
  ChosenPlaces choice(checked(group));
  if (n < 0) raise(ErrorClass::arg, "n is {}: it must be 0 or more", n);
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
    choice.add_range(ranges[3 * i], ranges[3 * i + 1], ranges[3 * i + 2]);
  return choice;
}

}  // namespace

void group_incl(Group* group, int n, Numbers ranks, Group*& newgroup) {
  newgroup = make_group(choose(group, n, ranks).take());
}

void group_excl(Group* group, int n, Numbers ranks, Group*& newgroup) {
  newgroup = make_group(choose(group, n, ranks).others());
}

void group_range_incl(Group* group, int n, Numbers ranges, Group*& newgroup) {
  newgroup = make_group(choose_ranges(group, n, ranges).take());
}

void group_range_excl(Group* group, int n, Numbers ranges, Group*& newgroup) {
  newgroup = make_group(choose_ranges(group, n, ranges).others());
}

}  // namespace coracle::mpi
