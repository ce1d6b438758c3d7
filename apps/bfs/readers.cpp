// Lines and words are taken apart by asp's reader, which has the complaints.
#include "apps/bfs/readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <coracle/error.hpp>
#include "apps/asp/graph_lines.hpp"
#include "runtime/core/assert.hpp"

namespace coracle::bfs {

using asp::TextLines;

EdgeReader::EdgeReader(std::string name, Names& names, EdgeSink sink)
    : name_(std::move(name)), names_(names), sink_(std::move(sink)) {}

void EdgeReader::feed(std::string_view text) {
  const std::size_t end = text.rfind('\n');
  if (end == std::string_view::npos) {
    rest_ += text;
    return;
  }
  if (!rest_.empty()) {
    const std::size_t first = text.find('\n') + 1;
    rest_ += text.substr(0, first);
    take_lines(rest_);
    rest_.clear();
    text.remove_prefix(first);
    if (text.empty()) return;
  }
  const std::size_t whole = text.rfind('\n') + 1;  // 0: none, since npos + 1 is
  take_lines(text.substr(0, whole));
  rest_ = text.substr(whole);
}

void EdgeReader::take_lines(std::string_view text) {
  if (!has_begun_ && text.starts_with("\x1f\x8b"))
    throw Error(Errc::bad_input, name_ + ": is compressed by gzip; unpack it first with gunzip");
  has_begun_ = has_begun_ || !text.empty();
  TextLines lines(name_, text, lines_);
  while (lines.next()) take_line(lines);
  lines_ = lines.number();
}

void EdgeReader::add(TextLines& lines, std::string_view from, std::string_view to) {
  const Vertex source = names_.number(from);
  const Vertex target = names_.number(to);
  if (names_.size() >= kNoVertex) lines.fail("more than 2^32 - 2 vertices", "take a smaller graph");
  sink_({source, target});
  ++edges_;
}

void EdgeReader::finish() {
  if (!rest_.empty()) take_lines(std::exchange(rest_, {}));
  check_whole(TextLines(name_, {}, lines_));
  if (edges_ > 0) return;
  throw Error(Errc::bad_input,
              fmt::format("{}: the file ends without an edge; write one edge per line: FROM TO", name_));
}

namespace {

constexpr std::size_t kNumbersMax = kNoVertex - 1;

/// `FROM TO [WEIGHT]` per line.
class EdgeListReader final : public EdgeReader {
 public:
  using EdgeReader::EdgeReader;

 private:
  void take_line(TextLines& lines) override {
    const std::optional<std::string_view> from = lines.word();
    if (!from || from->starts_with('#') || from->starts_with('%')) return;
    const std::string_view to = lines.required_word("edge's end");
    const std::optional<std::string_view> weight = lines.word();
    if (weight) check_weight(lines, *weight);
    lines.expect_end_of_line();
    add(lines, *from, to);
  }

  /// The third word is where a file of another format is first seen not to be a list of edges.
  static void check_weight(TextLines& lines, std::string_view weight) {
    try {
      lines.check_number(weight);
    } catch (const Error& error) {
      throw Error(Errc::bad_input,
                  fmt::format("{} (as a list of edges, FROM TO [WEIGHT]; --format says how the file is written)",
                              error.what()));
    }
  }
};

/// Files whose vertices are numbers.
template <class Lines>
class NumberedReader final : public EdgeReader {
 public:
  NumberedReader(std::string name, Names& names, Direction direction, EdgeSink sink)
      : EdgeReader(std::move(name), names, std::move(sink)), direction_(direction) {}

 private:
  void take_line(TextLines& lines) override {
    const std::optional<asp::ArcLine> arc = read_.take(lines);
    if (!arc) return;
    if (!arc->weight.empty()) lines.check_number(arc->weight);
    const std::string from = std::to_string(arc->source);
    const std::string to = std::to_string(arc->target);
    add(lines, from, to);
    // Where edges are followed both ways it would be the same edge again.
    if (direction_ == Direction::as_written && read_.is_symmetric() && from != to) add(lines, to, from);
  }
  void check_whole(const TextLines& lines) const override { read_.finish(lines); }

  Direction direction_;
  Lines read_{kNumbersMax};
};

}  // namespace

TextFormat format_of_path(std::string_view path) noexcept {
  if (path.ends_with(".gr")) return TextFormat::dimacs;
  return path.ends_with(".mtx") ? TextFormat::matrix_market : TextFormat::edge_list;
}

std::unique_ptr<EdgeReader> make_reader(TextFormat format, std::string name, Names& names, Direction direction,
                                        EdgeSink sink) {
  switch (format) {
    case TextFormat::dimacs:
      return std::make_unique<NumberedReader<asp::DimacsLines>>(std::move(name), names, direction, std::move(sink));
    case TextFormat::matrix_market:
      return std::make_unique<NumberedReader<asp::MatrixMarketLines>>(std::move(name), names, direction,
                                                                      std::move(sink));
    case TextFormat::edge_list:
      return std::make_unique<EdgeListReader>(std::move(name), names, std::move(sink));
  }
  CORACLE_ASSERT(false, "text format {}", static_cast<int>(format));
}

std::uint64_t edges_possible(TextFormat format, Direction direction, std::uint64_t bytes) noexcept {
  // No line with an edge takes less than "a b\n"; one of a symmetric matrix may hold two.
  const bool may_hold_two = format == TextFormat::matrix_market && direction == Direction::as_written;
  return bytes / (may_hold_two ? 2 : 4) + 1;
}

namespace {

/// Adjectives that belong to a cluster (s) are pointed to as adjectives (a).
std::optional<std::uint64_t> synset_key(std::string_view offset, std::string_view part) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(offset.data(), offset.data() + offset.size(), number);
  const bool is_part = part.size() == 1 && std::string_view("nvasr").find(part[0]) != std::string_view::npos;
  if (parsed.ec != std::errc() || parsed.ptr != offset.data() + offset.size() || !is_part) return std::nullopt;
  const char letter = part[0] == 's' ? 'a' : part[0];
  return number << 8U | static_cast<unsigned char>(letter);
}

class SynsetReader {
 public:
  SynsetReader(std::unordered_map<std::uint64_t, Vertex>& synsets, std::vector<std::string>& names)
      : synsets_(synsets), names_(names) {}

  /// One line of a data file.
  void read(TextLines& lines, const EdgeSink& sink) {
    const std::string offset(lines.required_word("synset's offset"));
    lines.whole_number("lexicographer file's number", 0, 99);
    const std::string part(lines.required_word("part of speech"));
    const Vertex self = vertex(lines, offset, part);
    const std::size_t words = hexadecimal(lines, lines.required_word("number of words"));
    std::string first;
    for (std::size_t i = 0; i < words; ++i) {
      const std::string_view word = lines.required_word("word");
      if (i == 0) first = word;
      lines.required_word("word's sense");
    }
    names_[self] = fmt::format("{}.{}.{}", first, part == "s" ? "a" : part, offset);
    const std::size_t pointers = lines.whole_number("number of pointers", 0, 999);
    for (std::size_t i = 0; i < pointers; ++i) {
      lines.required_word("pointer's kind");
      const std::string_view target = lines.required_word("pointer's target");
      const std::string_view target_part = lines.required_word("pointer's part of speech");
      const Vertex other = vertex(lines, target, target_part);
      lines.required_word("pointer's words");
      sink({self, other});
    }
  }

 private:
  Vertex vertex(TextLines& lines, std::string_view offset, std::string_view part) {
    const std::optional<std::uint64_t> key = synset_key(offset, part);
    if (!key)
      lines.fail(fmt::format("{} {} names no synset", asp::in_quotes(offset), asp::in_quotes(part)),
                 "get WordNet's file again (Debian: wordnet-base)");
    const auto [place, is_new] = synsets_.try_emplace(*key, static_cast<Vertex>(names_.size()));
    if (is_new) names_.emplace_back();
    return place->second;
  }
  static std::size_t hexadecimal(TextLines& lines, std::string_view word) {
    std::size_t value = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), value, 16);
    if (parsed.ec == std::errc() && parsed.ptr == word.data() + word.size() && value > 0 && value < 256) return value;
    lines.fail(fmt::format("the number of words is {}", asp::in_quotes(word)),
               "get WordNet's file again (Debian: wordnet-base)");
  }
  std::unordered_map<std::uint64_t, Vertex>& synsets_;
  std::vector<std::string>& names_;
};

}  // namespace

void read_wordnet(const std::string& name, std::string_view text, std::unordered_map<std::uint64_t, Vertex>& synsets,
                  std::vector<std::string>& names, const EdgeSink& sink) {
  TextLines lines(name, text);
  SynsetReader reader(synsets, names);
  while (lines.next()) {
    if (lines.line().empty() || lines.line().starts_with("  ")) continue;  // the licence
    reader.read(lines, sink);
  }
}

std::vector<std::string> read_wordnet_folder(const std::string& folder, const EdgeSink& sink) {
  std::unordered_map<std::uint64_t, Vertex> synsets;
  std::vector<std::string> names;
  for (const char* const file : {"data.noun", "data.verb", "data.adj", "data.adv"}) {
    const std::string path = folder + "/" + file;
    read_wordnet(path, asp::load_text(path), synsets, names, sink);
  }
  const auto unnamed = std::ranges::find(names, std::string());
  if (unnamed != names.end() || names.empty())
    throw Error(Errc::bad_input,
                fmt::format("{}: a pointer leads to a synset that is in none of its files; get them again, all of one "
                            "version (Debian: wordnet-base)",
                            folder));
  return names;
}

}  // namespace coracle::bfs
