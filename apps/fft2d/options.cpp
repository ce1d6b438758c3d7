// The command line of `fft2d`.
#include "apps/fft2d/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

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
  const CLI::Validator side = whole_number(1, kPixelsMax);
  if (side(rows).empty() && side(columns).empty()) return "";
  return fmt::format("{} is neither N nor ROWSxCOLUMNS, with sides from 1 to {}", text, kPixelsMax);
}

}  // namespace

std::variant<Options, int> parse_options(int argc, char** argv) {
  CLI::App app(
      "2-D Fourier transforms over the ranks of a Coracle job, transposed by layouts; or a picture's low-pass "
      "filter.",
      "fft2d");
  Options options;
  std::string size = "1024";
  auto* const size_option =
      add_value(app, "--size", size, "SIZE", "elements of the grid: N, or ROWSxCOLUMNS", {check_size, ""});
  auto* const repeat =
      add_value(app, "--repeat", options.repetitions, "N", "transforms to time", whole_number(1, 1'000'000));
  auto* const seed =
      app.add_option("--seed", options.seed, "of the random numbers")->check(any_count())->capture_default_str();
  app.add_flag("--verify", options.verify, "compare with a serial transform (always done up to 2^22 elements)");
  app.add_option("--json", options.json_path, "write the results to a file too")->type_name("FILE");
  auto* const image = app.add_option("--image", options.image, "filter this PGM or PPM instead")->type_name("FILE");
  auto* const out =
      app.add_option("--out", options.out, "with --image: where to write the filtered picture")->type_name("FILE");
  auto* const cutoff = add_value(app, "--cutoff", options.cutoff, "FREQUENCY",
                                 "with --image: what changes so often per pixel is halved", positive_number(1));
  image->needs(out)->excludes(size_option)->excludes(repeat)->excludes(seed);
  out->needs(image);
  cutoff->needs(image);
  if (const std::optional<int> status = parse_command_line(app, argc, argv)) return *status;
  const SizeWords words(size);
  options.rows = std::stoul(words.rows);
  options.columns = std::stoul(words.columns);
  return options;
}

}  // namespace coracle::fft2d
