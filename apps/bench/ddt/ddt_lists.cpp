// Patterns of elements picked by index: LAMMPS and SPECFEM3D.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "apps/bench/ddt/ddt_patterns.hpp"

namespace coracle::internals::bench {
namespace {

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

template <class T>
const T* values(const std::byte* memory, std::size_t first = 0) {
  return reinterpret_cast<const T*>(memory) + first;
}
template <class T>
T* values(std::byte* memory, std::size_t first = 0) {
  return reinterpret_cast<T*>(memory) + first;
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

}  // namespace

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

}  // namespace coracle::internals::bench
