#include "interfaces/mpi/openmpi/fortran/arguments.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "interfaces/mpi/entry_points.hpp"
#include "interfaces/mpi/openmpi/raw.hpp"

namespace coracle::mpi::openmpi {
namespace {

// Open MPI's kinds of topologies.
constexpr int kCartesian = 1;
constexpr int kGraph = 2;
constexpr int kDistributedGraph = 3;

/// How many send to this process, and how many it sends to.
std::pair<int, int> neighbours_of_comm(MPI_Comm comm) noexcept {
  int kind = 0;
  if (PMPI_Topo_test(comm, &kind) != kSuccess) return {0, 0};
  int one = 0;
  int other = 0;
  int weighted = 0;
  int rank = 0;
  switch (kind) {
    case kCartesian:
      PMPI_Cartdim_get(comm, &one);
      return {2 * one, 2 * one};
    case kGraph:
      PMPI_Comm_rank(comm, &rank);
      PMPI_Graph_neighbors_count(comm, rank, &one);
      return {one, one};
    case kDistributedGraph:
      PMPI_Dist_graph_neighbors_count(comm, &one, &other, &weighted);
      return {one, other};
    default:
      return {0, 0};
  }
}

}  // namespace

std::string c_text(const char* text, int length) {
  const std::string_view all(text, length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::size_t first = all.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return std::string(all.substr(first, all.find_last_not_of(' ') - first + 1));
}

void store_blank_padded(const char* text, char* to, int length) noexcept {
  const auto room = static_cast<std::size_t>(std::max(length, 0));
  const std::size_t taken = std::min(std::strlen(text), room);
  std::memcpy(to, text, taken);
  std::memset(to + taken, ' ', room - taken);
}

int size_of_comm(MPI_Fint comm) noexcept {
  const MPI_Comm of = PMPI_Comm_f2c(comm);
  int is_inter = 0;
  int size = 0;
  if (PMPI_Comm_test_inter(of, &is_inter) != kSuccess) return 0;
  const int error = is_inter != 0 ? PMPI_Comm_remote_size(of, &size) : PMPI_Comm_size(of, &size);
  return error == kSuccess ? size : 0;
}

int sources_of_comm(MPI_Fint comm) noexcept {
  return neighbours_of_comm(PMPI_Comm_f2c(comm)).first;
}

int destinations_of_comm(MPI_Fint comm) noexcept {
  return neighbours_of_comm(PMPI_Comm_f2c(comm)).second;
}

}  // namespace coracle::mpi::openmpi
