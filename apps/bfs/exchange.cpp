// Counts first, then the pairs.
#include "apps/bfs/exchange.hpp"

#include <cstdint>
#include <span>

namespace coracle::bfs {

Task<> exchange(Team& team, std::vector<std::vector<Edge>>& outgoing, std::vector<Edge>& incoming) {
  std::vector<std::uint64_t> leaving;
  std::vector<Edge> source;
  for (std::vector<Edge>& edges : outgoing) {
    leaving.push_back(edges.size());
    source.insert(source.end(), edges.begin(), edges.end());
    edges.clear();
  }
  std::vector<std::uint64_t> coming(leaving.size());
  co_await team.all_to_all(std::span<const std::uint64_t>(leaving), std::span(coming));
  std::uint64_t all = 0;
  for (const std::uint64_t count : coming) all += count;
  incoming.resize(all);
  const std::vector<std::size_t> source_counts(leaving.begin(), leaving.end());
  const std::vector<std::size_t> target_counts(coming.begin(), coming.end());
  co_await team.all_to_all_v(std::span<const Edge>(source), source_counts, std::span(incoming), target_counts);
}

Task<std::exception_ptr> error_of(Task<> work) {
  std::exception_ptr error;
  try {
    co_await work;
  } catch (...) {
    error = std::current_exception();
  }
  co_return error;
}

}  // namespace coracle::bfs
