// All patterns of DDTBench: parts of grids and matrices (WRF, MILC, NAS LU and MG, the transposition of a 2-D FFT), and
// elements picked by index (LAMMPS, SPECFEM3D); with what follows from their layouts.
#include "apps/bench/ddt/ddt_patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <utility>

#include "runtime/core/assert.hpp"

namespace coracle::internals::bench {
namespace {

template <class T>
const T* values(const std::byte* memory, std::size_t first = 0) {
  return reinterpret_cast<const T*>(memory) + first;
}
template <class T>
T* values(std::byte* memory, std::size_t first = 0) {
  return reinterpret_cast<T*>(memory) + first;
}

/// Rows of equal elements: for each of the outer, middle and inner loop how often, and how far apart in elements T. All
/// loops written by hand over grids have this form.
template <class T>
struct Loops {
  std::size_t first;
  std::array<std::size_t, 3> counts;
  std::array<std::size_t, 2> steps;  ///< Of the outer two; the inner elements are neighbours.

  T* pack(const std::byte* memory, T* out) const {
    const T* from = values<T>(memory, first);
    for (std::size_t i = 0; i < counts[0]; ++i)
      for (std::size_t j = 0; j < counts[1]; ++j)
        for (std::size_t k = 0; k < counts[2]; ++k) *out++ = from[i * steps[0] + j * steps[1] + k];
    return out;
  }
  const T* unpack(const T* in, std::byte* memory) const {
    T* to = values<T>(memory, first);
    for (std::size_t i = 0; i < counts[0]; ++i)
      for (std::size_t j = 0; j < counts[1]; ++j)
        for (std::size_t k = 0; k < counts[2]; ++k) to[i * steps[0] + j * steps[1] + k] = *in++;
    return in;
  }
};

/// A pattern whose two sides and hand-written loops are alike.
template <class T>
void add_alike(std::vector<DdtPattern>& patterns, const char* name, std::string size, const Layout& layout,
               std::size_t bytes, const std::vector<Loops<T>>& loops) {
  patterns.push_back({name,
                      std::move(size),
                      {layout, 1, bytes},
                      {layout, 1, bytes},
                      0,
                      [loops](const std::byte* memory, std::byte* packed) {
                        T* out = values<T>(packed);
                        for (const Loops<T>& each : loops) out = each.pack(memory, out);
                      },
                      [loops](const std::byte* packed, std::byte* memory) {
                        const T* in = values<T>(packed);
                        for (const Loops<T>& each : loops) in = each.unpack(in, memory);
                      }});
}

/// WRF: arrays of floats (i, k, j), i the fastest, of which the halo's slab is sent; four of them without k, and two
/// with a fourth dimension of 2, whose second half takes part.
struct Wrf {
  std::size_t i, k, j;
  std::size_t slab_i, slab_j;
  static constexpr std::size_t kStart = 4;  // The halo is as wide.

  std::size_t flat() const { return i * j; }
  std::size_t cube() const { return i * k * j; }
  std::size_t floats() const { return 4 * flat() + 3 * cube() + 2 * 2 * cube(); }

  std::vector<Loops<float>> loops() const {
    std::vector<Loops<float>> all;
    std::size_t array = 0;
    for (int n = 0; n < 4; ++n, array += flat())
      all.push_back({array + kStart * i + kStart, {1, slab_j, slab_i}, {0, i}});
    for (int n = 0; n < 3; ++n, array += cube())
      all.push_back({array + kStart * i * k + kStart, {slab_j, k, slab_i}, {i * k, i}});
    for (int n = 0; n < 2; ++n, array += 2 * cube())
      all.push_back({array + cube() + kStart * i * k + kStart, {slab_j, k, slab_i}, {i * k, i}});
    return all;
  }
  Layout by_vectors() const {
    std::vector<LayoutField> fields;
    for (const Loops<float>& each : loops()) {
      const auto count = [&](std::size_t n) { return static_cast<std::int64_t>(each.counts[n]); };
      const auto step = [&](std::size_t n) { return static_cast<std::int64_t>(each.steps[n]); };
      const Layout rows = Layout::of<float>().vector(count(1), count(2), step(1));
      fields.push_back({1, static_cast<std::int64_t>(4 * each.first), rows.hvector(count(0), 1, 4 * step(0))});
    }
    return Layout::structure(fields);
  }
  Layout by_subarrays() const {
    const auto sizes =
        std::array{static_cast<std::int64_t>(i), static_cast<std::int64_t>(k), static_cast<std::int64_t>(j)};
    const auto width = static_cast<std::int64_t>(slab_i);
    const auto depth = static_cast<std::int64_t>(slab_j);
    constexpr std::int64_t kFrom = kStart;
    const Layout element = Layout::of<float>();
    const Layout plane = element.subarray({sizes[0], sizes[2]}, {width, depth}, {kFrom, kFrom}, Order::fortran);
    const Layout volume =
        element.subarray({sizes[0], sizes[1], sizes[2]}, {width, sizes[1], depth}, {kFrom, 0, kFrom}, Order::fortran);
    const Layout second = element.subarray({sizes[0], sizes[1], sizes[2], 2}, {width, sizes[1], depth, 1},
                                           {kFrom, 0, kFrom, 1}, Order::fortran);
    const auto cubes = static_cast<std::int64_t>(16 * flat());
    return Layout::structure(
        {{4, 0, plane}, {3, cubes, volume}, {2, cubes + static_cast<std::int64_t>(12 * cube()), second}});
  }
};

void add_wrf(std::vector<DdtPattern>& patterns, const char* by_vectors, const char* by_subarrays, const Wrf& wrf) {
  const std::string size = fmt::format("{}x{}x{}", wrf.slab_i, wrf.k, wrf.slab_j);
  add_alike(patterns, by_vectors, size, wrf.by_vectors(), 4 * wrf.floats(), wrf.loops());
  add_alike(patterns, by_subarrays, size, wrf.by_subarrays(), 4 * wrf.floats(), wrf.loops());
}

/// A face of an even-odd lattice of su3 vectors, 6 floats each.
void add_milc(std::vector<DdtPattern>& patterns, std::size_t l2, std::size_t l3, std::size_t l4, std::size_t l5) {
  const auto block = static_cast<std::int64_t>(l2 * l3 / 2);
  const auto stride = static_cast<std::int64_t>(l2 * l3 * l4 / 2);
  const auto half = static_cast<std::int64_t>(24 * l2 * l3 * l4 * l5 / 2);
  const Layout face =
      Layout::of<float>().contiguous(6).vector(static_cast<std::int64_t>(l5), block, stride).hvector(2, 1, half);
  add_alike<float>(patterns, "MILC_su3_zd", fmt::format("{}x{}x{}x{}", l2, l3, l4, l5), face, 24 * l2 * l3 * l4 * l5,
                   {{0, {2, l5, l2 * l3 / 2 * 6}, {l2 * l3 * l4 * l5 / 2 * 6, l2 * l3 * l4 / 2 * 6}}});
}

void add_lu(std::vector<DdtPattern>& patterns, std::size_t n) {
  const auto count = static_cast<std::int64_t>(n);
  const Layout five = Layout::of<double>().contiguous(5);
  add_alike<double>(patterns, "NAS_LU_x", fmt::format("{}", n), five.contiguous(count), 40 * (n + 2),
                    {{0, {1, 1, 5 * n}, {0, 0}}});
  add_alike<double>(patterns, "NAS_LU_y", fmt::format("{}", n), five.vector(count, 1, count + 2),
                    40 * (n + 2) * (n + 2), {{0, {1, n, 5}, {0, 5 * (n + 2)}}});
}

/// The three faces of a grid of doubles without their edges.
void add_mg(std::vector<DdtPattern>& patterns, std::size_t d1, std::size_t d2, std::size_t d3) {
  const auto sizes =
      std::array{static_cast<std::int64_t>(d1), static_cast<std::int64_t>(d2), static_cast<std::int64_t>(d3)};
  const auto row = sizes[0];
  const auto plane = sizes[0] * sizes[1];
  const Layout element = Layout::of<double>();
  const auto at = [&](std::int64_t place, const Layout& face) { return Layout::structure({{1, 8 * place, face}}); };
  const std::string size = fmt::format("{}x{}x{}", d1, d2, d3);
  const std::size_t bytes = 8 * d1 * d2 * d3;
  add_alike<double>(patterns, "NAS_MG_x", size,
                    at(plane + row + 1, element.vector(sizes[1] - 2, 1, row).hvector(sizes[2] - 2, 1, 8 * plane)),
                    bytes, {{d1 * d2 + d1 + 1, {d3 - 2, d2 - 2, 1}, {d1 * d2, d1}}});
  add_alike<double>(patterns, "NAS_MG_y", size, at(plane + row + 1, element.vector(sizes[2] - 2, sizes[0] - 2, plane)),
                    bytes, {{d1 * d2 + d1 + 1, {1, d3 - 2, d1 - 2}, {0, d1 * d2}}});
  add_alike<double>(patterns, "NAS_MG_z", size, at(plane + row + 1, element.vector(sizes[1] - 2, sizes[0] - 2, row)),
                    bytes, {{d1 * d2 + d1 + 1, {1, d2 - 2, d1 - 2}, {0, d1}}});
}

struct Complex {
  double real, imaginary;
};

/// What one of two ranks sends the other when a matrix of n x n is transposed: columns on one side, rows on the other.
void add_fft(std::vector<DdtPattern>& patterns, std::size_t n) {
  const std::size_t share = n / 2;
  const auto rows = static_cast<std::int64_t>(share);
  const auto stride = static_cast<std::int64_t>(n);
  const Layout element = Layout::of<Complex>();
  const Layout column = element.vector(rows, 1, stride).resized(0, 16);
  const Layout block = element.vector(rows, rows, stride).resized(0, 16 * rows);
  patterns.push_back({"FFT2",
                      fmt::format("{}", n),
                      {column.contiguous(rows), 1, 16 * n * share},
                      {block, 1, 16 * n * share},
                      0,
                      [n, share](const std::byte* memory, std::byte* packed) {
                        const auto* from = values<Complex>(memory);
                        auto* out = values<Complex>(packed);
                        for (std::size_t j = 0; j < share; ++j)
                          for (std::size_t i = 0; i < share; ++i) *out++ = from[i * n + j];
                      },
                      [n, share](const std::byte* packed, std::byte* memory) {
                        const auto* in = values<Complex>(packed);
                        auto* to = values<Complex>(memory);
                        for (std::size_t i = 0; i < share; ++i)
                          for (std::size_t j = 0; j < share; ++j) to[i * n + j] = *in++;
                      }});
}

void add_grid_patterns(std::vector<DdtPattern>& patterns) {
  constexpr std::size_t kHalo = 3;
  for (const auto& [i, j] : {std::array{32U, 52U}, {24U, 34U}, {19U, 24U}})
    add_wrf(patterns, "WRF_x_vec", "WRF_x_sa", {i, 65, j, kHalo, j - 8});
  for (const auto& [i, j, slab] :
       {std::array{32U, 52U, 23U}, {27U, 41U, 19U}, {24U, 34U, 16U}, {22U, 30U, 14U}, {19U, 24U, 11U}})
    add_wrf(patterns, "WRF_y_vec", "WRF_y_sa", {i, 65, j, slab, kHalo});
  add_milc(patterns, 16, 16, 16, 16);
  add_milc(patterns, 8, 16, 16, 16);
  add_milc(patterns, 8, 8, 8, 16);
  add_milc(patterns, 8, 8, 8, 8);
  for (const std::size_t n : {12U, 33U, 64U, 102U, 162U, 408U, 1020U}) add_lu(patterns, n);
  add_mg(patterns, 34, 18, 18);
  add_mg(patterns, 130, 66, 66);
  add_mg(patterns, 258, 130, 130);
  add_mg(patterns, 514, 258, 258);
  for (const std::size_t n : {256U, 512U, 768U, 1024U, 1536U}) add_fft(patterns, n);
}

using Indices = std::vector<int>;

/// `picked` of the numbers below `total`, in random order, the same in every run and with every library.
Indices shuffled(std::size_t picked, std::size_t total, std::uint64_t seed) {
  Indices all(total);
  std::iota(all.begin(), all.end(), 0);
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < picked; ++i) std::swap(all[i], all[i + random() % (total - i)]);
  all.resize(picked);
  return all;
}

std::vector<std::int64_t> wide(const Indices& indices) {
  return {indices.begin(), indices.end()};
}

/// Atoms' properties: positions of 3 doubles, and `members` arrays of one; each array has room for as many received
/// ones behind its own.
struct Atoms {
  std::size_t members;
  std::size_t own;
  Indices picked;

  std::size_t room() const { return own + picked.size(); }
  /// Where an array begins, in doubles.
  std::size_t array(std::size_t member) const { return (3 + member) * room(); }
  std::size_t doubles() const { return array(members); }

  Layout send_layout() const {
    const Layout element = Layout::of<double>();
    std::vector<LayoutField> fields{{1, 0, element.contiguous(3).indexed_block(1, wide(picked))}};
    const Layout singles = element.indexed_block(1, wide(picked));
    for (std::size_t i = 0; i < members; ++i) fields.push_back({1, static_cast<std::int64_t>(8 * array(i)), singles});
    return Layout::structure(fields);
  }
  Layout receive_layout() const {
    const auto count = static_cast<std::int64_t>(picked.size());
    std::vector<LayoutField> fields{{3 * count, static_cast<std::int64_t>(24 * own), Layout::of<double>()}};
    for (std::size_t i = 0; i < members; ++i)
      fields.push_back({count, static_cast<std::int64_t>(8 * (array(i) + own)), Layout::of<double>()});
    return Layout::structure(fields);
  }
  void pack(const std::byte* memory, std::byte* packed) const {
    auto* out = values<double>(packed);
    const auto* positions = values<double>(memory);
    for (const int index : picked) {
      *out++ = positions[3 * index];
      *out++ = positions[3 * index + 1];
      *out++ = positions[3 * index + 2];
    }
    for (std::size_t i = 0; i < members; ++i) {
      const auto* from = values<double>(memory, array(i));
      for (const int index : picked) *out++ = from[index];
    }
  }
  void unpack(const std::byte* packed, std::byte* memory) const {
    const auto* in = values<double>(packed);
    auto* positions = values<double>(memory, 3 * own);
    for (std::size_t i = 0; i < 3 * picked.size(); ++i) positions[i] = *in++;
    for (std::size_t member = 0; member < members; ++member) {
      auto* to = values<double>(memory, array(member) + own);
      for (std::size_t i = 0; i < picked.size(); ++i) to[i] = *in++;
    }
  }
};

void add_lammps(std::vector<DdtPattern>& patterns, const char* name, std::size_t members, std::size_t picked,
                std::size_t own) {
  Atoms atoms{members, own, shuffled(picked, own, 1)};
  const std::size_t bytes = 8 * atoms.doubles();
  patterns.push_back({name,
                      fmt::format("{}of{}", picked, own),
                      {atoms.send_layout(), 1, bytes},
                      {atoms.receive_layout(), 1, bytes},
                      0,
                      [atoms](const std::byte* memory, std::byte* packed) { atoms.pack(memory, packed); },
                      [atoms](const std::byte* packed, std::byte* memory) { atoms.unpack(packed, memory); }});
}

/// Points of a mesh, each of Floats floats, picked out of one array or two that lie one behind the other.
template <std::size_t Floats>
struct Points {
  struct Part {
    std::size_t first;  ///< Float.
    Indices picked;
  };
  std::vector<Part> parts;

  Layout layout() const {
    std::vector<LayoutField> fields;
    fields.reserve(parts.size());
    for (const Part& part : parts)
      fields.push_back({1, static_cast<std::int64_t>(4 * part.first),
                        Layout::of<float>().contiguous(Floats).indexed_block(1, wide(part.picked))});
    return Layout::structure(fields);
  }
  void pack(const std::byte* memory, std::byte* packed) const {
    auto* out = values<float>(packed);
    for (const Part& part : parts) {
      const auto* from = values<float>(memory, part.first);
      for (const int index : part.picked)
        for (std::size_t i = 0; i < Floats; ++i) *out++ = from[Floats * static_cast<std::size_t>(index) + i];
    }
  }
  void unpack(const std::byte* packed, std::byte* memory) const {
    const auto* in = values<float>(packed);
    for (const Part& part : parts) {
      auto* to = values<float>(memory, part.first);
      for (const int index : part.picked)
        for (std::size_t i = 0; i < Floats; ++i) to[Floats * static_cast<std::size_t>(index) + i] = *in++;
    }
  }
};

template <std::size_t Floats>
void add_points(std::vector<DdtPattern>& patterns, const char* name, const std::string& size,
                const Points<Floats>& sent, const Points<Floats>& received, std::size_t floats) {
  patterns.push_back({name,
                      size,
                      {sent.layout(), 1, 4 * floats},
                      {received.layout(), 1, 4 * floats},
                      0,
                      [sent](const std::byte* memory, std::byte* packed) { sent.pack(memory, packed); },
                      [received](const std::byte* packed, std::byte* memory) { received.unpack(packed, memory); }});
}

void add_specfem_oc(std::vector<DdtPattern>& patterns, std::size_t picked, std::size_t total) {
  const auto points = [=](std::uint64_t seed) { return Points<1>{{{0, shuffled(picked, total, seed)}}}; };
  add_points(patterns, "SPECFEM3D_oc", fmt::format("{}of{}", picked, total), points(1), points(2), total);
}

/// Points of the crust and mantle, and of the inner core. That one of 25 is picked is our choice.
void add_specfem_cm(std::vector<DdtPattern>& patterns, std::size_t mantle, std::size_t core) {
  constexpr std::size_t kOf = 25;
  const auto points = [=](std::uint64_t seed) {
    return Points<3>{{{0, shuffled(mantle, kOf * mantle, seed)}, {3 * kOf * mantle, shuffled(core, kOf * core, seed)}}};
  };
  add_points(patterns, "SPECFEM3D_cm", fmt::format("{}+{}", mantle, core), points(1), points(2),
             3 * kOf * (mantle + core));
}

void add_specfem_mt(std::vector<DdtPattern>& patterns, std::size_t count) {
  const Layout point = Layout::of<float>().contiguous(3);
  const auto signed_count = static_cast<std::int64_t>(count);
  patterns.push_back({"SPECFEM3D_mt",
                      fmt::format("{}", count),
                      {point.vector(signed_count, 1, 2), 1, 24 * count},
                      {point.contiguous(signed_count), 1, 12 * count},
                      0,
                      [count](const std::byte* memory, std::byte* packed) {
                        const auto* from = values<float>(memory);
                        auto* out = values<float>(packed);
                        for (std::size_t i = 0; i < count; ++i)
                          for (std::size_t j = 0; j < 3; ++j) *out++ = from[6 * i + j];
                      },
                      [count](const std::byte* packed, std::byte* memory) {
                        const auto* in = values<float>(packed);
                        auto* to = values<float>(memory);
                        for (std::size_t i = 0; i < 3 * count; ++i) to[i] = in[i];
                      }});
}

void add_list_patterns(std::vector<DdtPattern>& patterns) {
  for (const auto& [picked, own] : {std::pair(3062, 3534), {2243, 2597}, {1662, 1907}})
    add_lammps(patterns, "LAMMPS_full", 5, static_cast<std::size_t>(picked), static_cast<std::size_t>(own));
  for (const auto& [picked, own] : {std::pair(243, 4084), {145, 2157}, {114, 1217}})
    add_lammps(patterns, "LAMMPS_atomic", 3, static_cast<std::size_t>(picked), static_cast<std::size_t>(own));
  for (const auto& [picked, total] : {std::pair(3225, 88881), {1897, 38585}, {877, 12857}, {493, 3697}})
    add_specfem_oc(patterns, static_cast<std::size_t>(picked), static_cast<std::size_t>(total));
  add_specfem_cm(patterns, 11797, 3009);
  add_specfem_cm(patterns, 7125, 1729);
  add_specfem_cm(patterns, 3801, 801);
  add_specfem_cm(patterns, 1957, 245);
  for (const std::size_t count : {7600U, 6400U, 5600U, 6200U}) add_specfem_mt(patterns, count);
}

void finish(const DdtPattern& pattern, DdtSide& side) {
  CORACLE_ASSERT(side.layout.packed_bytes(side.count) == pattern.bytes, "{} {}: a side has {} bytes of {}",
                 pattern.name, pattern.size, side.layout.packed_bytes(side.count), pattern.bytes);
  const Footprint footprint = side.layout.footprint(side.count);
  CORACLE_ASSERT(footprint.low >= 0 && footprint.high <= static_cast<std::int64_t>(side.buffer_bytes),
                 "{} {}: from {} to {} of a buffer of {}", pattern.name, pattern.size, footprint.low, footprint.high,
                 side.buffer_bytes);
}

}  // namespace

std::vector<DdtPattern> ddt_patterns() {
  std::vector<DdtPattern> patterns;
  add_grid_patterns(patterns);
  add_list_patterns(patterns);
  for (DdtPattern& pattern : patterns) {
    pattern.bytes = pattern.send.layout.packed_bytes(pattern.send.count);
    finish(pattern, pattern.send);
    finish(pattern, pattern.receive);
  }
  return patterns;
}

}  // namespace coracle::internals::bench
