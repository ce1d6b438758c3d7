// The matrix of bytes as an SVG: a cell for each pair of ranks, by the logarithm of its bytes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "runtime/insight/job_summary.hpp"

namespace coracle::internals {
namespace {

constexpr int kLeft = 90;
constexpr int kTop = 90;
constexpr int kSide = 560;  // of the matrix, at most
constexpr std::uint32_t kWidthMax = 256;

/// From light to dark, which grey printers and colour-blind readers tell apart, too (viridis, backwards).
std::string colour(double share) {
  constexpr std::array<std::array<double, 3>, 6> kColours{
      {{253, 231, 37}, {122, 209, 81}, {34, 168, 132}, {42, 120, 142}, {65, 68, 135}, {68, 1, 84}}};
  const double at = std::clamp(share, 0.0, 1.0) * (kColours.size() - 1);
  const std::size_t below = std::min(static_cast<std::size_t>(at), kColours.size() - 2);
  const double part = at - static_cast<double>(below);
  std::array<int, 3> mixed{};
  for (std::size_t i = 0; i < mixed.size(); ++i)
    mixed[i] = static_cast<int>(std::lround(kColours[below][i] * (1 - part) + kColours[below + 1][i] * part));
  return fmt::format("#{:02x}{:02x}{:02x}", mixed[0], mixed[1], mixed[2]);
}

class Picture {
 public:
  explicit Picture(const JobSummary& job)
      : job_(job), matrix_(byte_matrix(job, kWidthMax)), cell_(std::clamp(kSide / double(matrix_.width), 2.0, 60.0)) {
    for (const std::uint64_t bytes : matrix_.bytes) {
      if (bytes == 0) continue;
      least_ = std::min(least_, bytes);
      most_ = std::max(most_, bytes);
    }
  }

  std::string text() {
    const double side = cell_ * matrix_.width;
    const double width = std::max(kLeft + side + 170, 620.0);
    const double height = std::max(kTop + side + 50, 370.0);
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
        "{1:.0f}\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        width, height);
    label(20, 28, "Who sends to whom: bytes of messages, puts and gets", "start", 16);
    label(kLeft + side / 2, 60, "to rank", "middle");
    add("<text transform=\"translate(28 {:.1f}) rotate(-90)\" text-anchor=\"middle\">from rank</text>\n",
        kTop + side / 2);
    add("<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#f4f4f4\" stroke=\"#888\"/>\n", kLeft, kTop,
        side, side);
    cells();
    ranks();
    legend(kLeft + side + 30);
    add("</svg>\n");
    return std::move(text_);
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }
  void label(double x, double y, const std::string& text, const char* anchor, int size = 12) {
    add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\">{}</text>\n", x, y, anchor, size, text);
  }
  double share(std::uint64_t bytes) const {
    if (most_ <= least_) return 1;
    return std::log(double(bytes) / double(least_)) / std::log(double(most_) / double(least_));
  }
  std::string ranks_of(std::uint32_t at) const {
    const auto first = [this](std::uint64_t cell) { return (cell * job_.size + matrix_.width - 1) / matrix_.width; };
    const std::uint64_t last = first(at + 1) - 1;
    return first(at) == last ? fmt::format("{}", last) : fmt::format("{}-{}", first(at), last);
  }

  void cells() {
    for (std::uint32_t from = 0; from < matrix_.width; ++from) {
      for (std::uint32_t to = 0; to < matrix_.width; ++to) {
        const std::uint64_t bytes = matrix_.bytes[std::size_t{from} * matrix_.width + to];
        if (bytes == 0) continue;
        add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"><title>{} to {}: {} "
            "bytes</title></rect>\n",
            kLeft + to * cell_, kTop + from * cell_, cell_, cell_, colour(share(bytes)), ranks_of(from), ranks_of(to),
            bytes);
      }
    }
  }
  /// Some of their numbers, so that they have room.
  void ranks() {
    const auto step = static_cast<std::uint32_t>(std::ceil(34 / cell_));
    for (std::uint32_t at = 0; at < matrix_.width; at += step) {
      label(kLeft + (at + 0.5) * cell_, kTop - 8, ranks_of(at), "middle");
      label(kLeft - 8, kTop + (at + 0.5) * cell_ + 4, ranks_of(at), "end");
    }
  }
  void legend(double x) {
    constexpr int kSteps = 40;
    constexpr double kHeight = 200;
    if (most_ == 0) return label(x, kTop + 12, "nothing was sent", "start");
    for (int step = 0; step < kSteps; ++step)
      add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"18\" height=\"{:.1f}\" fill=\"{}\"/>\n", x,
          kTop + kHeight * step / kSteps, kHeight / kSteps + 0.3, colour(1 - double(step) / (kSteps - 1)));
    const double ratio = double(most_) / double(least_);
    constexpr int kMarks = 4;
    for (int mark = 0; mark <= (most_ == least_ ? 0 : kMarks); ++mark) {
      const double bytes = double(most_) * std::pow(ratio, -double(mark) / kMarks);
      label(x + 26, kTop + kHeight * mark / kMarks + 5, amount_text(static_cast<std::uint64_t>(std::llround(bytes))),
            "start");
    }
    add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"18\" height=\"14\" fill=\"#f4f4f4\" stroke=\"#888\"/>\n", x,
        kTop + kHeight + 14);
    label(x + 26, kTop + kHeight + 26, "nothing", "start");
    label(x, kTop + kHeight + 52, "(logarithmic)", "start");
  }

  const JobSummary& job_;
  ByteMatrix matrix_;
  double cell_;
  std::uint64_t least_ = ~std::uint64_t{0};
  std::uint64_t most_ = 0;
  std::string text_;
};

}  // namespace

std::string picture_of(const JobSummary& job) {
  return Picture(job).text();
}

}  // namespace coracle::internals
