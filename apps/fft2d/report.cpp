// Medians, lines and JSON.
#include "apps/fft2d/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <nlohmann/json.hpp>

namespace coracle::fft2d {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

}  // namespace

double Report::median_s() const {
  return median(seconds);
}

double Report::median_share() const {
  return median(transposing);
}

double Report::transposed_bytes_per_s() const {
  const double bytes = 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * sizeof(std::complex<double>);
  const double taken = median_s() * median_share();
  return taken > 0 ? bytes / taken : 0;
}

std::string to_text(const Report& report) {
  std::string text = fmt::format("2-D FFT of {} x {} complex numbers on {} rank{}, placement {}\n", report.rows,
                                 report.columns, report.ranks, report.ranks == 1 ? "" : "s", report.placement);
  text += fmt::format("  transform    {:>10}  median of {}; the quickest {}\n", time_text(report.median_s()),
                      report.seconds.size(), time_text(std::ranges::min(report.seconds)));
  text += fmt::format("  transposing  {:>8.1f} %  of it, twice: {:.2f} GB/s\n", 100 * report.median_share(),
                      report.transposed_bytes_per_s() * 1e-9);
  if (report.difference)
    text += fmt::format("  verified                 against a serial transform, which took {}: {:.1e} apart\n",
                        time_text(report.serial_s), *report.difference);
  return text;
}

std::string to_json(const Report& report) {
  nlohmann::json object = {
      {"rows", report.rows},
      {"columns", report.columns},
      {"ranks", report.ranks},
      {"placement", report.placement},
      {"seconds", report.seconds},
      {"transposing", report.transposing},
      {"median_s", report.median_s()},
      {"median_transposing", report.median_share()},
      {"transposed_bytes_per_s", report.transposed_bytes_per_s()},
      {"verified", report.difference.has_value()},
  };
  if (report.difference) {
    object["difference"] = *report.difference;
    object["serial_s"] = report.serial_s;
  }
  return object.dump(2) + "\n";
}

}  // namespace coracle::fft2d
