// The command line of `himeno`.
#include "apps/himeno/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <string_view>

#include <coracle/gpu.hpp>
#include "apps/common/command_line.hpp"

namespace coracle::himeno {
namespace {

constexpr std::size_t kSideMin = 3;  // one point that changes, and its neighbours
constexpr std::size_t kSideMax = 4096;

struct Named {
  const char* name;
  Triple size;
};
constexpr Named kSizes[] = {{"XS", {32, 32, 64}},
                            {"S", {64, 64, 128}},
                            {"M", {128, 128, 256}},
                            {"L", {256, 256, 512}},
                            {"XL", {512, 512, 1024}}};

const Named* find_named(std::string text) {
  for (char& letter : text)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  const auto* const found = std::ranges::find(kSizes, text, &Named::name);
  return found == std::end(kSizes) ? nullptr : found;
}

std::string check_size(const std::string& text) {
  if (find_named(text) != nullptr) return "";
  const std::optional<Triple> size = parse_triple(text);
  if (size && std::ranges::min(*size) >= kSideMin && std::ranges::max(*size) <= kSideMax) return "";
  return fmt::format("{} is none of XS, S, M, L, XL, nor IxJxK with numbers from {} to {}, such as 33x17x65", text,
                     kSideMin, kSideMax);
}

std::string check_grid(const std::string& text) {
  return parse_triple(text) ? "" : fmt::format("{} is not IxJxK with numbers from 1, such as 2x2x1", text);
}

/// The GPU that "cuda" (by rank) or "cuda:2" names; none for anything else.
std::optional<int> gpu_of(std::string_view text) {
  constexpr std::string_view kName = "cuda";
  if (!text.starts_with(kName)) return std::nullopt;
  text.remove_prefix(kName.size());
  if (text.empty()) return GpuOptions::kByRank;
  int device = -1;
  const auto parsed = std::from_chars(text.data() + 1, text.data() + text.size(), device);
  const bool is_whole = text[0] == ':' && parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return is_whole && device >= 0 ? std::optional(device) : std::nullopt;
}

std::string check_device(const std::string& text) {
  return text == "cpu" || gpu_of(text)
             ? ""
             : fmt::format("{} is none of cpu, cuda and cuda:N (`coracle info` lists GPUs)", text);
}

struct Words {
  std::string size = "M";
  std::string ranks;
  std::string device = "cpu";
  std::size_t iterations = 0;
};

void add_options(CLI::App& app, Options& options, Words& words) {
  add_value(app, "--size", words.size, "SIZE",
            "points of the grid: XS (32x32x64), S (64x64x128), M (128x128x256), L (256x256x512), XL (512x512x1024), or "
            "any IxJxK",
            {check_size, ""});
  add_value(app, "--ranks-grid", words.ranks, "IxJxK", "how the ranks share it in i, j and k (with short borders)",
            {check_grid, ""});
  add_value(app, "--device", words.device, "DEVICE",
            "what computes: cpu; cuda, a GPU for each rank, those of a node in turn; or cuda:N, that one for all "
            "ranks. Not with --place sim",
            {check_device, ""});
  auto* const time =
      add_value(app, "--time", options.time_s, "SECONDS", "to measure for about so long", positive_number(1e6));
  app.add_option("--iterations", words.iterations, "to measure, instead of as many as fit the time")
      ->type_name("N")
      ->check(whole_number(1, kIterationsMax))
      ->excludes(time);
  app.add_flag("--no-limit", options.skips_limit,
               "don't measure what the memory allows, which takes a quarter of a second, and with large grids seconds");
  app.add_flag("--verify", options.verify,
               "compare each iteration's residual and the pressure at the end with a serial run, bit for bit");
  app.add_flag("--progress", options.shows_progress, "show how far the measurement is, where that is a terminal");
  app.add_option("--history", options.history_path, "write each iteration's residual to a file")->type_name("FILE");
  app.add_option("--json", options.json_path, "write the results to a file too")->type_name("FILE");
  app.add_option("--sim-mflops", options.sim_mflops,
                 "in placement sim: how fast each rank computes in virtual time (else computing takes none)")
      ->type_name("MFLOPS")
      ->check(positive_number(1e12));
}

}  // namespace

std::variant<Options, int> parse_options(int argc, char** argv) {
  CLI::App app(
      "The Himeno benchmark: a 19-point Jacobi solver of the Poisson equation on a grid that the ranks of a Coracle "
      "job share, with puts between layouts for its halos.",
      "himeno");
  Options options;
  Words words;
  add_options(app, options, words);
  if (const std::optional<int> status = parse_command_line(app, argc, argv)) return *status;
  if (const Named* const named = find_named(words.size)) {
    options.size = named->size;
    options.size_name = named->name;
  } else if (const std::optional<Triple> size = parse_triple(words.size)) {
    options.size = *size;
  }
  if (!words.ranks.empty()) options.ranks = parse_triple(words.ranks);
  options.gpu = gpu_of(words.device);
  if (words.iterations > 0) options.iterations = words.iterations;
  return options;
}

}  // namespace coracle::himeno
