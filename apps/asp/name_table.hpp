// Numbers vertices by name in the order in which they are first seen.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apps/asp/graph.hpp"

namespace coracle::asp {

/// The names' text must outlive the table (readers keep the file's text).
class NameTable {
 public:
  /// The vertex called `name`, a new one if there is none yet.
  Vertex number(std::string_view name) {
    const auto [place, is_new] = numbers_.try_emplace(name, static_cast<Vertex>(names_.size()));
    if (is_new) names_.emplace_back(name);
    return place->second;
  }

  std::optional<Vertex> find(std::string_view name) const {
    const auto place = numbers_.find(name);
    return place == numbers_.end() ? std::nullopt : std::optional(place->second);
  }

  std::size_t size() const noexcept { return names_.size(); }
  std::vector<std::string> take_names() && { return std::move(names_); }

 private:
  std::unordered_map<std::string_view, Vertex> numbers_;
  std::vector<std::string> names_;
};

}  // namespace coracle::asp
