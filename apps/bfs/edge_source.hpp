// Where a graph's edges come from, in any order and as often as one likes, without all of them in memory.
#pragma once

#include <coracle/coracle.hpp>

#include <cstdint>
#include <span>

#include "apps/bfs/edge.hpp"
#include "apps/bfs/kronecker.hpp"

namespace coracle::bfs {

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

}  // namespace coracle::bfs
