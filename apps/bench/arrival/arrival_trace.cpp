// Reading traces of arrival.
#include "apps/bench/arrival/arrival_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>

#include "runtime/core/error.hpp"
#include "transports/sim/text.hpp"

namespace coracle::internals::bench {
namespace {

using sim::quoted;
using sim::trimmed;

constexpr double kHourNs = 3.6e12;
constexpr std::uint32_t kRanksMax = 1 << 20;
constexpr std::size_t kFileBytesMax = 64 << 20;

class Parser {
 public:
  Parser(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  ArrivalTrace parse() {
    while (!text_.empty()) {
      ++line_;
      const std::size_t end = text_.find('\n');
      const std::string_view line = text_.substr(0, end);
      parse_line(trimmed(line.substr(0, line.find('#'))));
      text_ = end == std::string_view::npos ? std::string_view() : text_.substr(end + 1);
    }
    if (trace_.delays_ns.empty())
      wrong("there is no iteration: after `unit = us` and `ranks = N`, give lines of N delays each");
    if (std::all_of(trace_.delays_ns.begin(), trace_.delays_ns.end(), [](double delay) { return delay == 0; }))
      wrong("nobody is ever late: a trace needs a delay above zero");
    return std::move(trace_);
  }

 private:
  [[noreturn]] void wrong(const std::string& what) const {
    throw Error(Errc::bad_input, fmt::format("{}:{}: {}", name_, line_, what));
  }

  void parse_line(std::string_view line) {
    if (line.empty()) return;
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos) return set(trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1)));
    if (factor_ns_ == 0 || trace_.ranks == 0)
      wrong("delays before it is said what they are: begin with the lines `unit = us` and `ranks = N`");
    add_iteration(line);
  }

  void set(std::string_view key, std::string_view value) {
    if (!trace_.delays_ns.empty()) wrong(fmt::format("{} must come before the delays", quoted(key)));
    if (key == "unit") return set_unit(value);
    if (key == "ranks") return set_ranks(value);
    wrong(fmt::format("unknown key {}; there are unit, ranks", quoted(key)));
  }

  void set_unit(std::string_view value) {
    if (factor_ns_ != 0) wrong("the unit is given already; keep one of the lines");
    factor_ns_ = value == "ns" ? 1 : value == "us" ? 1e3 : value == "ms" ? 1e6 : 0;
    if (factor_ns_ == 0) wrong(fmt::format("unit = {}: must be ns, us or ms", quoted(value)));
  }

  void set_ranks(std::string_view value) {
    if (trace_.ranks != 0) wrong("the number of ranks is given already; keep one of the lines");
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), trace_.ranks);
    if (error != std::errc() || end != value.data() + value.size() || trace_.ranks < 1 || trace_.ranks > kRanksMax)
      wrong(fmt::format("ranks = {}: must be a number from 1 to {}", quoted(value), kRanksMax));
  }

  void add_iteration(std::string_view line) {
    std::uint32_t count = 0;
    for (; !line.empty(); ++count) {
      const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
      if (count < trace_.ranks) trace_.delays_ns.push_back(delay_of(line.substr(0, end)));
      line = trimmed(line.substr(end));
    }
    if (count != trace_.ranks)
      wrong(fmt::format("{} delays, but `ranks = {}`: each line is one iteration, with a delay for every rank", count,
                        trace_.ranks));
  }

  double delay_of(std::string_view word) const {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool is_number = error == std::errc() && end == word.data() + word.size() && std::isfinite(value);
    if (!is_number) wrong(fmt::format("{} is not a number", quoted(word)));
    if (value < 0 || value * factor_ns_ > kHourNs)
      wrong(fmt::format("a delay of {}: must be from 0 to an hour", quoted(word)));
    return value * factor_ns_;
  }

  std::string_view text_;
  std::string_view name_;
  std::size_t line_ = 0;
  double factor_ns_ = 0;
  ArrivalTrace trace_;
};

}  // namespace

ArrivalTrace parse_arrival_trace(std::string_view text, std::string_view name) {
  return Parser(text, name).parse();
}

ArrivalTrace read_arrival_trace(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw_errno(errno, fmt::format("can't open the trace of arrivals {}", path));
  std::string text;
  char piece[4096];
  while (file.read(piece, sizeof piece) || file.gcount() > 0) {
    text.append(piece, static_cast<std::size_t>(file.gcount()));
    if (text.size() > kFileBytesMax)
      throw Error(Errc::bad_input, fmt::format("{}: larger than {} MiB, which no trace of arrivals should be", path,
                                               kFileBytesMax >> 20));
  }
  if (file.bad()) throw_errno(errno, fmt::format("can't read the trace of arrivals {}", path));
  return parse_arrival_trace(text, path);
}

}  // namespace coracle::internals::bench
