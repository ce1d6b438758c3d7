// Patterns of parts of grids and matrices: WRF, MILC, NAS LU and MG, and the transposition of a 2-D FFT.
#include <fmt/format.h>

#include <array>

#include "apps/bench/ddt/ddt_patterns.hpp"

namespace coracle::internals::bench {
namespace {

template <class T>
const T* elements(const std::byte* memory) {
  return reinterpret_cast<const T*>(memory);
}
template <class T>
T* elements(std::byte* memory) {
  return reinterpret_cast<T*>(memory);
}

/// Rows of equal elements: for each of the outer, middle and inner loop how often, and how far apart in elements T. All
/// loops written by hand over grids have this form.
template <class T>
struct Loops {
  std::size_t first;
  std::array<std::size_t, 3> counts;
  std::array<std::size_t, 2> steps;  ///< Of the outer two; the inner elements are neighbours.

  T* pack(const std::byte* memory, T* out) const {
    const T* from = elements<T>(memory) + first;
    for (std::size_t i = 0; i < counts[0]; ++i)
      for (std::size_t j = 0; j < counts[1]; ++j)
        for (std::size_t k = 0; k < counts[2]; ++k) *out++ = from[i * steps[0] + j * steps[1] + k];
    return out;
  }
  const T* unpack(const T* in, std::byte* memory) const {
    T* to = elements<T>(memory) + first;
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
                        T* out = elements<T>(packed);
                        for (const Loops<T>& each : loops) out = each.pack(memory, out);
                      },
                      [loops](const std::byte* packed, std::byte* memory) {
                        const T* in = elements<T>(packed);
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
                        const auto* from = elements<Complex>(memory);
                        auto* out = elements<Complex>(packed);
                        for (std::size_t j = 0; j < share; ++j)
                          for (std::size_t i = 0; i < share; ++i) *out++ = from[i * n + j];
                      },
                      [n, share](const std::byte* packed, std::byte* memory) {
                        const auto* in = elements<Complex>(packed);
                        auto* to = elements<Complex>(memory);
                        for (std::size_t i = 0; i < share; ++i)
                          for (std::size_t j = 0; j < share; ++j) to[i * n + j] = *in++;
                      }});
}

}  // namespace

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

}  // namespace coracle::internals::bench
