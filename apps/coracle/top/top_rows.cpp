// Rates by two pictures, folding and sorting.
#include "apps/coracle/top/top_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

namespace coracle::internals {
namespace {

using insight::JobPicture;
using insight::RankPicture;

constexpr std::array kOrders{TopOrder::rank, TopOrder::wait, TopOrder::processor};

/// What is counted can be less than before: of a rank that has left a team, say.
double difference(std::uint64_t now, std::uint64_t before) noexcept {
  return now > before ? static_cast<double>(now - before) : 0;
}

const RankPicture* find(const JobPicture* picture, std::uint32_t rank) {
  if (picture == nullptr || rank >= picture->ranks.size() || picture->ranks[rank].rank != rank) return nullptr;
  return &picture->ranks[rank];
}

TopRow row_of(const RankPicture& now, const RankPicture* before, double seconds) {
  TopRow row;
  row.ranks = {now.rank};
  row.nodes = {now.node};
  row.doing = now.doing;
  row.does = now.does;
  row.does_alike = now.does_alike;
  row.for_ms = now.for_ms;
  row.memory_bytes = static_cast<double>(now.memory_bytes);
  if (before == nullptr || seconds <= 0) return row;
  row.processor = difference(now.processor_ms, before->processor_ms) / 1000 / seconds;
  row.collectives_s = difference(now.collectives, before->collectives) / seconds;
  row.sleeps_s = difference(now.sleeps, before->sleeps) / seconds;
  return row;
}

/// Of `count` ranks and one more.
void add_to_mean(double& mean, double value, double count) noexcept {
  mean = (mean * count + value) / (count + 1);
}

void add_to_mean(std::optional<double>& mean, std::optional<double> value, double count) noexcept {
  if (mean && value)
    add_to_mean(*mean, *value, count);
  else
    mean.reset();
}

void add(TopRow& to, const TopRow& row) {
  const auto count = static_cast<double>(to.ranks.size());
  if (to.does != row.does) to.does = to.does_alike;
  to.for_ms = std::max(to.for_ms, row.for_ms);
  add_to_mean(to.processor, row.processor, count);
  add_to_mean(to.collectives_s, row.collectives_s, count);
  add_to_mean(to.sleeps_s, row.sleeps_s, count);
  add_to_mean(to.memory_bytes, row.memory_bytes, count);
  to.ranks.push_back(row.ranks.front());
  if (to.nodes.back() != row.nodes.front()) to.nodes.push_back(row.nodes.front());
}

bool waits(const TopRow& row) noexcept {
  return row.doing == insight::Doing::waiting || row.doing == insight::Doing::stopped;
}

}  // namespace

std::optional<TopOrder> parse_order(std::string_view word) noexcept {
  const auto found =
      std::ranges::find(kOrders, word, [](TopOrder order) { return std::string_view(to_string(order)); });
  return found == kOrders.end() ? std::nullopt : std::optional(*found);
}

const char* to_string(TopOrder order) noexcept {
  switch (order) {
    case TopOrder::rank:
      return "rank";
    case TopOrder::wait:
      return "wait";
    case TopOrder::processor:
      return "processor";
  }
  return "";
}

std::vector<TopRow> rows_of(const JobPicture& now, const JobPicture* before) {
  const double seconds = before == nullptr ? 0 : difference(now.age_ms, before->age_ms) / 1000;
  std::vector<TopRow> rows;
  rows.reserve(now.ranks.size());
  for (const RankPicture& rank : now.ranks) rows.push_back(row_of(rank, find(before, rank.rank), seconds));
  return rows;
}

std::vector<TopRow> folded(std::vector<TopRow> rows) {
  std::vector<TopRow> groups;
  std::map<std::pair<insight::Doing, std::string>, std::size_t> places;
  for (TopRow& row : rows) {
    const auto [place, is_new] = places.try_emplace({row.doing, row.does_alike}, groups.size());
    if (is_new)
      groups.push_back(std::move(row));
    else
      add(groups[place->second], row);
  }
  return groups;
}

void sort_rows(std::vector<TopRow>& rows, TopOrder order) {
  const auto first = [](const TopRow& row) { return row.ranks.front(); };
  std::ranges::sort(rows, {}, first);
  if (order == TopOrder::wait)
    std::ranges::stable_sort(rows, std::greater<>(),
                             [](const TopRow& row) { return std::pair(waits(row), waits(row) ? row.for_ms : 0); });
  if (order == TopOrder::processor)
    std::ranges::stable_sort(rows, std::greater<>(), [](const TopRow& row) { return row.processor.value_or(0); });
}

std::string ranges_text(std::span<const std::uint32_t> numbers) {
  std::string text;
  for (std::size_t begin = 0; begin < numbers.size();) {
    std::size_t end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += fmt::format("{}", numbers[begin]);
    if (end > begin + 1) text += fmt::format("-{}", numbers[end - 1]);
    begin = end;
  }
  return text;
}

}  // namespace coracle::internals
