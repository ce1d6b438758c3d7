// Report: the rows that a benchmark has found, each beside the limit measured in the same run; as a table for people
// and as JSON for programs. It travels as JSON from the job's rank 0 to the command.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/bench/measure/figure.hpp"

namespace coracle::internals::bench {

/// Another way of doing what a row tells of.
struct OtherWay {
  std::string name;
  Figure value;
};

struct Row {
  std::string name;
  std::string unit = "ns";  ///< Of `value` and `limit`.
  Figure value;
  std::string limit_name;  ///< What the hardware, the kernel or a plain program does for the same; empty: nothing.
  Figure limit;
  double bytes = 0;                   ///< Moved by one operation; 0: none. Then bandwidths are shown.
  std::optional<double> allocations;  ///< Calls of operator new per operation, all ranks together.
  nlohmann::json details = nullptr;   ///< Null, or an object for programs that read the report.
  std::vector<OtherWay> others = {};  ///< In the unit of `value`; a column for each.
};

struct Table {
  std::string title;
  std::vector<Row> rows;
};

class Report {
 public:
  /// Adds to the table with this title, which is made if it isn't there.
  void add(const std::string& title, Row row);
  /// Adds all rows of `other`.
  void merge(const Report& other);
  const std::vector<Table>& tables() const noexcept { return tables_; }
  /// The row with this name; its absence is a programmer's mistake.
  const Row& row(const std::string& name) const;

  nlohmann::json to_json() const;
  static Report from_json(const nlohmann::json& json);
  /// Aligned, to standard output.
  void print() const;

 private:
  std::vector<Table> tables_;
};

}  // namespace coracle::internals::bench
