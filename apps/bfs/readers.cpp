// Lines and words are taken apart by asp's reader, which has the complaints.
#include "apps/bfs/readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "apps/asp/text_lines.hpp"
#include "runtime/error.hpp"

namespace coracle::bfs {

using asp::TextLines;

Vertex Names::number(std::string_view name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  const auto vertex = static_cast<Vertex>(names_.size());
  const auto [place, is_new] = numbers_.emplace(std::string(name), vertex);
  names_.push_back(&place->first);
  return vertex;
}

Vertex Names::find(std::string_view name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? kNoVertex : found->second;
}

EdgeListReader::EdgeListReader(std::string name, Names& names, EdgeSink sink)
    : name_(std::move(name)), names_(names), sink_(std::move(sink)) {}

void EdgeListReader::feed(std::string_view text) {
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

void EdgeListReader::take_lines(std::string_view text) {
  TextLines lines(name_, text, lines_);
  while (lines.next()) {
    const std::optional<std::string_view> from = lines.word();
    if (!from || from->starts_with('#') || from->starts_with('%')) continue;
    const std::string_view to = lines.required_word("edge's end");
    const std::optional<std::string_view> weight = lines.word();
    if (weight) lines.weight(*weight);
    lines.expect_end_of_line();
    const Vertex source = names_.number(*from);
    const Vertex target = names_.number(to);
    if (names_.size() >= kNoVertex) lines.fail("more than 2^32 - 2 vertices", "take a smaller graph");
    sink_({source, target});
    ++edges_;
  }
  lines_ = lines.number();
}

void EdgeListReader::finish() {
  if (!rest_.empty()) take_lines(std::exchange(rest_, {}));
  if (edges_ > 0) return;
  throw Error(Errc::bad_input,
              fmt::format("{}: the file ends without an edge; write one edge per line: FROM TO", name_));
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
      lines.fail(fmt::format("{} {} names no synset", asp::quoted(offset), asp::quoted(part)),
                 "get WordNet's file again (Debian: wordnet-base)");
    const auto [place, is_new] = synsets_.try_emplace(*key, static_cast<Vertex>(names_.size()));
    if (is_new) names_.emplace_back();
    return place->second;
  }
  static std::size_t hexadecimal(TextLines& lines, std::string_view word) {
    std::size_t value = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), value, 16);
    if (parsed.ec == std::errc() && parsed.ptr == word.data() + word.size() && value > 0 && value < 256) return value;
    lines.fail(fmt::format("the number of words is {}", asp::quoted(word)),
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
