// Words, numbers and complaints of a text file.
#include "apps/asp/text_lines.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include <coracle/error.hpp>
#include "apps/common/file.hpp"

namespace coracle::asp {
namespace {

constexpr std::string_view kBlanks = " \t\v\f";

}  // namespace

std::string load_text(const std::string& path) {
  return read_whole(path, 4, "a readable graph file", "its graph would not fit a distance matrix");
}

Vertex Names::number(std::string_view name) {
  if (const std::optional<Vertex> known = find(name)) return *known;
  const auto vertex = static_cast<Vertex>(names_.size());
  names_.push_back(&numbers_.emplace(name, vertex).first->first);
  return vertex;
}

std::optional<Vertex> Names::find(std::string_view name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> Names::all() const {
  std::vector<std::string> names;
  names.reserve(size());
  for (const std::string* const name : names_) names.push_back(*name);
  return names;
}

bool TextLines::next() {
  if (rest_.empty()) return false;
  ++number_;
  const std::size_t end = rest_.find('\n');
  line_was_ended_ = end != std::string_view::npos;
  line_ = rest_.substr(0, end);
  rest_.remove_prefix(line_was_ended_ ? end + 1 : rest_.size());
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  unread_ = line_;
  if (line_.find('\0') != std::string_view::npos) fail("holds a zero byte, so it is no text", "give a text file");
  return true;
}

std::optional<std::string_view> TextLines::word() {
  const std::size_t begin = unread_.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) {
    unread_ = {};
    return std::nullopt;
  }
  unread_.remove_prefix(begin);
  const std::string_view found = unread_.substr(0, unread_.find_first_of(kBlanks));
  unread_.remove_prefix(found.size());
  return found;
}

std::string_view TextLines::required_word(std::string_view field) {
  const std::optional<std::string_view> found = word();
  if (!found) fail(fmt::format("the line ends before its {}", field), "complete the line, or get the whole file again");
  return *found;
}

std::size_t TextLines::whole_number(std::string_view field, std::size_t low, std::size_t high) {
  const std::string_view text = required_word(field);
  std::size_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool out_of_range = parsed.ec == std::errc::result_out_of_range;
  if (!out_of_range && (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())) {
    fail(fmt::format("the {} is {}", field, in_quotes(text)),
         fmt::format("write a whole number from {} to {}", low, high));
  }
  if (out_of_range || value < low || value > high) {
    fail(fmt::format("the {} is {}, outside {} to {}", field, in_quotes(text), low, high),
         "correct the number, or the sizes that the file declares");
  }
  return value;
}

void TextLines::check_number(std::string_view text) const {
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = parsed.ptr == text.data() + text.size() && parsed.ec != std::errc::invalid_argument;
  if (!is_number || std::isnan(value)) {
    fail(fmt::format("the weight is {}, which is not a number", in_quotes(text)), "write a number such as 3 or 0.25");
  }
}

float TextLines::weight(std::string_view text) const {
  check_number(text);
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.starts_with('-') && (value != 0 || parsed.ec != std::errc())) {
    fail(fmt::format("the weight {} is negative", in_quotes(text)),
         "shortest paths need weights of at least 0: shift or drop such arcs");
  }
  if (parsed.ec == std::errc::result_out_of_range || value > kWeightMax) {
    fail(fmt::format("the weight {} does not fit", in_quotes(text)),
         fmt::format("keep weights at most {:g} and larger than 1e-300", kWeightMax));
  }
  return std::abs(static_cast<float>(value));
}

void TextLines::expect_end_of_line() {
  if (const std::optional<std::string_view> more = word()) {
    fail(fmt::format("unexpected {} at the end of the line", in_quotes(*more)),
         "remove it, or say by --format how the file is written");
  }
}

void TextLines::fail(std::string_view problem, std::string_view remedy) const {
  throw Error(Errc::bad_input, fmt::format("{}:{}: {}; {}", name_, number_, problem, remedy));
}

std::string in_quotes(std::string_view word) {
  constexpr std::size_t kShown = 40;
  std::string text = "\"";
  for (const char c : word.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    text += byte >= 0x20 && byte < 0x7f ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return text + (word.size() > kShown ? "...\"" : "\"");
}

}  // namespace coracle::asp
