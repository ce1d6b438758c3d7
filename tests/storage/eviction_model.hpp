// What evictions are measured by: naive models of them, traces, and the optimum.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/eviction/eviction.hpp"
#include "storage/eviction/eviction_kind.hpp"

namespace coracle::internals::test {

using Trace = std::vector<std::uint64_t>;

/// The same decisions as lru and mru, by searching a queue.
class NaiveRecency final : public coracle::internals::storage::Eviction {
 public:
  explicit NaiveRecency(bool newest_first) : newest_first_(newest_first) {}
  void insert(std::uint32_t frame, std::uint64_t page) override;
  void hit(std::uint32_t frame) noexcept override;
  void remove(std::uint32_t frame, bool evicted) noexcept override;
  std::optional<std::uint32_t> victim(std::uint64_t incoming,
                                      const std::function<bool(std::uint32_t)>& may_evict) override;

 private:
  std::deque<std::uint32_t> frames_;  // the newest first
  bool newest_first_;
};

/// The same decisions as arc, by searching four queues of pages.
class NaiveArc final : public coracle::internals::storage::Eviction {
 public:
  explicit NaiveArc(std::uint32_t capacity) : capacity_(capacity), pages_(capacity), inserted_(capacity) {}
  void insert(std::uint32_t frame, std::uint64_t page) override;
  void hit(std::uint32_t frame) noexcept override;
  void remove(std::uint32_t frame, bool evicted) noexcept override;
  std::optional<std::uint32_t> victim(std::uint64_t incoming,
                                      const std::function<bool(std::uint32_t)>& may_evict) override;

 private:
  double wanted(std::uint64_t incoming) const;

  std::size_t capacity_;
  std::vector<std::uint64_t> pages_;     // by frame
  std::vector<std::uint64_t> inserted_;  // by frame
  std::deque<std::uint64_t> once_, often_, ghosts_once_, ghosts_often_;
  std::uint64_t insertions_ = 0;
  double once_wanted_ = 0;
};

/// A cache that holds nothing but numbers.
class TracedCache {
 public:
  TracedCache(coracle::internals::storage::Eviction& eviction, std::uint32_t capacity);
  /// True for a hit.
  bool use(std::uint64_t page);

 private:
  coracle::internals::storage::Eviction& eviction_;
  std::unordered_map<std::uint64_t, std::uint32_t> frames_;
  std::vector<std::uint64_t> pages_;
  std::uint32_t used_ = 0;
};

struct NamedTrace {
  std::string name;
  std::uint32_t capacity;
  Trace trace;
};
/// Those of docs/storage.md.
NamedTrace zipf_trace();
NamedTrace zipf_and_scan_trace();
NamedTrace matrix_product_trace();
NamedTrace zigzag_trace();
NamedTrace loop_trace();

/// In percent of all uses.
double hits(coracle::internals::storage::EvictionKind kind, const NamedTrace& trace);
/// As the paper has it: no filter for correlated references.
double hits_of_plain_arc(const NamedTrace& trace);
/// Of who knows the future: the page that is used again last goes (Belady 1966).
double hits_of_optimum(const NamedTrace& trace);

}  // namespace coracle::internals::test
