// One object a line: see "Trace Event Format" by the Chromium project.
#include "runtime/insight/chrome_trace.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "runtime/insight/trace_lanes.hpp"
#include "runtime/insight/trace_spans.hpp"

namespace coracle::internals {
namespace {

/// As a string of JSON, without what is no plain text.
std::string quoted(std::string_view text) {
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

/// The arguments of a span, as they are shown when one clicks at it.
class Arguments {
 public:
  template <class Value>
  void add(std::string_view name, const Value& value) {
    text_ += fmt::format("{}\"{}\":{}", text_.empty() ? "" : ",", name, value);
  }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

struct Words {
  std::string name;
  const char* category;
};

constexpr const char* way_of(std::uint16_t way) noexcept {
  switch (way) {
    case CORACLE_PAGE_FROM_PEER:
      return "from a peer";
    case CORACLE_PAGE_FROM_FILE:
      return "from its file";
    case CORACLE_PAGE_FRESH:
      return "fresh";
    default:
      return "on its way";
  }
}

Words words_of(const TraceSpan& span, const RankEvents& rank) {
  const std::string& name = rank.text(span.begin.name());
  const auto named = [&name](const char* other) { return name.empty() ? std::string(other) : name; };
  switch (span.kind()) {
    case CORACLE_RANK_BEGIN:
      return {"rank", "rank"};
    case CORACLE_SPAN_BEGIN:
      return {named("span"), "span"};
    case CORACLE_WAIT_BEGIN:
      return {"wait: " + named("something"), "wait"};
    case CORACLE_OPERATION_BEGIN:
      return {named("operation"), "operation"};
    case CORACLE_SEND_BEGIN:
      return {fmt::format("send to {}", span.begin.peer), "message"};
    case CORACLE_RECEIVE_BEGIN:
      return {fmt::format("receive from {}", span.begin.peer), "message"};
    case CORACLE_COLLECTIVE_BEGIN:
      return {named("collective"), "collective"};
    case CORACLE_PHASE_BEGIN:
      return {named("phase"), "phase"};
    case CORACLE_CHUNK_BEGIN:
      return {fmt::format("chunk {}", span.begin.number), "chunk"};
    case CORACLE_PAGE_MISS_BEGIN:
      return {fmt::format("page miss {}", way_of(span.end.what)), "page"};
    case CORACLE_DMA_BEGIN:
      return {named("DMA table"), "dma"};
    case CORACLE_SLEEP_BEGIN:
      return {"sleep", "sleep"};
    default:
      return {"?", "?"};
  }
}

std::string arguments_of(const TraceSpan& span, const RankEvents& rank) {
  const StoredEvent& begin = span.begin;
  Arguments arguments;
  if (begin.peer != CORACLE_NOBODY)
    arguments.add(span.kind() == CORACLE_COLLECTIVE_BEGIN ? "root"
                  : span.kind() == CORACLE_PHASE_BEGIN    ? "leader"
                                                          : "peer",
                  begin.peer);
  if (begin.bytes != 0) arguments.add("bytes", begin.bytes);
  if (begin.number != 0 || span.kind() == CORACLE_PAGE_MISS_BEGIN || span.kind() == CORACLE_CHUNK_BEGIN)
    arguments.add("number", begin.number);
  if (StoredEvent::is_message(begin.kind)) {
    arguments.add("tag", begin.tag);
    arguments.add("team", begin.place);
  }
  if (span.kind() == CORACLE_COLLECTIVE_BEGIN) arguments.add("team", begin.id >> 32);
  if (begin.line() != 0) {
    const std::string& file = rank.text(begin.file());
    arguments.add("at", quoted(fmt::format("{}:{}", file.substr(file.rfind('/') + 1), begin.line())));
  }
  if (span.kind() == CORACLE_PAGE_MISS_BEGIN && span.end.peer != CORACLE_NOBODY && span.is_closed)
    arguments.add("from", span.end.peer);
  if (span.kind() == CORACLE_OPERATION_BEGIN && span.end.number != 0) arguments.add("failed", true);
  if (!span.is_closed) arguments.add("unfinished", true);
  return arguments.text();
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

/// Which way data goes in a collective with a root.
enum class Flow { none, from_root, to_root };

Flow flow_of(std::string_view collective) noexcept {
  if (collective == "broadcast" || collective == "scatter" || collective == "scatter_v") return Flow::from_root;
  if (collective == "reduce" || collective == "gather" || collective == "gather_v") return Flow::to_root;
  return Flow::none;
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
    const Words words = words_of(span, rank);
    writer.line(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"cat":"{}","args":{{{}}}}})", rank.rank,
                span.lane, time(span.begin_ns), time(span.end_ns - span.begin_ns), quoted(words.name), words.category,
                arguments_of(span, rank));
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
