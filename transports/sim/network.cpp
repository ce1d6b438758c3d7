// Reading network models, and short files of text.
#include "transports/sim/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <span>

#include "runtime/core/error.hpp"

namespace coracle::internals::sim {

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view kSpace = " \t\r\v\f";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string safe;
  for (const char letter : text.substr(0, kLongest)) safe += letter >= ' ' && letter <= '~' ? letter : '?';
  return fmt::format("'{}{}'", safe, text.size() > kLongest ? "..." : "");
}

std::string read_text(const std::string& path, const char* what) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw_errno(errno, fmt::format("can't open the {} {}", what, path));
  // It has a few hundred bytes: whatever is larger is something else.
  std::string text(64 * 1024, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) throw_errno(errno, fmt::format("can't read the {} {}", what, path));
  const auto bytes = static_cast<std::size_t>(file.gcount());
  if (bytes == text.size())
    throw Error(Errc::bad_input, fmt::format("{}: too large for a {}, which has a few lines of text", path, what));
  text.resize(bytes);
  return text;
}

namespace {

struct Unit {
  std::string_view name;
  double factor;
};

/// A kind of value: how it is written, and between which limits it makes sense.
struct Quantity {
  const char* example;
  std::span<const Unit> units;
  double least;
  double most;
  bool is_word = false;  ///< No number stands in front.
};

constexpr Unit kTimes[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr Unit kBandwidths[] = {{"B/s", 1e-9}, {"KB/s", 1e-6}, {"MB/s", 1e-3}, {"GB/s", 1}};
constexpr Unit kSizes[] = {{"B", 1}, {"KB", 1e3}, {"MB", 1e6}, {"KiB", 1024}, {"MiB", 1024 * 1024}};
constexpr Unit kWords[] = {{"no", 0}, {"yes", 1}};
/// Tags of the channels of every rank's board.
constexpr Unit kBoards[] = {{"32-16-8-8", 0}, {"32-32", 1}, {"32", 2}};

// The limits keep sums of times far from overflow: an hour, and a gigabyte at a kilobyte per second.
constexpr Quantity kTime{"3.5 us", kTimes, 0, 3.6e12};
constexpr Quantity kBandwidth{"1.4 GB/s", kBandwidths, 1e-6, 1e6};
constexpr Quantity kSize{"8 KiB", kSizes, 0, 1 << 30};
constexpr Quantity kWord{"yes or no", kWords, 0, 1, true};
constexpr Quantity kBoard{"32-16-8-8 or 32-32 or 32", kBoards, 0, 2, true};

std::uint64_t whole(double value) {
  return static_cast<std::uint64_t>(std::llround(value));
}

tca::Peach2Model board_of(double value) noexcept {
  tca::Peach2Model board = value == 1 ? tca::Peach2Model::two_channels() : tca::Peach2Model();
  if (value == 2) board.tags = {32, 0, 0, 0};
  return board;
}

struct Setting {
  std::string_view key;
  const Quantity& quantity;
  void (*set)(NetworkModel& model, double value);
};

constexpr Setting kSettings[] = {
    {"inside.latency", kTime, [](NetworkModel& model, double ns) { model.inside.latency_ns = whole(ns); }},
    {"inside.overhead_send", kTime, [](NetworkModel& model, double ns) { model.inside.overhead_send_ns = whole(ns); }},
    {"inside.overhead_receive", kTime,
     [](NetworkModel& model, double ns) { model.inside.overhead_receive_ns = whole(ns); }},
    {"inside.gap", kTime, [](NetworkModel& model, double ns) { model.inside.gap_ns = whole(ns); }},
    {"inside.bandwidth", kBandwidth,
     [](NetworkModel& model, double rate) { model.inside.bandwidth_bytes_per_ns = rate; }},
    {"between.latency", kTime, [](NetworkModel& model, double ns) { model.between.latency_ns = whole(ns); }},
    {"between.overhead_send", kTime,
     [](NetworkModel& model, double ns) { model.between.overhead_send_ns = whole(ns); }},
    {"between.overhead_receive", kTime,
     [](NetworkModel& model, double ns) { model.between.overhead_receive_ns = whole(ns); }},
    {"between.gap", kTime, [](NetworkModel& model, double ns) { model.between.gap_ns = whole(ns); }},
    {"between.bandwidth", kBandwidth,
     [](NetworkModel& model, double rate) { model.between.bandwidth_bytes_per_ns = rate; }},
    {"jitter", kTime, [](NetworkModel& model, double ns) { model.jitter_ns = whole(ns); }},
    {"reorder", kWord, [](NetworkModel& model, double yes) { model.reorder = yes != 0; }},
    {"step", kTime, [](NetworkModel& model, double ns) { model.step_ns = whole(ns); }},
    {"eager", kSize, [](NetworkModel& model, double bytes) { model.eager_bytes_max = whole(bytes); }},
    {"board", kBoard, [](NetworkModel& model, double value) { model.board = board_of(value); }},
    {"inbox", kSize, [](NetworkModel& model, double bytes) { model.inbox_bytes = whole(bytes); }},
};

class Parser {
 public:
  Parser(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  NetworkModel parse() {
    while (!text_.empty()) {
      ++line_;
      const std::size_t end = text_.find('\n');
      parse_line(text_.substr(0, end));
      text_ = end == std::string_view::npos ? std::string_view() : text_.substr(end + 1);
    }
    check();
    return model_;
  }

 private:
  [[noreturn]] void wrong(std::size_t line, const std::string& what) const {
    throw Error(Errc::bad_input, fmt::format("{}:{}: {}", name_, line, what));
  }

  void parse_line(std::string_view line) {
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) return;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos)
      wrong(line_, fmt::format("{} is not of the form `key = value unit`", in_quotes(line)));
    const std::string_view key = trimmed(line.substr(0, equals));
    for (std::size_t i = 0; i < std::size(kSettings); ++i) {
      if (kSettings[i].key != key) continue;
      if (lines_[i] != 0) wrong(line_, fmt::format("{} is given in line {} already; keep one of them", key, lines_[i]));
      lines_[i] = line_;
      kSettings[i].set(model_, parse_value(kSettings[i], trimmed(line.substr(equals + 1))));
      return;
    }
    std::string known;
    for (const Setting& setting : kSettings) known += fmt::format("{}{}", known.empty() ? "" : ", ", setting.key);
    wrong(line_, fmt::format("unknown key {}; there are {}", in_quotes(key), known));
  }

  double parse_value(const Setting& setting, std::string_view text) const {
    const Quantity& quantity = setting.quantity;
    double number = 1;
    std::string_view rest = text;
    if (!quantity.is_word) {
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error != std::errc() || !std::isfinite(number))
        wrong(line_, fmt::format("{} = {}: expected a number and a unit, such as {}", setting.key, in_quotes(text),
                                 quantity.example));
      rest = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
    }
    for (const Unit& unit : quantity.units) {
      if (unit.name != rest) continue;
      const double value = number * unit.factor;
      if (value >= quantity.least && value <= quantity.most) return value;
      const Unit& shown = quantity.units.front();
      wrong(line_, fmt::format("{} = {}: must be from {:g} to {:g} {}", setting.key, in_quotes(text),
                               quantity.least / shown.factor, quantity.most / shown.factor, shown.name));
    }
    std::string known;
    for (const Unit& unit : quantity.units) known += fmt::format("{}{}", known.empty() ? "" : ", ", unit.name);
    wrong(line_,
          fmt::format("{} = {}: expected {}, such as {}", setting.key, in_quotes(text),
                      quantity.is_word ? "a word" : fmt::format("one of the units {}", known), quantity.example));
  }

  std::size_t line_of(std::string_view key) const {
    std::size_t line = 1;
    for (std::size_t i = 0; i < std::size(kSettings); ++i)
      if (kSettings[i].key == key && lines_[i] != 0) line = lines_[i];
    return line;
  }

  /// What only the whole can show.
  void check() const {
    if (model_.step_ns == 0) wrong(line_of("step"), "step: must be at least 1 ns, or time would stand still");
    const std::size_t needed = model_.eager_bytes_max + kMessageOverheadBytes;
    if (model_.inbox_bytes < needed) {
      const std::size_t line = std::max(line_of("inbox"), line_of("eager"));
      wrong(line, fmt::format("an inbox of {} bytes has no room for an eager message of {} bytes; make inbox at least "
                              "{} B, or eager smaller",
                              model_.inbox_bytes, model_.eager_bytes_max, needed));
    }
  }

  std::string_view text_;
  std::string_view name_;
  NetworkModel model_;
  std::size_t line_ = 0;
  std::size_t lines_[std::size(kSettings)] = {};  // where each key was given; 0: nowhere
};

}  // namespace

NetworkModel parse_network(std::string_view text, std::string_view name) {
  return Parser(text, name).parse();
}

NetworkModel read_network(const std::string& path) {
  if (path.empty()) return {};
  return parse_network(read_text(path, "network model"), path);
}

}  // namespace coracle::internals::sim
