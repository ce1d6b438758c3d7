// The values of MPI's constants as the core knows them: those of the standard ABI (MPI-5, chapter 20). An ABI with
// other values translates at its entry points.
#pragma once

#include <cstdint>

namespace coracle::mpi {

/// MPI_Count, MPI_Aint and MPI_Offset.
using Count = std::int64_t;

inline constexpr int kAnySource = -1;
inline constexpr int kAnyTag = -2;
inline constexpr int kProcNull = -3;
inline constexpr int kRoot = -4;
inline constexpr int kUndefined = -32766;
/// The largest tag.
inline constexpr int kTagMax = 0x7fffffff;

/// MPI_IN_PLACE. MPI_BOTTOM is null.
inline const void* const kInPlace = reinterpret_cast<const void*>(1);

enum class Comparison : int { identical = 201, congruent = 202, similar = 203, unequal = 204 };

enum class Combiner : int {
  named = 101,
  dup = 102,
  contiguous = 103,
  vector = 104,
  hvector = 105,
  indexed = 106,
  hindexed = 107,
  indexed_block = 108,
  hindexed_block = 109,
  structure = 110,
  subarray = 111,
  darray = 112,
  f90_real = 113,
  f90_complex = 114,
  f90_integer = 115,
  resized = 116,
};

enum class TopologyKind : int { none = kUndefined, cartesian = 211, graph = 212, distributed_graph = 213 };

inline constexpr int kCommTypeShared = 221;
inline constexpr int kOrderC = 12;
inline constexpr int kOrderFortran = 15;
inline constexpr int kDistributeNone = 16;
inline constexpr int kDistributeBlock = 17;
inline constexpr int kDistributeCyclic = 18;
/// Not MPI-5's 19, which could be a block's length as well.
inline constexpr int kDistributeDefault = -1;
inline constexpr int kTypeClassInteger = 192;
inline constexpr int kTypeClassReal = 193;
inline constexpr int kTypeClassComplex = 194;

enum class ThreadLevel : int { single = 0, funneled = 1024, serialized = 2048, multiple = 4096 };

/// Bytes that MPI_Bsend needs beside a message's own.
inline constexpr Count kBsendOverhead = 128;
inline constexpr std::size_t kObjectNameMax = 64;  ///< Of Open MPI, the least of all ABIs; the ending 0 included.
inline constexpr std::size_t kErrorStringMax = 256;
inline constexpr std::size_t kInfoKeyMax = 36;
inline constexpr std::size_t kInfoValueMax = 256;

}  // namespace coracle::mpi
