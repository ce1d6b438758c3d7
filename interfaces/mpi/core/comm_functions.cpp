// What programs ask of communicators.
#include <algorithm>
#include <utility>
#include <vector>

#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/request.hpp"
#include "interfaces/mpi/core/world.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {
namespace {

/// Hints that the standard defines for communicators (MPI-4.0, 7.4.4). All others are ignored, and not given back, as
/// programs must expect.
bool is_hint(const std::string& key) {
  return key == "mpi_assert_no_any_tag" || key == "mpi_assert_no_any_source" || key == "mpi_assert_exact_length" ||
         key == "mpi_assert_allow_overtaking";
}

/// Congruent where they have the same members in the same order.
Comparison compare(const Group& first, const Group& second) {
  if (first.members() == second.members()) return Comparison::congruent;
  if (first.size() != second.size()) return Comparison::unequal;
  std::vector<std::uint32_t> here = first.members();
  std::vector<std::uint32_t> there = second.members();
  std::sort(here.begin(), here.end());
  std::sort(there.begin(), there.end());
  return here == there ? Comparison::similar : Comparison::unequal;
}

Comm& checked_inter(Comm* comm) {
  if (!checked(comm).is_inter()) raise(ErrorClass::comm, "comm is an intra-communicator, which has no remote group");
  return *comm;
}

}  // namespace

void comm_size(Comm* comm, int& size) {
  World::get();
  size = checked(comm).size();
}

void comm_rank(Comm* comm, int& rank) {
  World::get();
  rank = checked(comm).rank();
}

void comm_group(Comm* comm, Group*& group) {
  group = Ref<Group>(checked(comm).shared_group()).give();
}

void comm_test_inter(Comm* comm, bool& flag) {
  flag = checked(comm).is_inter();
}

void comm_remote_size(Comm* comm, int& size) {
  size = checked_inter(comm).remote_group().size();
}

void comm_remote_group(Comm* comm, Group*& group) {
  group = Ref<Group>(checked_inter(comm).shared_remote_group()).give();
}

void comm_compare(Comm* comm1, Comm* comm2, int& result) {
  const Comm& first = checked(comm1);
  const Comm& second = checked(comm2);
  Comparison found = Comparison::unequal;
  if (&first == &second) {
    found = Comparison::identical;
  } else if (first.is_inter() == second.is_inter()) {
    found = compare(first.group(), second.group());
    if (first.is_inter()) found = std::max(found, compare(first.remote_group(), second.remote_group()));
  }
  result = static_cast<int>(found);
}

void comm_free(Comm*& comm) {
  Comm& freed = checked(comm);
  if (freed.is_predefined()) raise(ErrorClass::comm, "{} can't be freed", freed.name);
  freed.attributes.remove_all(freed);
  free_handle(comm);
}

void comm_disconnect(Comm*& comm) {
  Comm& freed = checked(comm);
  if (freed.is_predefined()) raise(ErrorClass::comm, "{} can't be disconnected", freed.name);
  run(freed, freed.team().barrier());  // all that is under way between the members has ended then
  comm_free(comm);
}

void comm_set_info(Comm* comm, Info* info) {
  Comm& of = checked(comm);
  if (info == nullptr) return;
  if (!of.info) of.info = Ref<Info>::adopt(new Info);
  for (const auto& [key, value] : info->entries())
    if (is_hint(key)) of.info->set(key, value);
}

void comm_get_info(Comm* comm, Info*& info_used) {
  const Comm& of = checked(comm);
  info_used = of.info ? of.info->duplicate() : new Info;
}

}  // namespace coracle::mpi
