// Vertices and edges of graphs whose edges fit no memory: where they come from, in any order and as often as one likes,
// and how they go to other ranks in rounds.
#pragma once

#include <coracle/coracle.hpp>

#include <cstdint>
#include <exception>
#include <span>
#include <vector>

namespace coracle::bfs {

using Vertex = std::uint32_t;

inline constexpr Vertex kNoVertex = ~Vertex{0};

struct Edge {
  Vertex from;
  Vertex to;
  bool operator==(const Edge&) const = default;
};

/// Which rank has which vertices: equally many each, but for the last.
struct Ownership {
  std::uint64_t vertices = 0;
  std::uint32_t ranks = 1;

  std::uint64_t each() const noexcept { return (vertices + ranks - 1) / ranks; }
  std::uint32_t owner(Vertex vertex) const noexcept { return static_cast<std::uint32_t>(vertex / each()); }
  /// The first vertex of a rank; of rank `ranks`: the end.
  std::uint64_t first(std::uint32_t rank) const noexcept { return each() * rank < vertices ? each() * rank : vertices; }
  std::uint64_t count(std::uint32_t rank) const noexcept { return first(rank + 1) - first(rank); }
};

inline constexpr std::uint32_t kScaleMax = 31;

/// Graph500's Kronecker graphs: 2^scale vertices, most of which have few edges and some very many. Each edge follows
/// from the seed and its number alone, so that any rank can make any of them.
class Kronecker {
 public:
  /// `scale` from 1 to kScaleMax.
  Kronecker(std::uint32_t scale, std::uint64_t edge_factor, std::uint64_t seed) noexcept;

  std::uint64_t vertices() const noexcept { return std::uint64_t{1} << scale_; }
  std::uint64_t edges() const noexcept { return edge_factor_ << scale_; }
  /// Of edge `number` below edges(). Loops and equal edges occur.
  Edge edge(std::uint64_t number) const noexcept;
  /// The vertices' numbers tell nothing of their degrees: what the generator calls `vertex` is renamed, one to one.
  Vertex renamed(Vertex vertex) const noexcept;

 private:
  std::uint32_t scale_;
  std::uint64_t edge_factor_;
  std::uint64_t edge_seed_;
  std::uint64_t name_seed_;
};

/// Edges in any order and as often as one likes, without all of them in memory.
class EdgeSource {
 public:
  virtual ~EdgeSource() = default;
  virtual std::uint64_t edges() const noexcept = 0;
  /// Edges `first`, `first` + 1, ... into `target`. At any rank.
  virtual Task<> read(std::uint64_t first, std::span<Edge> target) = 0;
  /// No more reads. Collective.
  virtual Task<> close() { co_return; }
};

class KroneckerEdges final : public EdgeSource {
 public:
  explicit KroneckerEdges(const Kronecker& kronecker) noexcept : kronecker_(kronecker) {}
  std::uint64_t edges() const noexcept override { return kronecker_.edges(); }
  Task<> read(std::uint64_t first, std::span<Edge> target) override {
    for (std::size_t i = 0; i < target.size(); ++i) target[i] = kronecker_.edge(first + i);
    co_return;
  }

 private:
  Kronecker kronecker_;
};

class StoredEdges final : public EdgeSource {
 public:
  /// The first `edges` of an array.
  StoredEdges(PagedArray<Edge> array, std::uint64_t edges) noexcept : array_(std::move(array)), edges_(edges) {}
  std::uint64_t edges() const noexcept override { return edges_; }
  Task<> read(std::uint64_t first, std::span<Edge> target) override { co_await array_.get(first, target); }
  Task<> close() override { return array_.close(); }

 private:
  PagedArray<Edge> array_;
  std::uint64_t edges_;
};

/// `outgoing` of each rank, by receiver, becomes `incoming` of the receivers, in the order of the senders; and is empty
/// afterwards. Collective.
Task<> exchange(Team& team, std::vector<std::vector<Edge>>& outgoing, std::vector<Edge>& incoming);

/// What `work` has thrown, or null.
Task<std::exception_ptr> error_of(Task<> work);

}  // namespace coracle::bfs
