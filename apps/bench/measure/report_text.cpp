// Reports as aligned tables.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "apps/bench/measure/report.hpp"

namespace coracle::internals::bench {
namespace {

struct Column {
  enum Place : std::size_t { name, median, range, bandwidth, limit, ratio, limit_bandwidth, allocations, limit_name };
};
constexpr std::size_t kColumns = Column::limit_name + 1;
/// Those, and then one for each other way of the table's rows.
using Cells = std::vector<std::string>;

/// In the order in which the rows name them.
std::vector<std::string> other_ways(const Table& table) {
  std::vector<std::string> ways;
  for (const Row& row : table.rows)
    for (const OtherWay& other : row.others)
      if (std::find(ways.begin(), ways.end(), other.name) == ways.end()) ways.push_back(other.name);
  return ways;
}

Cells header(const std::vector<std::string>& ways) {
  Cells cells(kColumns);
  cells[Column::median] = "median";
  cells[Column::range] = "fastest .. slowest";
  cells[Column::bandwidth] = "GB/s";
  cells[Column::limit] = "limit";
  cells[Column::ratio] = "x limit";
  cells[Column::limit_bandwidth] = "limit GB/s";
  cells[Column::allocations] = "allocations";
  cells[Column::limit_name] = "the limit is";
  cells.insert(cells.end(), ways.begin(), ways.end());
  return cells;
}

std::string bandwidth_text(const Row& row, const Figure& figure) {
  // Below a few KiB a bandwidth says nothing.
  if (row.bytes < 4096 || row.unit != "ns" || figure.median <= 0) return "";
  return fmt::format("{:.1f}", row.bytes / figure.median);
}

std::string allocations_text(double per_operation) {
  if (per_operation > 0 && per_operation < 1e-3) return "<0.001";
  return fmt::format("{:.3g}", per_operation);
}

Cells cells_of(const Row& row, const std::vector<std::string>& ways) {
  Cells cells(kColumns + ways.size());
  for (const OtherWay& other : row.others) {
    const auto way = std::find(ways.begin(), ways.end(), other.name) - ways.begin();
    cells[kColumns + static_cast<std::size_t>(way)] = text_of(other.value.median, row.unit);
  }
  cells[Column::name] = row.name;
  cells[Column::median] = text_of(row.value.median, row.unit);
  if (row.value.min != row.value.max)
    cells[Column::range] = fmt::format("{} .. {}", text_of(row.value.min, row.unit), text_of(row.value.max, row.unit));
  cells[Column::bandwidth] = bandwidth_text(row, row.value);
  if (row.allocations) cells[Column::allocations] = allocations_text(*row.allocations);
  if (row.limit_name.empty()) return cells;
  cells[Column::limit] = text_of(row.limit.median, row.unit);
  if (row.limit.median > 0) cells[Column::ratio] = fmt::format("{:.2f}", row.value.median / row.limit.median);
  cells[Column::limit_bandwidth] = bandwidth_text(row, row.limit);
  cells[Column::limit_name] = row.limit_name;
  return cells;
}

void print_table(const Table& table) {
  const std::vector<std::string> ways = other_ways(table);
  std::vector<Cells> lines{header(ways)};
  for (const Row& row : table.rows) lines.push_back(cells_of(row, ways));
  const std::size_t columns = kColumns + ways.size();
  std::vector<std::size_t> widths(columns);
  std::vector<bool> used(columns);
  for (std::size_t line = 0; line < lines.size(); ++line) {
    for (std::size_t column = 0; column < columns; ++column) {
      widths[column] = std::max(widths[column], lines[line][column].size());
      if (line > 0 && !lines[line][column].empty()) used[column] = true;
    }
  }
  fmt::print("\n{}\n", table.title);
  for (const Cells& line : lines) {
    std::string text;
    for (std::size_t column = 0; column < columns; ++column) {
      if (!used[column]) continue;
      const bool words = column == Column::name || column == Column::limit_name;
      text += words ? fmt::format("  {:<{}}", line[column], widths[column])
                    : fmt::format("  {:>{}}", line[column], widths[column]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    fmt::print("{}\n", text);
  }
}

}  // namespace

void Report::print() const {
  for (const Table& table : tables_) print_table(table);
}

}  // namespace coracle::internals::bench
