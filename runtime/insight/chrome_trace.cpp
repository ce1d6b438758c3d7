// One object a line: see "Trace Event Format" by the Chromium project.
#include "runtime/insight/chrome_trace.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/insight/trace_lanes.hpp"
#include "runtime/insight/trace_spans.hpp"
#include "runtime/insight/trace_words.hpp"

namespace coracle::internals {
namespace {

/// As a string of JSON, without what is no plain text.
std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') result += '\\';
    result += code < 0x20 || code > 0x7e ? '?' : letter;
  }
  return result + '"';
}

/// Microseconds, to the nanosecond.
std::string time(std::uint64_t ns) {
  return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

class Writer {
 public:
  explicit Writer(std::FILE* file) noexcept : file_(file) {}

  template <class... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    if (!is_first_) text_.append(std::string_view(",\n"));
    is_first_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    constexpr std::size_t kAtOnce = 1 << 20;
    if (text_.size() >= kAtOnce) flush();
  }
  void raw(std::string_view text) { text_.append(text); }
  bool flush() {
    is_fine_ = is_fine_ && std::fwrite(text_.data(), 1, text_.size(), file_) == text_.size() && std::fflush(file_) == 0;
    text_.clear();
    return is_fine_;
  }

 private:
  std::FILE* file_;
  fmt::memory_buffer text_;
  bool is_first_ = true;
  bool is_fine_ = true;
};

/// As they are shown when one clicks at the span.
std::string arguments_text(const TraceSpan& span, const RankEvents& rank) {
  std::string text;
  const auto add = [&text](std::string_view name, const auto& value) {
    text += fmt::format("{}\"{}\":{}", text.empty() ? "" : ",", name, value);
  };
  for (const TraceArgument& argument : arguments_of(span))
    std::visit([&](auto value) { add(argument.name, value); }, argument.value);
  const std::string& file = rank.text(span.begin.file());
  if (span.begin.line() != 0)
    add("at", in_quotes(fmt::format("{}:{}", file.substr(file.rfind('/') + 1), span.begin.line())));
  else if (!file.empty())
    add("at", in_quotes(file));  // words
  return text;
}

/// Where the end of an arrow is.
struct Anchor {
  std::uint32_t rank;
  std::uint32_t lane;
  std::uint64_t ns;
};
/// Of a message: sender, receiver, number.
using ArrowName = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;

void write_names(const RankEvents& rank, const std::set<std::uint32_t>& lanes, Writer& writer) {
  writer.line(R"({{"ph":"M","pid":{0},"name":"process_name","args":{{"name":"rank {0}, node {1}"}}}})", rank.rank,
              rank.node);
  writer.line(R"({{"ph":"M","pid":{0},"name":"process_sort_index","args":{{"sort_index":{0}}}}})", rank.rank);
  for (const std::uint32_t lane : lanes) {
    writer.line(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"{}"}}}})", rank.rank, lane,
                name_of_lane(lane));
    writer.line(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})", rank.rank,
                lane, lane);
  }
}

class Arrows {
 public:
  void add(const TraceSpan& span, const RankEvents& of) {
    const std::uint32_t rank = of.rank;
    if (span.kind() == CORACLE_COLLECTIVE_BEGIN) add_collective(span, of);
    const std::uint32_t peer = span.begin.peer;
    const Anchor here{rank, span.lane, span.begin_ns};
    if (span.kind() == CORACLE_SEND_BEGIN) sent_[{rank, peer, span.begin.number}] = here;
    if (span.kind() == CORACLE_RECEIVE_BEGIN) arrived_[{peer, rank, span.begin.number}] = here;
  }
  void write(Writer& writer) {
    for (const auto& [name, from] : sent_) {
      const auto to = arrived_.find(name);
      if (to != arrived_.end()) write_one("message", from, to->second, writer);
    }
    for (const auto& [id, collective] : collectives_) write_collective(collective, writer);
  }

 private:
  struct Member {
    Anchor begin;
    Anchor end;
  };
  struct Collective {
    Flow flow = Flow::none;
    std::uint32_t root = 0;
    std::vector<Member> members;
  };

  void add_collective(const TraceSpan& span, const RankEvents& of) {
    const Flow flow = flow_of(of.text(span.begin.name()));
    if (flow == Flow::none || !span.is_closed) return;
    Collective& collective = collectives_[span.begin.id];
    collective.flow = flow;
    collective.root = span.begin.peer;
    // The end of an arrow lies in the span still.
    collective.members.push_back({{of.rank, span.lane, span.begin_ns}, {of.rank, span.lane, span.end_ns - 1}});
  }

  void write_collective(const Collective& collective, Writer& writer) {
    for (const Member& root : collective.members) {
      if (root.begin.rank != collective.root) continue;
      for (const Member& other : collective.members) {
        if (other.begin.rank == collective.root) continue;
        if (collective.flow == Flow::from_root)
          write_one("collective", root.begin, other.end, writer);
        else
          write_one("collective", other.begin, root.end, writer);
      }
    }
  }

  void write_one(const char* category, const Anchor& from, const Anchor& to, Writer& writer) {
    if (to.ns < from.ns) return;  // of a collective whose data was not awaited
    ++id_;
    writer.line(R"({{"ph":"s","id":{},"pid":{},"tid":{},"ts":{},"name":"{}","cat":"{}"}})", id_, from.rank, from.lane,
                time(from.ns), category, category);
    writer.line(R"({{"ph":"f","bp":"e","id":{},"pid":{},"tid":{},"ts":{},"name":"{}","cat":"{}"}})", id_, to.rank,
                to.lane, time(to.ns), category, category);
  }

  std::uint64_t id_ = 0;
  std::map<std::uint64_t, Collective> collectives_;
  std::map<ArrowName, Anchor> sent_;
  std::map<ArrowName, Anchor> arrived_;
};

void write_rank(const RankEvents& rank, Arrows& arrows, Writer& writer) {
  std::vector<TraceSpan> spans = spans_of(rank);
  set_lanes(spans);
  std::set<std::uint32_t> lanes;
  for (const TraceSpan& span : spans) lanes.insert(span.lane);
  write_names(rank, lanes, writer);
  for (const TraceSpan& span : spans) {
    const TraceWords words = words_of(span, rank);
    writer.line(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"cat":"{}","args":{{{}}}}})", rank.rank,
                span.lane, time(span.begin_ns), time(span.end_ns - span.begin_ns), in_quotes(words.name),
                words.category, arguments_text(span, rank));
    arrows.add(span, rank);
  }
}

}  // namespace

bool write_chrome_trace(const JobTrace& trace, std::FILE* file) {
  Writer writer(file);
  writer.raw("{\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"writer\":\"coracle\",\"time\":");
  writer.raw(trace.is_virtual ? "\"virtual\"" : "\"real\"");
  writer.raw(",\"dropped\":{");
  bool is_first = true;
  for (const RankEvents& rank : trace.ranks) {
    writer.raw(fmt::format("{}\"{}\":{}", is_first ? "" : ",", rank.rank, rank.dropped));
    is_first = false;
  }
  writer.raw("}},\n\"traceEvents\":[\n");
  Arrows arrows;
  for (const RankEvents& rank : trace.ranks) write_rank(rank, arrows, writer);
  arrows.write(writer);
  writer.raw("\n]}\n");
  return writer.flush();
}

}  // namespace coracle::internals
