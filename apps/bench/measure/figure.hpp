// What a benchmark finds: a figure is the median of many batches, and how far they were apart.
#pragma once

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

}  // namespace coracle::internals::bench
