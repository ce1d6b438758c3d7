// The command line of `fft2d`, and its report: medians, lines and JSON.
#include "apps/fft2d/user_interface.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <nlohmann/json.hpp>

#include "apps/common/command_line.hpp"
#include "apps/fft2d/pnm.hpp"

namespace coracle::fft2d {
namespace {

/// "ROWSxCOLUMNS", or "N" for both.
struct SizeWords {
  std::string rows;
  std::string columns;

  explicit SizeWords(const std::string& text) {
    const std::size_t cross = text.find('x');
    rows = text.substr(0, cross);
    columns = cross == std::string::npos ? rows : text.substr(cross + 1);
  }
};

std::string check_size(const std::string& text) {
  const SizeWords words(text);
  std::string rows = words.rows;
  std::string columns = words.columns;
  const Check side = whole_number(1, kPixelsMax);
  if (side.complaint(rows).empty() && side.complaint(columns).empty()) return "";
  return fmt::format("{} is neither N nor ROWSxCOLUMNS, with sides from 1 to {}", text, kPixelsMax);
}

}  // namespace

std::variant<Options, int> parse_options(int argc, char** argv) {
  CommandLine app(
      "2-D Fourier transforms over the ranks of a Coracle job, transposed by layouts; or a picture's low-pass "
      "filter.",
      "fft2d");
  Options options;
  std::string size = "1024";
  const Option size_option =
      app.add_value("--size", size, "SIZE", "elements of the grid: N, or ROWSxCOLUMNS", {check_size});
  const Option repeat =
      app.add_value("--repeat", options.repetitions, "N", "transforms to time", whole_number(1, 1'000'000));
  const Option seed = app.add_option("--seed", options.seed, "of the random numbers").check(any_count()).show_default();
  app.add_flag("--verify", options.verify, "compare with a serial transform (always done up to 2^22 elements)");
  app.add_option("--json", options.json_path, "write the results to a file too").type_name("FILE");
  const Option image = app.add_option("--image", options.image, "filter this PGM or PPM instead").type_name("FILE");
  const Option out =
      app.add_option("--out", options.out, "with --image: where to write the filtered picture").type_name("FILE");
  const Option cutoff = app.add_value("--cutoff", options.cutoff, "FREQUENCY",
                                      "with --image: what changes so often per pixel is halved", positive_number(1));
  image.needs(out).excludes(size_option).excludes(repeat).excludes(seed);
  out.needs(image);
  cutoff.needs(image);
  if (const std::optional<int> status = app.parse(argc, argv)) return *status;
  const SizeWords words(size);
  options.rows = std::stoul(words.rows);
  options.columns = std::stoul(words.columns);
  return options;
}

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
