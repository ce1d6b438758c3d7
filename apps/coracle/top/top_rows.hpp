// TopRow: a line of `coracle top`: a rank, or ranks that do the same. Pure data and functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/insight/job_picture.hpp"

namespace coracle::internals {

enum class TopOrder : std::uint8_t { rank, wait, processor };

/// "rank", "wait", "processor"; nothing for another word.
std::optional<TopOrder> parse_order(std::string_view word) noexcept;
const char* to_string(TopOrder order) noexcept;

struct TopRow {
  std::vector<std::uint32_t> ranks;  ///< Ascending.
  std::vector<std::uint32_t> nodes;  ///< Of these; ascending, each once.
  insight::Doing doing = insight::Doing::starting;
  std::string does;
  std::string does_alike;    ///< See RankPicture.
  std::uint64_t for_ms = 0;  ///< Of several the longest.
  // Of several the mean; nothing where there is no earlier picture to compare with.
  std::optional<double> processor;      ///< Its share: 1 is a whole one.
  std::optional<double> collectives_s;  ///< Begun per second.
  std::optional<double> sleeps_s;
  double memory_bytes = 0;
};

/// A row for each rank. `before`: an earlier picture of the same job, or null.
std::vector<TopRow> rows_of(const insight::JobPicture& now, const insight::JobPicture* before);
/// One row for all that do the same, also where each does it with another peer. In the order of their first ranks.
std::vector<TopRow> folded(std::vector<TopRow> rows);
/// What is more comes first, and among equals who has the lower rank.
void sort_rows(std::vector<TopRow>& rows, TopOrder order);
/// "0-3,7,9-99"
std::string ranges_text(std::span<const std::uint32_t> numbers);

}  // namespace coracle::internals
