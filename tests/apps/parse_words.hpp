// Command lines of applications, as a test writes them.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace coracle::apps_test {

/// What `parse` makes of a program that is called with `words`.
template <class Options>
std::variant<Options, int> parse_words(std::variant<Options, int> (*parse)(int, char**),
                                       std::vector<std::string> words) {
  words.insert(words.begin(), "program");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return parse(static_cast<int>(words.size()), pointers.data());
}

/// The exit status that it gives; -1: it gives options.
template <class Options>
int status_of_words(std::variant<Options, int> (*parse)(int, char**), std::vector<std::string> words) {
  const auto parsed = parse_words(parse, std::move(words));
  return std::holds_alternative<int>(parsed) ? std::get<int>(parsed) : -1;
}

}  // namespace coracle::apps_test
