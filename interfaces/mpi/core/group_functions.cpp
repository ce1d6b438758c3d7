// MPI's functions of groups as sets; those that choose ranks are in group_choices.cpp.
#include "interfaces/mpi/core/constants.hpp"
#include "interfaces/mpi/core/error.hpp"
#include "interfaces/mpi/core/group.hpp"
#include "interfaces/mpi/core/numbers.hpp"
#include "interfaces/mpi/core/process.hpp"

namespace coracle::mpi {

namespace {

/// Appends those of `from` that are members of `other`, or are not.
void append_of(std::vector<std::uint32_t>& members, const Group& from, const Group& other, bool are_members) {
  for (const std::uint32_t rank : from.members()) {
    if ((other.place_of(rank) != kUndefined) == are_members) members.push_back(rank);
  }
}

bool have_same_members(const Group& first, const Group& second) {
  if (first.size() != second.size()) return false;
  for (const std::uint32_t rank : first.members()) {
    if (second.place_of(rank) == kUndefined) return false;
  }
  return true;
}

int translated(const Group& from, Count rank, const Group& to) {
  if (rank == kProcNull) return kProcNull;
  if (rank < 0 || rank >= from.size())
    raise(ErrorClass::rank, "rank {} is not in the group, which has {} members: give 0 to {}, or MPI_PROC_NULL", rank,
          from.size(), from.size() - 1);
  return to.place_of(from.member(static_cast<int>(rank)));
}

}  // namespace

void group_size(Group* group, int& size) {
  size = checked(group).size();
}

void group_rank(Group* group, int& rank) {
  rank = checked(group).place_of(this_process().rank);
}

void group_translate_ranks(Group* group1, int n, Numbers ranks1, Group* group2, int* ranks2) {
  const Group& from = checked(group1);
  const Group& to = checked(group2);
  if (n < 0) raise(ErrorClass::arg, "n is {}: it must be 0 or more", n);
  for (int i = 0; i < n; ++i) ranks2[i] = translated(from, ranks1[static_cast<std::size_t>(i)], to);
}

void group_compare(Group* group1, Group* group2, int& result) {
  const Group& first = checked(group1);
  const Group& second = checked(group2);
  Comparison comparison = Comparison::unequal;
  if (first.members() == second.members())
    comparison = Comparison::identical;
  else if (have_same_members(first, second))
    comparison = Comparison::similar;
  result = static_cast<int>(comparison);
}

void group_union(Group* group1, Group* group2, Group*& newgroup) {
  const Group& second = checked(group2);
  std::vector<std::uint32_t> members = checked(group1).members();
  append_of(members, second, *group1, false);
  newgroup = make_group(std::move(members));
}

void group_intersection(Group* group1, Group* group2, Group*& newgroup) {
  std::vector<std::uint32_t> members;
  append_of(members, checked(group1), checked(group2), true);
  newgroup = make_group(std::move(members));
}

void group_difference(Group* group1, Group* group2, Group*& newgroup) {
  std::vector<std::uint32_t> members;
  append_of(members, checked(group1), checked(group2), false);
  newgroup = make_group(std::move(members));
}

void group_free(Group*& group) {
  checked(group);
  free_handle(group);
}

}  // namespace coracle::mpi
