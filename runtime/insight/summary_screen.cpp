// The summary as one screen of text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <tuple>
#include <utility>

#include "runtime/insight/job_summary.hpp"

namespace coracle::internals {
namespace {

constexpr std::size_t kLinesShown = 10;
constexpr std::size_t kPairsShown = 5;
constexpr std::size_t kLateShown = 5;
constexpr std::size_t kCallsShown = 5;

const char* plural(std::uint64_t count) noexcept {
  return count == 1 ? "" : "s";
}

/// Rounded down: 100 is all of them.
double percent(std::uint64_t part, std::uint64_t whole) noexcept {
  return std::floor(static_cast<double>(part) * 1000 / static_cast<double>(whole)) / 10;
}

class Screen {
 public:
  explicit Screen(const JobSummary& job) : job_(job) {}

  std::string text() {
    head();
    if (job_.ranks == 0) return std::move(text_);
    times();
    lines();
    traffic();
    collectives();
    late();
    pages();
    return std::move(text_);
  }

 private:
  template <class... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    std::string one = fmt::format(format, std::forward<Values>(values)...);
    one.erase(one.find_last_not_of(' ') + 1);
    text_ += one + "\n";
  }
  double share(std::uint64_t time_ns) const noexcept {
    return job_.lifetime.sum == 0 ? 0 : 100.0 * static_cast<double>(time_ns) / static_cast<double>(job_.lifetime.sum);
  }

  void head() {
    const auto [size, nodes, ranks] = std::tuple(job_.size, job_.nodes, job_.ranks);
    if (ranks == 0) return line("coracle: summary: no rank has come to coracle::run or MPI_Init");
    line("coracle: summary: {} rank{} on {} node{} ran {}{}", size, plural(size), nodes, plural(nodes),
         time_text(job_.duration_ns), job_.is_virtual ? " of virtual time" : "");
    if (ranks < size) line("  of {} rank{} nothing is known", size - ranks, plural(size - ranks));
    if (job_.cut > 0)
      line("  {} rank{} did not end by {}: told up to the last event", job_.cut, plural(job_.cut),
           job_.cut == 1 ? "itself" : "themselves");
  }

  void times() {
    line("  {:24}{:>8}{:>12}{:>12}{:>12}  {}", "time of a rank", "share", "mean", "least", "most", "worst rank");
    spread("computing", job_.computing);
    spread("waiting", job_.waiting);
    std::vector<std::size_t> order;
    for (std::size_t group = 0; group < kWaitGroups; ++group)
      if (job_.groups[group].sum > 0) order.push_back(group);
    std::ranges::stable_sort(order, std::greater(), [this](std::size_t group) { return job_.groups[group].sum; });
    for (const std::size_t group : order)
      spread(fmt::format("  {}", name_of(static_cast<WaitGroup>(group))), job_.groups[group]);
    if (share(job_.unexplained.sum) >= 0.1) spread("  of the library's own", job_.unexplained);
  }
  void spread(const std::string& name, const Spread& of) {
    line("  {:24}{:>6.1f} %{:>12}{:>12}{:>12}  {}", name, share(of.sum), time_text(of.mean()), time_text(of.min),
         time_text(of.max), of.max_rank);
  }

  void lines() {
    if (job_.lines.empty()) return;
    line("  {:34}{:>8}{:>12}{:>12}  {}", "where ranks waited", "share", "all ranks", "waits", "for what (worst rank)");
    for (std::size_t i = 0; i < std::min(job_.lines.size(), kLinesShown); ++i) {
      const JobLine& each = job_.lines[i];
      const WaitLine& at = each.line;
      if (at.waited.time == 0) break;
      const bool is_end = std::string_view(at.name.data()) == "finalize";
      std::string place = is_end ? "(end of the job)" : "(no line is known)";
      std::string what = at.name.data();
      if (at.file[0] != '\0') {
        place = at.line == 0 ? at.file.data() : fmt::format("{}:{}", at.file.data(), at.line);
        if (at.call[0] != '\0') what = fmt::format("{}, {}", at.call.data(), what);
      } else if (at.call[0] != '\0') {
        place = at.call.data();
      }
      line("  {:34}{:>6.1f} %{:>12}{:>12}  {} (rank {}: {})", place, share(at.waited.time), time_text(at.waited.time),
           at.waited.waits, what, each.worst_rank, time_text(each.worst_ns));
    }
    if (job_.other_lines.waits > 0)
      line("  others, beyond {} lines of a rank: {} in {} waits", SummaryMemory::kLinesMax,
           time_text(job_.other_lines.time), job_.other_lines.waits);
  }

  void traffic() {
    std::string all;
    for (std::size_t flow = 0; flow < kTrafficKinds; ++flow) {
      const std::uint64_t count = job_.totals.count[flow];
      if (count == 0) continue;
      all += fmt::format("{}{} {} ({})", all.empty() ? "" : ", ", count,
                         words_of(static_cast<TrafficKind>(flow), count), amount_text(job_.totals.bytes[flow]));
    }
    if (all.empty()) return;
    line("  sent: {}", all);
    const ByteMatrix matrix = byte_matrix(job_, job_.size <= 512 ? job_.size : 512);
    std::vector<std::size_t> order;
    for (std::size_t cell = 0; cell < matrix.bytes.size(); ++cell)
      if (matrix.bytes[cell] > 0) order.push_back(cell);
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t cell) { return matrix.bytes[cell]; });
    if (order.empty()) return;
    std::string pairs;
    for (std::size_t i = 0; i < std::min(order.size(), kPairsShown); ++i)
      pairs += fmt::format("{}{} to {}: {}", i == 0 ? "" : ", ", ranks_of(order[i] / matrix.width, matrix.width),
                           ranks_of(order[i] % matrix.width, matrix.width), amount_text(matrix.bytes[order[i]]));
    line("  heaviest pairs: {}{}", pairs, order.size() > kPairsShown ? " ..." : "");
  }
  static const char* words_of(TrafficKind flow, std::uint64_t count) noexcept {
    switch (flow) {
      case TrafficKind::message:
        return count == 1 ? "message" : "messages";
      case TrafficKind::collective:
        return count == 1 ? "message of collectives" : "messages of collectives";
      case TrafficKind::put:
        return count == 1 ? "put" : "puts";
      case TrafficKind::get:
        return count == 1 ? "get" : "gets";
      case TrafficKind::atomic:
        return count == 1 ? "atomic" : "atomics";
    }
    return "";
  }
  std::string ranks_of(std::size_t cell, std::uint32_t width) const {
    if (width == job_.size) return fmt::format("{}", cell);
    const auto first = [&](std::size_t at) { return (at * job_.size + width - 1) / width; };
    return fmt::format("{}-{}", first(cell), first(cell + 1) - 1);
  }

  void collectives() {
    std::string all;
    for (std::size_t i = 0; i < std::min(job_.calls.size(), kCallsShown); ++i)
      all += fmt::format("{}{} {} ({})", i == 0 ? "" : ", ", job_.calls[i].name.data(), job_.calls[i].calls,
                         time_text(job_.calls[i].time));
    if (!all.empty())
      line("  calls of collectives (time inside, all ranks): {}{}", all, job_.calls.size() > kCallsShown ? " ..." : "");
  }

  void late() {
    const LateRanks& late = job_.late;
    if (late.judged + late.undecided == 0) return;
    line("  who came last to {} collective{}:{}", late.judged, plural(late.judged),
         late.undecided == 0 ? ""
                             : fmt::format(" (of {} more it can't be told: clocks of nodes differ by up to {})",
                                           late.undecided, time_text(job_.uncertainty_ns)));
    for (std::size_t i = 0; i < std::min(late.ranks.size(), kLateShown); ++i) {
      const LateRank& rank = late.ranks[i];
      line("    rank {} to {}, {} time{}: the others waited {} for it, {} in the worst", rank.rank, rank.name,
           rank.times, plural(rank.times), time_text(rank.others_ns), time_text(rank.most_ns));
    }
    if (job_.other_entries > 0)
      line("    looked at: each rank's first {} calls, not the other {}", SummaryMemory::kEntriesMax,
           job_.other_entries);
  }

  void pages() {
    if (job_.page_uses > 0)
      line("  pages that were there: {:.1f} % of {} uses", percent(job_.page_hits, job_.page_uses), job_.page_uses);
    std::uint64_t all = 0;
    for (const std::uint64_t count : job_.pages) all += count;
    if (all == 0) return;
    line("  pages that were not there: {}: {} from peers ({}), {} from files ({}), {} fresh", all,
         job_.pages[CORACLE_PAGE_FROM_PEER], amount_text(job_.page_bytes[CORACLE_PAGE_FROM_PEER]),
         job_.pages[CORACLE_PAGE_FROM_FILE], amount_text(job_.page_bytes[CORACLE_PAGE_FROM_FILE]),
         job_.pages[CORACLE_PAGE_FRESH]);
  }

  const JobSummary& job_;
  std::string text_;
};

}  // namespace

std::string time_text(std::uint64_t nanoseconds) {
  const auto ns = static_cast<double>(nanoseconds);
  if (nanoseconds < 1000) return fmt::format("{} ns", nanoseconds);
  if (ns < 1e6) return fmt::format("{:.3g} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.3g} ms", ns / 1e6);
  return ns < 1e11 ? fmt::format("{:.3g} s", ns / 1e9) : fmt::format("{:.0f} s", ns / 1e9);
}

std::string amount_text(std::uint64_t bytes) {
  const auto amount = static_cast<double>(bytes);
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (amount < 1e6) return fmt::format("{:.3g} kB", amount / 1e3);
  if (amount < 1e9) return fmt::format("{:.3g} MB", amount / 1e6);
  return amount < 1e12 ? fmt::format("{:.3g} GB", amount / 1e9) : fmt::format("{:.3g} TB", amount / 1e12);
}

std::string screen_of(const JobSummary& job) {
  return Screen(job).text();
}

}  // namespace coracle::internals
