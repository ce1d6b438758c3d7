// Reading, writing and drawing fault plans.
#include "transports/sim/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "runtime/core/error.hpp"
#include "transports/sim/network.hpp"
#include "transports/sim/schedule.hpp"

namespace coracle::internals::sim {
namespace {

struct TimeUnit {
  std::string_view name;
  double ns;
};
constexpr TimeUnit kUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr double kLongestNs = 3.6e12;  // an hour: sums of times stay far from overflow

struct Form {
  std::string_view word;
  Fault::Kind kind;
  bool has_second;
  bool has_duration;
  const char* example;
};
constexpr Form kForms[] = {
    {"kill", Fault::Kind::kill, false, false, "2 ms kill rank 3"},
    {"stop", Fault::Kind::stop, false, true, "2 ms stop node 1 for 5 ms"},
    {"cut", Fault::Kind::cut, true, true, "2 ms cut rank 0 node 1 for 5 ms"},
    {"reset", Fault::Kind::reset, true, false, "2 ms reset rank 0 rank 3"},
    {"delay", Fault::Kind::delay, true, true, "2 ms delay node 0 node 1 by 1 ms for 5 ms"},
};

const Form& form_of(Fault::Kind kind) {
  return *std::find_if(std::begin(kForms), std::end(kForms), [kind](const Form& form) { return form.kind == kind; });
}

/// The ranks of a party: first, and one past the last.
struct Ranks {
  std::uint32_t first;
  std::uint32_t end;
};
Ranks ranks_of(const Fault::Party& party, const JobShape& shape) {
  if (!party.is_node) return {party.number, party.number + 1};
  return {JobRegion::first_rank_of(party.number, shape), JobRegion::first_rank_of(party.number + 1, shape)};
}
bool overlap(const Ranks& left, const Ranks& right) {
  return left.first < right.end && right.first < left.end;
}

/// One line.
class LineParser {
 public:
  LineParser(std::string_view line, std::string_view name, std::size_t number, const JobShape& shape)
      : rest_(line), name_(name), number_(number), shape_(shape) {}

  Fault parse() {
    Fault fault;
    fault.at_ns = time("the time of the fault");
    const Form& form = kind();
    example_ = form.example;
    fault.kind = form.kind;
    fault.first = party();
    if (form.has_second) fault.second = party();
    if (fault.kind == Fault::Kind::delay) {
      expect("by");
      fault.delay_ns = time("how much later all comes");
    }
    if (form.has_duration && !rest_.empty()) {
      expect("for");
      fault.for_ns = time("how long it lasts");
    }
    if (!rest_.empty()) wrong(fmt::format("{} is more than a fault needs", in_quotes(rest_)));
    if (form.has_second && overlap(ranks_of(fault.first, shape_), ranks_of(fault.second, shape_)))
      wrong("the two parties have ranks in common; name two that have none");
    return fault;
  }

 private:
  [[noreturn]] void wrong(const std::string& what) const {
    throw Error(Errc::bad_input, fmt::format("{}:{}: {}, as in `{}`", name_, number_, what, example_));
  }

  std::string_view word() {
    const std::string_view found = rest_.substr(0, rest_.find_first_of(" \t\r\v\f"));
    rest_ = trimmed(rest_.substr(found.size()));
    return found;
  }

  void expect(std::string_view wanted) {
    const std::string_view found = word();
    if (found != wanted) wrong(fmt::format("expected `{}` in place of {}", wanted, in_quotes(found)));
  }

  std::uint64_t time(const char* what) {
    double number = 0;
    const std::string_view all = rest_;
    const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), number);
    if (error != std::errc() || !std::isfinite(number))
      wrong(fmt::format("expected {} in place of {}: a number and a unit", what, in_quotes(all)));
    rest_ = trimmed(all.substr(static_cast<std::size_t>(end - all.data())));
    const std::string_view unit = word();
    for (const TimeUnit& known : kUnits) {
      if (known.name != unit) continue;
      const double ns = number * known.ns;
      if (ns >= 0 && ns <= kLongestNs) return static_cast<std::uint64_t>(std::llround(ns));
      wrong(fmt::format("{} must be from 0 to 3600 s", what));
    }
    wrong(fmt::format("expected one of the units ns, us, ms, s in place of {}", in_quotes(unit)));
  }

  const Form& kind() {
    const std::string_view found = word();
    for (const Form& form : kForms)
      if (form.word == found) return form;
    wrong(fmt::format("unknown fault {}; there are kill, stop, cut, reset, delay", in_quotes(found)));
  }

  Fault::Party party() {
    const std::string_view found = word();
    if (found != "rank" && found != "node")
      wrong(fmt::format("expected `rank` or `node` and a number in place of {}", in_quotes(found)));
    Fault::Party party{found == "node", 0};
    const std::string_view digits = word();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), party.number);
    if (error != std::errc() || end != digits.data() + digits.size())
      wrong(fmt::format("expected the number of a {} in place of {}", found, in_quotes(digits)));
    const std::uint32_t count = party.is_node ? shape_.nodes : shape_.size;
    if (party.number >= count) wrong(fmt::format("there is no {} {}: the job has 0 to {}", found, digits, count - 1));
    return party;
  }

  std::string_view rest_;
  std::string_view name_;
  std::size_t number_;
  const JobShape& shape_;
  const char* example_ = kForms[0].example;
};

void sort_by_time(FaultPlan& plan) {
  std::stable_sort(plan.begin(), plan.end(),
                   [](const Fault& left, const Fault& right) { return left.at_ns < right.at_ns; });
}

std::string party_text(const Fault::Party& party) {
  return fmt::format("{} {}", party.is_node ? "node" : "rank", party.number);
}

/// Some are short and some long, whatever the scale of the program: any number of digits is as likely as any other.
std::uint64_t some_time(Random& random, std::uint64_t most_ns) {
  std::uint64_t most = most_ns;
  for (std::uint64_t halvings = random.below(10); halvings > 0; --halvings) most = most / 2 + 1;
  return random.up_to(most);
}

Fault::Party some_party(Random& random, const JobShape& shape) {
  const bool is_node = shape.nodes > 1 && random.below(3) == 0;
  return {is_node, static_cast<std::uint32_t>(random.below(is_node ? shape.nodes : shape.size))};
}

std::optional<Fault> some_fault(Random& random, std::uint64_t horizon_ns, const JobShape& shape) {
  // Deaths are rarer than the rest: what is dead has no more to show.
  constexpr Fault::Kind kKinds[] = {Fault::Kind::kill, Fault::Kind::stop,  Fault::Kind::cut,
                                    Fault::Kind::cut,  Fault::Kind::reset, Fault::Kind::delay};
  Fault fault;
  fault.kind = kKinds[random.below(std::size(kKinds))];
  fault.at_ns = some_time(random, horizon_ns);
  fault.first = some_party(random, shape);
  const Form& form = form_of(fault.kind);
  if (form.has_second) fault.second = some_party(random, shape);
  if (form.has_second && overlap(ranks_of(fault.first, shape), ranks_of(fault.second, shape))) return std::nullopt;
  // Of those that may end, half are short against the silence limit: it must not be noticed but for the time it takes.
  const std::uint64_t longest = random.below(2) == 0 ? horizon_ns : shape.network.silence_limit_ns * 2;
  if (form.has_duration && random.below(4) != 0) fault.for_ns = 1 + some_time(random, longest);
  if (fault.kind == Fault::Kind::delay) fault.delay_ns = some_time(random, horizon_ns);
  return fault;
}

}  // namespace

FaultPlan parse_faults(std::string_view text, std::string_view name, const JobShape& shape) {
  FaultPlan plan;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const std::string_view meant = trimmed(line.substr(0, line.find('#')));
    if (!meant.empty()) plan.push_back(LineParser(meant, name, number, shape).parse());
  }
  sort_by_time(plan);
  return plan;
}

FaultPlan random_faults(std::uint64_t seed, std::uint64_t horizon_ns, const JobShape& shape) {
  Random random(Random::mix(seed ^ 0xfa017));
  FaultPlan plan;
  for (std::uint64_t left = 1 + random.below(4); left > 0; --left)
    if (const auto fault = some_fault(random, horizon_ns, shape)) plan.push_back(*fault);
  sort_by_time(plan);
  return plan;
}

FaultPlan read_faults(const std::string& source, const JobShape& shape) {
  constexpr std::uint64_t kHorizonNs = 100'000'000;
  if (source.empty()) return {};
  if (source == "random") return random_faults(shape.seed, kHorizonNs, shape);
  return parse_faults(read_text(source, "fault plan"), source, shape);
}

std::string time_text(std::uint64_t ns) {
  constexpr std::uint64_t kFactors[] = {1'000'000'000, 1'000'000, 1'000};
  constexpr const char* kNames[] = {"s", "ms", "us"};
  for (std::size_t i = 0; i < std::size(kFactors); ++i)
    if (ns % kFactors[i] == 0) return fmt::format("{} {}", ns / kFactors[i], kNames[i]);
  return fmt::format("{} ns", ns);
}

std::string to_text(const Fault& fault) {
  const Form& form = form_of(fault.kind);
  std::string text = fmt::format("{} {} {}", time_text(fault.at_ns), form.word, party_text(fault.first));
  if (form.has_second) text += fmt::format(" {}", party_text(fault.second));
  if (fault.kind == Fault::Kind::delay) text += fmt::format(" by {}", time_text(fault.delay_ns));
  if (form.has_duration && fault.for_ns != Fault::kForEver) text += fmt::format(" for {}", time_text(fault.for_ns));
  return text;
}

std::string to_text(const FaultPlan& plan) {
  std::string text;
  for (const Fault& fault : plan) text += to_text(fault) + "\n";
  return text;
}

}  // namespace coracle::internals::sim
