// Rows to JSON and back, and merging.
#include "apps/bench/measure/report.hpp"

#include <algorithm>
#include <utility>

#include "runtime/core/assert.hpp"

namespace coracle::internals::bench {
namespace {

nlohmann::json json_of_part(const Figure& figure) {
  return {{"median", figure.median}, {"min", figure.min}, {"max", figure.max}};
}

Figure figure_from(const nlohmann::json& json) {
  return {json.at("median").get<double>(), json.at("min").get<double>(), json.at("max").get<double>()};
}

nlohmann::json json_of_part(const Row& row) {
  nlohmann::json json = json_of_part(row.value);
  json["name"] = row.name;
  json["unit"] = row.unit;
  if (row.bytes > 0) json["bytes"] = row.bytes;
  if (row.allocations) json["allocations"] = *row.allocations;
  if (!row.details.is_null()) json["details"] = row.details;
  for (const OtherWay& other : row.others) {
    json["others"].push_back(json_of_part(other.value));
    json["others"].back()["name"] = other.name;
  }
  if (!row.limit_name.empty()) {
    json["limit"] = json_of_part(row.limit);
    json["limit"]["name"] = row.limit_name;
    if (row.limit.median > 0) json["ratio"] = row.value.median / row.limit.median;
  }
  return json;
}

Row row_from(const nlohmann::json& json) {
  Row row;
  row.name = json.at("name").get<std::string>();
  row.unit = json.at("unit").get<std::string>();
  row.value = figure_from(json);
  row.bytes = json.value("bytes", 0.0);
  if (json.contains("allocations")) row.allocations = json["allocations"].get<double>();
  if (json.contains("details")) row.details = json["details"];
  if (json.contains("others"))
    for (const nlohmann::json& other : json["others"])
      row.others.push_back({other.at("name").get<std::string>(), figure_from(other)});
  if (json.contains("limit")) {
    row.limit_name = json["limit"].at("name").get<std::string>();
    row.limit = figure_from(json["limit"]);
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
    for (const Row& row : table.rows) rows.push_back(json_of_part(row));
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

}  // namespace coracle::internals::bench
