// Reading traces of arrival, drawing delays, and what they cost in closed form.
#include "apps/bench/arrival/arrivals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <numeric>
#include <utility>

#include "runtime/core/error.hpp"
#include "transports/sim/network.hpp"
#include "transports/sim/schedule.hpp"

namespace coracle::internals::bench {
namespace {

using sim::in_quotes;
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
    if (!trace_.delays_ns.empty()) wrong(fmt::format("{} must come before the delays", in_quotes(key)));
    if (key == "unit") return set_unit(value);
    if (key == "ranks") return set_ranks(value);
    wrong(fmt::format("unknown key {}; there are unit, ranks", in_quotes(key)));
  }

  void set_unit(std::string_view value) {
    if (factor_ns_ != 0) wrong("the unit is given already; keep one of the lines");
    factor_ns_ = value == "ns" ? 1 : value == "us" ? 1e3 : value == "ms" ? 1e6 : 0;
    if (factor_ns_ == 0) wrong(fmt::format("unit = {}: must be ns, us or ms", in_quotes(value)));
  }

  void set_ranks(std::string_view value) {
    if (trace_.ranks != 0) wrong("the number of ranks is given already; keep one of the lines");
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), trace_.ranks);
    if (error != std::errc() || end != value.data() + value.size() || trace_.ranks < 1 || trace_.ranks > kRanksMax)
      wrong(fmt::format("ranks = {}: must be a number from 1 to {}", in_quotes(value), kRanksMax));
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
    if (!is_number) wrong(fmt::format("{} is not a number", in_quotes(word)));
    if (value < 0 || value * factor_ns_ > kHourNs)
      wrong(fmt::format("a delay of {}: must be from 0 to an hour", in_quotes(word)));
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

namespace {

using sim::Random;

/// The same for each seed, rank and iteration, in (0, 1).
double draw(std::uint64_t seed, std::uint32_t rank, std::uint64_t iteration) noexcept {
  const std::uint64_t mixed = Random::mix(Random::mix(Random::mix(seed + 1) ^ rank) + iteration);
  return (static_cast<double>(mixed >> 11) + 0.5) * 0x1p-53;
}

/// The integral of `function` over [0, arrivals.longest()].
template <class Function>
double integral(const Arrivals& arrivals, Function function) {
  constexpr int kSteps = 20'000;
  const double step = arrivals.longest() / kSteps;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) sum += function((i + 0.5) * step);
  return sum * step;
}

/// How likely the least of `competitors` delays is to be at most `value`.
double first_likely(const Arrivals& arrivals, std::uint32_t competitors, double value) noexcept {
  return 1 - std::pow(1 - arrivals.likely(value), competitors);
}

}  // namespace

Arrivals::Arrivals(std::string source, std::uint64_t seed) : source_(std::move(source)), seed_(seed) {
  kind_ = source_ == "uniform" ? Kind::uniform : source_ == "exponential" ? Kind::exponential : Kind::trace;
  if (kind_ == Kind::trace) take(read_arrival_trace(source_));
}

Arrivals::Arrivals(const ArrivalTrace& trace, std::uint64_t seed) : source_("trace"), kind_(Kind::trace), seed_(seed) {
  take(trace);
}

void Arrivals::take(const ArrivalTrace& trace) {
  const double sum = std::accumulate(trace.delays_ns.begin(), trace.delays_ns.end(), 0.0);
  const double mean = sum / static_cast<double>(trace.delays_ns.size());
  ranks_ = trace.ranks;
  delays_.reserve(trace.delays_ns.size());
  for (const double delay : trace.delays_ns) delays_.push_back(static_cast<float>(delay / mean / 2));
  sorted_ = delays_;
  std::sort(sorted_.begin(), sorted_.end());
}

double Arrivals::delay(std::uint32_t rank, std::uint64_t iteration) const noexcept {
  switch (kind_) {
    case Kind::uniform:
      return draw(seed_, rank, iteration);
    case Kind::exponential:
      return -std::log(draw(seed_, rank, iteration)) / 2;
    case Kind::trace:
      break;
  }
  // Each copy of the recorded ranks begins at an iteration of its own, so that they do not come in step.
  const std::uint64_t rows = delays_.size() / ranks_;
  const auto offset = static_cast<std::uint64_t>(draw(seed_, rank / ranks_, 0) * static_cast<double>(rows));
  return delays_[(iteration + offset) % rows * ranks_ + rank % ranks_];
}

double Arrivals::likely(double value) const noexcept {
  if (value < 0) return 0;
  switch (kind_) {
    case Kind::uniform:
      return std::min(value, 1.0);
    case Kind::exponential:
      return 1 - std::exp(-2 * value);
    case Kind::trace:
      break;
  }
  const auto later = std::upper_bound(sorted_.begin(), sorted_.end(), static_cast<float>(value));
  return static_cast<double>(later - sorted_.begin()) / static_cast<double>(sorted_.size());
}

double Arrivals::longest() const noexcept {
  constexpr double kExponentialLongest = 20;  // where exp(-2 x) is 4e-18
  if (kind_ == Kind::trace) return sorted_.back();
  return kind_ == Kind::uniform ? 1 : kExponentialLongest;
}

double expected_reach(const Arrivals& arrivals, std::uint32_t hops, std::uint32_t competitors) {
  // E[max] is the integral of how likely the maximum is to be larger; E[A] is that of how likely A is.
  return integral(arrivals, [&](double value) {
    const double own = arrivals.likely(value);
    return own * (1 - std::pow(first_likely(arrivals, competitors, value), hops));
  });
}

double expected_wait(const Arrivals& arrivals, std::uint32_t leaders, std::uint32_t competitors) {
  // E[max(0, X - B)] is the integral of how likely B <= value < X is.
  return integral(arrivals, [&](double value) {
    const double own = arrivals.likely(value);
    return own * (1 - own * std::pow(first_likely(arrivals, competitors, value), leaders));
  });
}

double expected_first(const Arrivals& arrivals, std::uint32_t competitors) {
  return integral(arrivals, [&](double value) { return std::pow(1 - arrivals.likely(value), competitors); });
}

}  // namespace coracle::internals::bench
