// Report: the rows that a benchmark has found, each beside the limit measured in the same run; as a table for people
// and as JSON for programs. It travels as JSON from the job's rank 0 to the command.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace coracle::internals::bench {

/// Per operation; the unit stands beside it.
struct Figure {
  double median = 0;
  double min = 0;
  double max = 0;
};

/// Of at least one sample.
Figure figure_of(std::vector<double> samples);

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Figure, median, min, max)

/// One value that does not vary: a model's.
inline Figure exactly(double value) noexcept {
  return {value, value, value};
}

/// `figure` times a positive `factor`: for batches whose operations are counted otherwise.
Figure scaled(const Figure& figure, double factor) noexcept;

/// A value as people like to read it: three digits and a unit of fitting size. `unit`: "ns", "B", "%", or any other,
/// which is printed as it is.
std::string text_of(double value, const std::string& unit);

/// "8 B", "64 KiB", "16 MiB".
std::string size_text(std::uint64_t bytes);

/// Another way of doing what a row tells of.
struct OtherWay {
  std::string name;
  Figure value;
};

struct Row {
  std::string name = {};
  std::string unit = "ns";  ///< Of `value` and `limit`.
  Figure value = {};
  std::string limit_name = {};  ///< What the hardware, the kernel or a plain program does for the same; empty: nothing.
  Figure limit = {};
  double bytes = 0;                        ///< Moved by one operation; 0: none. Then bandwidths are shown.
  std::optional<double> allocations = {};  ///< Calls of operator new per operation, all ranks together.
  nlohmann::json details = nullptr;        ///< Null, or an object for programs that read the report.
  std::vector<OtherWay> others = {};       ///< In the unit of `value`; a column for each.
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
