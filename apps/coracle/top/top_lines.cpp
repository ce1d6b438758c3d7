// Columns and sentences.
#include "apps/coracle/top/top_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace coracle::internals {
namespace {

using insight::Doing;
using insight::JobPicture;

constexpr std::size_t kRanksWidth = 12;

const char* does(Doing doing, bool one) noexcept {
  switch (doing) {
    case Doing::starting:
      return one ? "is starting" : "are starting";
    case Doing::waiting:
      return one ? "waits" : "wait";
    case Doing::running:
      return one ? "computes" : "compute";
    case Doing::stopped:
      return one ? "is stopped" : "are stopped";
    case Doing::ended:
      return one ? "has ended" : "have ended";
  }
  return "";
}

/// "3 wait, 1 computes"
std::string counts_text(std::span<const TopRow> rows) {
  std::string text;
  for (const Doing doing : {Doing::waiting, Doing::running, Doing::stopped, Doing::starting, Doing::ended}) {
    const auto count = std::ranges::count(rows, doing, &TopRow::doing);
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, does(doing, count == 1));
  }
  return text.empty() ? "no rank answers: the job is ending, or is stopped as a whole" : text;
}

bool has_own_memory(const JobPicture& picture) {
  return picture.placement == "process";
}

/// Where ranks share an address space: that of each node once.
std::string shared_memory_text(const JobPicture& picture) {
  if (has_own_memory(picture)) return "";
  std::map<std::uint32_t, std::uint64_t> nodes;
  for (const insight::RankPicture& rank : picture.ranks)
    nodes[rank.node] = std::max(nodes[rank.node], rank.memory_bytes);
  double sum = 0;
  for (const auto& [node, bytes] : nodes) sum += static_cast<double>(bytes);
  return sum == 0 ? "" : fmt::format("; memory {}, shared", memory_text(sum));
}

std::string processors_text(std::span<const TopRow> rows) {
  double sum = 0;
  for (const TopRow& row : rows) {
    if (!row.processor) return "";
    sum += *row.processor;
  }
  return rows.empty() ? "" : fmt::format("; processors {:.1f}", sum);
}

std::string rate_text(const std::optional<double>& rate) {
  return rate ? fmt::format("{:.0f}", *rate) : "-";
}

/// A list that is too long for its column ends in '+'.
std::string fitted(std::string text, std::size_t width) {
  if (text.size() <= width) return text;
  text.resize(width - 1);
  return text + "+";
}

/// The cells of a line: the column of nodes and that of memory are not always there.
struct Cells {
  std::string ranks, node, processor, memory, collectives, sleeps, time, does;
};

std::string line_of(const Cells& cells, const JobPicture& picture) {
  std::string line = fmt::format("{:<{}}", cells.ranks, kRanksWidth);
  if (picture.nodes > 1) line += fmt::format(" {:>6}", cells.node);
  line += fmt::format(" {:>5}", cells.processor);
  if (has_own_memory(picture)) line += fmt::format(" {:>8}", cells.memory);
  line += fmt::format(" {:>7} {:>8} {:>8}  {}", cells.collectives, cells.sleeps, cells.time, cells.does);
  return line;
}

std::string line_of(const TopRow& row, const JobPicture& picture) {
  const bool has_time = row.doing != Doing::starting && row.doing != Doing::ended;
  return line_of({.ranks = fitted(ranges_text(row.ranks), kRanksWidth),
                  .node = fitted(ranges_text(row.nodes), 6),
                  .processor = row.processor ? fmt::format("{:.0f}", 100 * *row.processor) : "-",
                  .memory = row.memory_bytes > 0 ? memory_text(row.memory_bytes) : "-",
                  .collectives = rate_text(row.collectives_s),
                  .sleeps = rate_text(row.sleeps_s),
                  .time = has_time ? age_text(row.for_ms) : "-",
                  .does = harmless(row.does)},
                 picture);
}

}  // namespace

std::vector<std::string> title_lines(pid_t job, const JobPicture& picture, std::span<const TopRow> rows) {
  return {fmt::format("job {}: {}, {} rank{} on {} node{}, {}, for {}", job, harmless(picture.program), picture.size,
                      picture.size == 1 ? "" : "s", picture.nodes, picture.nodes == 1 ? "" : "s",
                      harmless(picture.placement), age_text(picture.age_ms)),
          counts_text(rows) + processors_text(rows) + shared_memory_text(picture)};
}

std::vector<std::string> alarm_lines(const JobPicture& picture) {
  if (picture.hangs.empty()) return {};
  const std::size_t others = picture.hangs.size() - 1;
  return {fmt::format("deadlock{}: {}", others == 0 ? "" : fmt::format(" (and {} more)", others),
                      harmless(picture.hangs.front()))};
}

TopText text_of(pid_t job, const JobPicture& picture, std::span<const TopRow> rows, std::span<const TopRow> shown) {
  TopText text;
  text.titles = title_lines(job, picture, rows);
  text.alarms = alarm_lines(picture);
  text.header = line_of({.ranks = "RANKS",
                         .node = "NODE",
                         .processor = "CPU%",
                         .memory = "MEMORY",
                         .collectives = "COLL/S",
                         .sleeps = "SLEEPS/S",
                         .time = "FOR",
                         .does = "DOES"},
                        picture);
  for (const TopRow& row : shown) text.rows.push_back(line_of(row, picture));
  return text;
}

std::string harmless(std::string_view text) {
  std::string clean;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_c1 = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    clean += byte < 0x20 || byte == 0x7f || is_c1 ? '?' : text[i];
    if (is_c1) ++i;
  }
  return clean;
}

std::string_view cut(std::string_view text, std::size_t columns) noexcept {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
    if (begins && columns-- == 0) return text.substr(0, i);
  }
  return text;
}

std::string age_text(std::uint64_t milliseconds) {
  constexpr std::uint64_t kMinute = 60;
  constexpr std::uint64_t kHour = 60 * kMinute;
  const std::uint64_t seconds = milliseconds / 1000;
  if (seconds < kMinute) return fmt::format("{}.{} s", seconds, milliseconds % 1000 / 100);
  if (seconds < kHour) return fmt::format("{}:{:02}", seconds / kMinute, seconds % kMinute);
  return fmt::format("{}:{:02}:{:02}", seconds / kHour, seconds % kHour / kMinute, seconds % kMinute);
}

std::string memory_text(double bytes) {
  constexpr std::array<const char*, 4> kUnits{"KiB", "MiB", "GiB", "TiB"};
  double value = bytes / 1024;
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return value < 9.95 && unit > 0 ? fmt::format("{:.1f} {}", value, kUnits[unit])
                                  : fmt::format("{:.0f} {}", value, kUnits[unit]);
}

}  // namespace coracle::internals
