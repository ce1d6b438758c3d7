// Medians, rows to JSON and back, and aligned tables.
#include "apps/bench/measure/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/assert.hpp"

namespace coracle::internals::bench {
namespace {

/// Three significant digits, never as a power of ten.
std::string digits(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  return size >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

template <std::size_t Count>
std::string with_prefix(double value, double step, const std::array<const char*, Count>& units) {
  std::size_t unit = 0;
  while (unit + 1 < Count && std::abs(value) >= step * 0.9995) {
    value /= step;
    ++unit;
  }
  return digits(value) + " " + units[unit];
}

}  // namespace

Figure figure_of(std::vector<double> samples) {
  CORACLE_ASSERT(!samples.empty(), "a figure needs samples");
  std::sort(samples.begin(), samples.end());
  const std::size_t half = samples.size() / 2;
  const double median = samples.size() % 2 == 1 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
  return {median, samples.front(), samples.back()};
}

Figure scaled(const Figure& figure, double factor) noexcept {
  return {figure.median * factor, figure.min * factor, figure.max * factor};
}

std::string text_of(double value, const std::string& unit) {
  if (unit == "ns") return with_prefix<4>(value, 1e3, {"ns", "us", "ms", "s"});
  if (unit == "B") return with_prefix<4>(value, 1024, {"B", "KiB", "MiB", "GiB"});
  return digits(value) + " " + unit;
}

std::string size_text(std::uint64_t bytes) {
  const auto in_units_of = [bytes](double one) { return static_cast<double>(bytes) / one; };
  if (bytes >= 1 << 20) return fmt::format("{:g} MiB", in_units_of(1 << 20));
  if (bytes >= 1 << 10) return fmt::format("{:g} KiB", in_units_of(1 << 10));
  return fmt::format("{} B", bytes);
}

namespace {

nlohmann::json json_of_row(const Row& row) {
  nlohmann::json json = row.value;
  json["name"] = row.name;
  json["unit"] = row.unit;
  if (row.bytes > 0) json["bytes"] = row.bytes;
  if (row.allocations) json["allocations"] = *row.allocations;
  if (!row.details.is_null()) json["details"] = row.details;
  for (const OtherWay& other : row.others) {
    json["others"].push_back(other.value);
    json["others"].back()["name"] = other.name;
  }
  if (!row.limit_name.empty()) {
    json["limit"] = row.limit;
    json["limit"]["name"] = row.limit_name;
    if (row.limit.median > 0) json["ratio"] = row.value.median / row.limit.median;
  }
  return json;
}

Row row_from(const nlohmann::json& json) {
  Row row;
  row.name = json.at("name").get<std::string>();
  row.unit = json.at("unit").get<std::string>();
  row.value = json.get<Figure>();
  row.bytes = json.value("bytes", 0.0);
  if (json.contains("allocations")) row.allocations = json["allocations"].get<double>();
  if (json.contains("details")) row.details = json["details"];
  if (json.contains("others"))
    for (const nlohmann::json& other : json["others"])
      row.others.push_back({other.at("name").get<std::string>(), other.get<Figure>()});
  if (json.contains("limit")) {
    row.limit_name = json["limit"].at("name").get<std::string>();
    row.limit = json["limit"].get<Figure>();
  }
  return row;
}

}  // namespace

void Report::add(const std::string& title, Row row) {
  auto table = std::find_if(tables_.begin(), tables_.end(), [&](const Table& each) { return each.title == title; });
  if (table == tables_.end()) table = tables_.insert(table, Table{title, {}});
  table->rows.push_back(std::move(row));
}

void Report::merge(const Report& other) {
  for (const Table& table : other.tables_)
    for (const Row& row : table.rows) add(table.title, row);
}

const Row& Report::row(const std::string& name) const {
  for (const Table& table : tables_)
    for (const Row& row : table.rows)
      if (row.name == name) return row;
  CORACLE_ASSERT(false, "no row is named {}", name);
  std::abort();
}

nlohmann::json Report::to_json() const {
  nlohmann::json tables = nlohmann::json::array();
  for (const Table& table : tables_) {
    nlohmann::json rows = nlohmann::json::array();
    for (const Row& row : table.rows) rows.push_back(json_of_row(row));
    tables.push_back({{"title", table.title}, {"rows", rows}});
  }
  return tables;
}

Report Report::from_json(const nlohmann::json& json) {
  Report report;
  for (const nlohmann::json& table : json)
    for (const nlohmann::json& row : table.at("rows")) report.add(table.at("title").get<std::string>(), row_from(row));
  return report;
}

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
