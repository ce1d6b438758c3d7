#include "tests/collectives/scattered_trial.hpp"

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/layout/area.hpp"
#include "tests/layout/random_layout.hpp"

namespace coracle::internals::test {
namespace {

std::uint64_t mixed(std::uint64_t first, std::uint64_t second) {
  return (first ^ (second + 0x9e3779b97f4a7c15ULL + (first << 6U) + (first >> 2U))) * 0xff51afd7ed558ccdULL;
}

/// What stands at `place` of the packed order of the block that `from` sends to `to`.
std::byte value(const ScatteredTrial& trial, std::uint32_t from, std::uint32_t to, std::uint64_t place) {
  return static_cast<std::byte>(mixed(mixed(trial.seed, from * 1'000 + to), place) >> 32U);
}

std::uint64_t bytes_between(const ScatteredTrial& trial, std::uint32_t from, std::uint32_t to) {
  if (!trial.differ) return trial.block_bytes;
  const std::uint64_t drawn = mixed(trial.seed, to * 1'000 + from) >> 40U;
  return drawn % 5 == 0 ? 0 : drawn % (2 * trial.block_bytes + 1);
}

/// A random layout, as often as it fits, and the rest as plain bytes behind all that.
Described of_size(Dice& dice, std::uint64_t bytes) {
  const Described part = random_layout(dice, 3);
  const std::uint64_t size = part.map.bytes.size();
  const std::uint64_t fits = size == 0 ? 0 : bytes / size;
  const auto times = static_cast<std::int64_t>(std::min<std::uint64_t>(fits, 4));
  Typemap map = part.map.repeated(times);
  const std::uint64_t rest = bytes - map.bytes.size();
  const std::int64_t behind = map.true_upper_bound() + dice.between(0, 9);
  map.append(plain_bytes(static_cast<std::int64_t>(rest)), behind);
  return {Layout::structure({{times, 0, part.layout}, {static_cast<std::int64_t>(rest), behind, Layout::bytes(1)}}),
          map};
}

/// The same at random, until its bytes don't lie over each other in so many repetitions.
Described writable_of_size(Dice& dice, std::uint64_t bytes, std::uint32_t repetitions) {
  while (true) {
    Described described = of_size(dice, bytes);
    if (!described.map.repeated(repetitions).overlaps()) return described;
  }
}

/// Writes a block of the packed order as its sender has it.
void write(Area& area, const ScatteredTrial& trial, std::uint32_t from, std::uint32_t to, std::uint32_t repetition) {
  const std::uint64_t bytes = area.what.map.bytes.size();
  for (std::uint64_t i = 0; i < bytes; ++i) area.at(repetition * bytes + i) = value(trial, from, to, i);
}

/// One area for all members, or one for each. A deque, since layouts are referred to.
std::deque<Area> areas_of(Dice& dice, const ScatteredTrial& trial, const Team& team, bool receives) {
  std::deque<Area> areas;
  const std::uint32_t number = trial.differ ? team.size() : 1;
  const std::uint32_t repetitions = trial.differ ? 1 : team.size();
  for (std::uint32_t member = 0; member < number; ++member) {
    const std::uint64_t bytes =
        receives ? bytes_between(trial, member, team.index()) : bytes_between(trial, team.index(), member);
    // What is sent may lie over itself, but then its bytes could not be told apart.
    areas.emplace_back(writable_of_size(dice, bytes, repetitions), repetitions);
  }
  return areas;
}

void require(const std::deque<Area>& found, const std::deque<Area>& expected, const ScatteredTrial& trial,
             const Team& team) {
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i].memory != expected[i].memory)
      throw std::runtime_error("all_to_all of layouts, seed " + std::to_string(trial.seed) + ", about " +
                               std::to_string(trial.block_bytes) + " bytes" + (trial.differ ? " that differ" : "") +
                               ", a team of " + std::to_string(team.size()) + ", at its member " +
                               std::to_string(team.index()) + ": area " + std::to_string(i) +
                               " is wrong: " + found[i].what.layout.describe());
}

}  // namespace

Task<> attempt(Team& team, ScatteredTrial trial) {
  Dice dice(mixed(trial.seed, team.index()));
  std::deque<Area> sent = areas_of(dice, trial, team, false);
  std::deque<Area> received = areas_of(dice, trial, team, true);
  std::deque<Area> expected = received;
  std::vector<ScatteredSource> sources;
  std::vector<ScatteredTarget> targets;
  for (std::uint32_t member = 0; member < team.size(); ++member) {
    const std::size_t area = trial.differ ? member : 0;
    const std::uint32_t repetition = trial.differ ? 0 : member;
    write(sent[area], trial, team.index(), member, repetition);
    write(expected[area], trial, member, team.index(), repetition);
    sources.push_back({sent[area].origin(), sent[area].what.layout, 1});
    targets.push_back({received[area].origin(), received[area].what.layout, 1});
  }
  if (trial.differ)
    co_await team.all_to_all_w(sources, targets);
  else
    co_await team.all_to_all(sources.front(), targets.front());
  for (Area& area : sent) std::fill(area.memory.begin(), area.memory.end(), std::byte{0});  // ours again
  require(received, expected, trial, team);
}

}  // namespace coracle::internals::test
