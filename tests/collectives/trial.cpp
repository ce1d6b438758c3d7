#include "tests/collectives/trial.hpp"

#include <algorithm>
#include <numeric>
#include <source_location>
#include <span>
#include <stdexcept>
#include <vector>

namespace coracle::internals::test {
namespace {

/// x -> scale * x + shift, modulo 2^32. Composition is associative, but not commutative.
struct Affine {
  std::uint32_t scale;
  std::uint32_t shift;
  bool operator==(const Affine&) const = default;
};
struct Compose {
  Affine operator()(const Affine& left, const Affine& right) const {
    return {right.scale * left.scale, right.scale * left.shift + right.shift};
  }
};
/// Commutative, and associative to the bit.
struct Join {
  Affine operator()(const Affine& left, const Affine& right) const {
    return {left.scale * right.scale, left.shift + right.shift};
  }
};

/// What `member` gives at place `i`.
Affine value(const Trial& trial, std::uint32_t member, std::size_t i) {
  const std::uint64_t mixed = (trial.round * 1'000'003 + member * 7919 + i * 31 + 1) * 0x9e3779b97f4a7c15ULL;
  return {static_cast<std::uint32_t>(mixed >> 32) | 1, static_cast<std::uint32_t>(mixed)};
}
std::vector<Affine> values(const Trial& trial, std::uint32_t member, std::size_t count, std::size_t first = 0) {
  std::vector<Affine> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = value(trial, member, first + i);
  return all;
}

Affine combined(const Trial& trial, Affine left, Affine right) {
  return trial.commutative ? Join()(left, right) : Compose()(left, right);
}
/// Of the members before `end`.
std::vector<Affine> combined(const Trial& trial, std::uint32_t end, std::size_t count, std::size_t first = 0) {
  std::vector<Affine> sum = values(trial, 0, count, first);
  for (std::uint32_t member = 1; member < end; ++member)
    for (std::size_t i = 0; i < count; ++i) sum[i] = combined(trial, sum[i], value(trial, member, first + i));
  return sum;
}

void require(const std::vector<Affine>& found, const std::vector<Affine>& expected, const Trial& trial,
             const Team& team) {
  if (found == expected) return;
  std::size_t i = 0;
  while (i < found.size() && i < expected.size() && found[i] == expected[i]) ++i;
  throw std::runtime_error(text_of(trial) + ", a team of " + std::to_string(team.size()) + ", at its member " +
                           std::to_string(team.index()) + ": element " + std::to_string(i) + " is wrong");
}

/// Elements that `from` gives `to`, where they differ; some give nothing.
std::size_t count_of(const Trial& trial, std::uint32_t from, std::uint32_t to) {
  return (from * 5 + to * 3 + trial.round) % 3 * trial.elements + (to % 2 == 0 && trial.elements > 0 ? 1 : 0);
}
std::vector<std::size_t> counts_to_all(const Trial& trial, const Team& team, std::uint32_t from) {
  std::vector<std::size_t> counts(team.size());
  for (std::uint32_t to = 0; to < team.size(); ++to) counts[to] = count_of(trial, from, to);
  return counts;
}
std::vector<std::size_t> counts_from_all(const Trial& trial, const Team& team, std::uint32_t to) {
  std::vector<std::size_t> counts(team.size());
  for (std::uint32_t from = 0; from < team.size(); ++from) counts[from] = count_of(trial, from, to);
  return counts;
}
std::size_t sum_of(const std::vector<std::size_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

template <class Operation>
Task<> attempt_reduction(Team& team, Trial trial, Operation operation) {
  std::vector<Affine> mine = values(trial, team.index(), trial.elements);
  const std::vector<Affine> before = mine;
  if (trial.kind == Kind::reduce) {
    co_await team.reduce(std::span(mine), operation, trial.root);
    require(mine, team.index() == trial.root ? combined(trial, team.size(), trial.elements) : before, trial, team);
  } else if (trial.kind == Kind::all_reduce) {
    co_await team.all_reduce(std::span(mine), operation);
    require(mine, combined(trial, team.size(), trial.elements), trial, team);
  } else if (trial.kind == Kind::scan) {
    co_await team.scan(std::span(mine), operation);
    require(mine, combined(trial, team.index() + 1, trial.elements), trial, team);
  } else {
    const Affine first{3, 5};
    co_await team.exclusive_scan(std::span(mine), operation, first);
    std::vector<Affine> expected(trial.elements, first);
    if (team.index() > 0) {
      const std::vector<Affine> sum = combined(trial, team.index(), trial.elements);
      for (std::size_t i = 0; i < trial.elements; ++i) expected[i] = combined(trial, first, sum[i]);
    }
    require(mine, expected, trial, team);
  }
}

template <class Operation>
Task<> attempt_reduce_scatter(Team& team, Trial trial, Operation operation) {
  const bool differ = trial.kind == Kind::reduce_scatter_v;
  const std::vector<std::size_t> counts =
      differ ? counts_to_all(trial, team, 0) : std::vector<std::size_t>(team.size(), trial.elements);
  const std::vector<Affine> all = values(trial, team.index(), sum_of(counts));
  const std::size_t first = std::accumulate(counts.begin(), counts.begin() + team.index(), std::size_t{0});
  std::vector<Affine> mine(counts[team.index()]);
  if (differ)
    co_await team.reduce_scatter_v(all, counts, std::span(mine), operation);
  else
    co_await team.reduce_scatter(all, std::span(mine), operation);
  require(mine, combined(trial, team.size(), mine.size(), first), trial, team);
}

std::vector<Affine> all_blocks(const Trial& trial, const std::vector<std::size_t>& counts) {
  std::vector<Affine> all;
  for (std::uint32_t member = 0; member < counts.size(); ++member) {
    const std::vector<Affine> block = values(trial, member, counts[member]);
    all.insert(all.end(), block.begin(), block.end());
  }
  return all;
}

Task<> attempt_gather(Team& team, Trial trial) {
  const bool differ = trial.kind == Kind::gather_v || trial.kind == Kind::gather_all_v;
  const bool everywhere = trial.kind == Kind::gather_all || trial.kind == Kind::gather_all_v;
  std::vector<std::size_t> counts =
      differ ? counts_from_all(trial, team, trial.root) : std::vector<std::size_t>(team.size(), trial.elements);
  const std::vector<Affine> mine = values(trial, team.index(), counts[team.index()]);
  const bool receives = everywhere || team.index() == trial.root;
  if (!receives) counts.clear();
  std::vector<Affine> all(sum_of(counts));
  if (trial.kind == Kind::gather) co_await team.gather(mine, std::span(all), trial.root);
  if (trial.kind == Kind::gather_v) co_await team.gather_v(mine, std::span(all), counts, trial.root);
  if (trial.kind == Kind::gather_all) co_await team.gather_all(mine, std::span(all));
  if (trial.kind == Kind::gather_all_v) co_await team.gather_all_v(mine, std::span(all), counts);
  require(all, all_blocks(trial, counts), trial, team);
}

Task<> attempt_scatter(Team& team, Trial trial) {
  const bool differ = trial.kind == Kind::scatter_v;
  std::vector<std::size_t> counts =
      differ ? counts_to_all(trial, team, trial.root) : std::vector<std::size_t>(team.size(), trial.elements);
  std::vector<Affine> mine(counts[team.index()]);
  if (team.index() != trial.root) counts.clear();
  std::vector<Affine> all = all_blocks(trial, counts);
  if (differ)
    co_await team.scatter_v(all, counts, std::span(mine), trial.root);
  else
    co_await team.scatter(all, std::span(mine), trial.root);
  std::fill(all.begin(), all.end(), Affine{0, 0});  // ours again
  require(mine, values(trial, team.index(), mine.size()), trial, team);
}

Task<> attempt_all_to_all(Team& team, Trial trial) {
  const bool differ = trial.kind == Kind::all_to_all_v;
  const std::vector<std::size_t> same(team.size(), trial.elements);
  const std::vector<std::size_t> to = differ ? counts_to_all(trial, team, team.index()) : same;
  const std::vector<std::size_t> from = differ ? counts_from_all(trial, team, team.index()) : same;
  std::vector<Affine> source;
  std::vector<Affine> expected;
  for (std::uint32_t member = 0; member < team.size(); ++member) {
    // What goes from one to another depends on both.
    const std::vector<Affine> sent = values(trial, team.index(), to[member], member * 100);
    source.insert(source.end(), sent.begin(), sent.end());
    const std::vector<Affine> came = values(trial, member, from[member], team.index() * 100);
    expected.insert(expected.end(), came.begin(), came.end());
  }
  std::vector<Affine> target(expected.size());
  if (differ)
    co_await team.all_to_all_v(source, to, std::span(target), from);
  else
    co_await team.all_to_all(source, std::span(target));
  std::fill(source.begin(), source.end(), Affine{0, 0});  // ours again
  require(target, expected, trial, team);
}

template <class Operation>
Task<> attempt_apart(Team& team, Trial trial, Operation operation) {
  const std::vector<Affine> mine = values(trial, team.index(), trial.elements);
  const bool takes = trial.kind != Kind::reduce_apart || team.index() == trial.root;
  std::vector<Affine> result(takes ? trial.elements : 0, Affine{7, 7});
  std::vector<Affine> expected = result;
  const auto source = std::as_bytes(std::span(mine));
  const auto target = std::as_writable_bytes(std::span(result));
  const Reduction reduction = reduction_of<Affine>(operation);
  const auto where = std::source_location::current();
  if (trial.kind == Kind::reduce_apart)
    co_await reduce_bytes(team, source, target, reduction, trial.root, Algorithm::automatic, where);
  if (trial.kind == Kind::all_reduce_apart)
    co_await all_reduce_bytes(team, source, target, reduction, Algorithm::automatic, where);
  if (trial.kind == Kind::scan_apart) co_await scan_bytes(team, source, target, reduction, where);
  if (trial.kind == Kind::exclusive_scan_apart)
    co_await exclusive_scan_bytes(team, source, target, reduction, nullptr, where);
  const std::uint32_t end = trial.kind == Kind::scan_apart             ? team.index() + 1
                            : trial.kind == Kind::exclusive_scan_apart ? team.index()
                                                                       : team.size();
  if (takes && end > 0) expected = combined(trial, end, trial.elements);
  require(result, expected, trial, team);
  require(mine, values(trial, team.index(), trial.elements), trial, team);
}

/// Blocks from the last to the first, with a gap before each; where there are none, a buffer of none.
class Placed {
 public:
  Placed(const Trial& trial, const std::vector<std::size_t>& counts) : counts_(counts), begins_(counts.size()) {
    std::size_t end = 0;
    for (std::size_t member = counts.size(); member-- > 0;) {
      begins_[member] = counts[member] > 0 ? end + 1 + (member + trial.round) % 3 : 0;
      if (counts[member] > 0) end = begins_[member] + counts[member];
    }
    memory_.assign(end, Affine{7, 7});
  }
  void put(std::uint32_t member, const std::vector<Affine>& block) {
    std::copy(block.begin(), block.end(), memory_.begin() + static_cast<std::ptrdiff_t>(begins_[member]));
  }
  const std::vector<Affine>& memory() const { return memory_; }
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(memory_)); }
  Blocks blocks() const {
    std::vector<std::size_t> sizes;
    std::vector<std::size_t> begins;
    for (std::size_t member = 0; member < counts_.size(); ++member) {
      sizes.push_back(counts_[member] * sizeof(Affine));
      begins.push_back(begins_[member] * sizeof(Affine));
    }
    return Blocks::placed(sizes, begins);
  }

 private:
  std::vector<std::size_t> counts_;
  std::vector<std::size_t> begins_;
  std::vector<Affine> memory_;
};

/// Some members of a gather_all have their blocks in a row.
Task<> attempt_gather_placed(Team& team, Trial trial) {
  const bool everywhere = trial.kind == Kind::gather_all_placed;
  const std::vector<std::size_t> counts = counts_from_all(trial, team, trial.root);
  const std::vector<Affine> mine = values(trial, team.index(), counts[team.index()]);
  const auto source = std::as_bytes(std::span(mine));
  const auto where = std::source_location::current();
  if (everywhere && team.index() % 3 == 2) {
    std::vector<Affine> all(sum_of(counts));
    co_await gather_all_bytes(team, source, std::as_writable_bytes(std::span(all)), Blocks(counts, sizeof(Affine)),
                              Algorithm::automatic, where);
    require(all, all_blocks(trial, counts), trial, team);
    co_return;
  }
  const bool receives = everywhere || team.index() == trial.root;
  Placed all(trial, receives ? counts : std::vector<std::size_t>(team.size()));
  Placed expected = all;
  for (std::uint32_t member = 0; receives && member < team.size(); ++member)
    expected.put(member, values(trial, member, counts[member]));
  if (everywhere)
    co_await gather_all_bytes(team, source, all.bytes(), all.blocks(), Algorithm::automatic, where);
  else
    co_await gather_bytes(team, source, all.bytes(), all.blocks(), false, trial.root, Algorithm::automatic, where);
  require(all.memory(), expected.memory(), trial, team);
}

Task<> attempt_scatter_placed(Team& team, Trial trial) {
  const std::vector<std::size_t> counts = counts_to_all(trial, team, trial.root);
  const bool gives = team.index() == trial.root;
  Placed all(trial, gives ? counts : std::vector<std::size_t>(team.size()));
  for (std::uint32_t member = 0; gives && member < team.size(); ++member)
    all.put(member, values(trial, member, counts[member]));
  std::vector<Affine> mine(counts[team.index()]);
  co_await scatter_bytes(team, all.bytes(), std::as_writable_bytes(std::span(mine)), all.blocks(), false, trial.root,
                         Algorithm::automatic, std::source_location::current());
  require(mine, values(trial, team.index(), mine.size()), trial, team);
}

Task<> attempt_all_to_all_placed(Team& team, Trial trial) {
  const std::vector<std::size_t> to = counts_to_all(trial, team, team.index());
  const std::vector<std::size_t> from = counts_from_all(trial, team, team.index());
  Placed source(trial, to);
  Placed target(trial, from);
  Placed expected = target;
  for (std::uint32_t member = 0; member < team.size(); ++member) {
    source.put(member, values(trial, team.index(), to[member], member * 100));
    expected.put(member, values(trial, member, from[member], team.index() * 100));
  }
  co_await all_to_all_bytes(team, source.bytes(), source.blocks(), target.bytes(), target.blocks(), false,
                            Algorithm::automatic, std::source_location::current());
  require(target.memory(), expected.memory(), trial, team);
}

/// A sender has gaps, a receiver the blocks of all as columns of a matrix.
Task<> attempt_all_to_all_layouts(Team& team, Trial trial) {
  const bool differ = trial.kind == Kind::all_to_all_w;
  const std::vector<std::size_t> same(team.size(), trial.elements);
  const std::vector<std::size_t> to = differ ? counts_to_all(trial, team, team.index()) : same;
  const std::vector<std::size_t> from = differ ? counts_from_all(trial, team, team.index()) : same;
  const std::size_t gap = 1 + team.index() % 3;
  // More than there is, so that there is a place for each member also when nothing is sent.
  std::vector<Affine> source(sum_of(to) * gap + 1);
  std::vector<Affine> expected((*std::max_element(from.begin(), from.end()) + 1) * team.size(), Affine{7, 7});
  std::vector<Affine> target = expected;
  const Layout one = Layout::of<Affine>().resized(0, static_cast<std::int64_t>(gap * sizeof(Affine)));
  const Layout element = Layout::of<Affine>();
  std::vector<ScatteredSource> sources;
  std::vector<ScatteredTarget> targets;
  std::vector<Layout> columns;
  columns.reserve(team.size());
  Affine* place = source.data();
  for (std::uint32_t member = 0; member < team.size(); ++member) {
    const std::vector<Affine> sent = values(trial, team.index(), to[member], member * 100);
    const std::vector<Affine> came = values(trial, member, from[member], team.index() * 100);
    sources.push_back({place, one, to[member]});
    for (const Affine& value : sent) {
      *place = value;
      place += gap;
    }
    columns.push_back(element.vector(static_cast<std::int64_t>(from[member]), 1, team.size())
                          .resized(0, static_cast<std::int64_t>(sizeof(Affine))));
    targets.push_back({target.data() + member, columns.back(), 1});
    for (std::size_t i = 0; i < came.size(); ++i) expected[i * team.size() + member] = came[i];
  }
  if (differ)
    co_await team.all_to_all_w(sources, targets);
  else
    co_await team.all_to_all(sources.front(), targets.front());
  std::fill(source.begin(), source.end(), Affine{0, 0});  // ours again
  require(target, expected, trial, team);
}

}  // namespace

std::string text_of(const Trial& trial) {
  constexpr const char* kNames[kKinds] = {"reduce",
                                          "all_reduce",
                                          "reduce_scatter",
                                          "reduce_scatter_v",
                                          "scan",
                                          "exclusive_scan",
                                          "gather",
                                          "gather_v",
                                          "gather_all",
                                          "gather_all_v",
                                          "scatter",
                                          "scatter_v",
                                          "all_to_all",
                                          "all_to_all_v",
                                          "all_to_all of layouts",
                                          "all_to_all_w",
                                          "reduce apart",
                                          "all_reduce apart",
                                          "scan apart",
                                          "exclusive_scan apart",
                                          "gather, placed",
                                          "gather_all, placed",
                                          "scatter, placed",
                                          "all_to_all, placed"};
  return std::string(kNames[static_cast<std::uint32_t>(trial.kind)]) + " of " + std::to_string(trial.elements) +
         " elements, root " + std::to_string(trial.root) + ", round " + std::to_string(trial.round) +
         (trial.commutative ? ", commutative" : "");
}

Task<> attempt(Team& team, Trial trial) {
  switch (trial.kind) {
    case Kind::reduce:
    case Kind::all_reduce:
    case Kind::scan:
    case Kind::exclusive_scan:
      return trial.commutative ? attempt_reduction(team, trial, commutative(Join()))
                               : attempt_reduction(team, trial, Compose());
    case Kind::reduce_scatter:
    case Kind::reduce_scatter_v:
      return trial.commutative ? attempt_reduce_scatter(team, trial, commutative(Join()))
                               : attempt_reduce_scatter(team, trial, Compose());
    case Kind::gather:
    case Kind::gather_v:
    case Kind::gather_all:
    case Kind::gather_all_v:
      return attempt_gather(team, trial);
    case Kind::scatter:
    case Kind::scatter_v:
      return attempt_scatter(team, trial);
    case Kind::all_to_all:
    case Kind::all_to_all_v:
      return attempt_all_to_all(team, trial);
    case Kind::all_to_all_layouts:
    case Kind::all_to_all_w:
      return attempt_all_to_all_layouts(team, trial);
    case Kind::reduce_apart:
    case Kind::all_reduce_apart:
    case Kind::scan_apart:
    case Kind::exclusive_scan_apart:
      return trial.commutative ? attempt_apart(team, trial, commutative(Join()))
                               : attempt_apart(team, trial, Compose());
    case Kind::gather_placed:
    case Kind::gather_all_placed:
      return attempt_gather_placed(team, trial);
    case Kind::scatter_placed:
      return attempt_scatter_placed(team, trial);
    case Kind::all_to_all_placed:
      return attempt_all_to_all_placed(team, trial);
  }
  throw std::logic_error("no such kind");
}

}  // namespace coracle::internals::test
