// Walks a text line by line and turns every complaint into one error with file and line: the part that all graph
// readers have in common.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "apps/asp/graph.hpp"

namespace coracle::asp {

/// Reads the whole file (pipes too). Throws Error(Errc::bad_input) where it is missing, unreadable, compressed, or
/// larger than 4 GiB.
std::string load_text(const std::string& path);

/// Numbers vertices by name, in the order in which they are first seen; keeps the names.
class Names {
 public:
  /// The vertex called `name`, a new one if there is none yet.
  Vertex number(std::string_view name);
  /// Nothing: nobody has that name.
  std::optional<Vertex> find(std::string_view name) const;
  const std::string& name(Vertex vertex) const { return *names_[vertex]; }
  std::size_t size() const noexcept { return names_.size(); }
  /// By vertex.
  std::vector<std::string> all() const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, Vertex, Hash, std::equal_to<>> numbers_;
  std::vector<const std::string*> names_;  // keys of numbers_, which stay where they are
};

class TextLines {
 public:
  /// `name` is the file's name for messages. `text` must outlive this object. `before`: lines of the file before it.
  TextLines(std::string name, std::string_view text, std::size_t before = 0)
      : name_(std::move(name)), rest_(text), size_(text.size()), number_(before) {}

  /// Goes to the next line; false behind the last. Fails on bytes that no text has.
  bool next();

  /// The current line without its end (\n or \r\n).
  std::string_view line() const noexcept { return line_; }
  std::size_t number() const noexcept { return number_; }

  /// False when the last line lacks its newline, as where a file was cut off.
  bool line_was_ended() const noexcept { return line_was_ended_; }

  /// Takes the next blank-separated word off the current line; nothing at its end.
  std::optional<std::string_view> word();

  /// The next word, or an error that says which `field` is missing.
  std::string_view required_word(std::string_view field);

  /// The next word as a whole number within [low, high].
  std::size_t whole_number(std::string_view field, std::size_t low, std::size_t high);

  /// Fails where a weight is no number: for readers that do not look at weights.
  void check_number(std::string_view word) const;

  /// A weight: finite, not negative, at most kWeightMax.
  float weight(std::string_view word) const;

  /// Fails when the line still holds words.
  void expect_end_of_line();

  /// Throws Error(Errc::bad_input): "file:line: problem; remedy".
  [[noreturn]] void fail(std::string_view problem, std::string_view remedy) const;

  /// An upper bound of how many lines of at least `shortest` bytes the text can hold: a safe size to reserve, whatever
  /// the file declares.
  std::size_t lines_possible(std::size_t shortest) const noexcept { return size_ / shortest + 1; }

 private:
  std::string name_;
  std::string_view rest_;
  std::size_t size_;
  std::string_view line_;
  std::string_view unread_;  // of the current line
  std::size_t number_;
  bool line_was_ended_ = true;
};

/// `word` in quotes for a message: unprintable bytes escaped, shortened to 40.
std::string in_quotes(std::string_view word);

}  // namespace coracle::asp
