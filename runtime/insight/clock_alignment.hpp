// How the times of several nodes become times of one clock.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/insight/trace_reader.hpp"

namespace coracle::internals {

/// A node's clock beside that of the head, by questions and answers: of each few the quickest says most (Cristian,
/// 1989). Asked twice, at the beginning and at the end, it knows the clocks' drift, too.
class NodeClock {
 public:
  enum class When : std::uint8_t { beginning, end };

  /// The head asked at `sent_ns`, the node's clock said `there_ns`, and the answer came at `received_ns`.
  void add(When when, std::uint64_t sent_ns, std::uint64_t there_ns, std::uint64_t received_ns) noexcept;
  /// Of a time of the node's clock, on the head's. Without any answer the clocks are taken for the same.
  std::uint64_t on_head(std::uint64_t there_ns) const noexcept;
  /// How far the better of the answers may be wrong; nothing without one.
  std::optional<std::uint64_t> uncertainty_ns() const noexcept;

 private:
  struct Answer {
    std::uint64_t there_ns = 0;
    std::int64_t ahead_ns = 0;  // of the head's clock
    std::uint64_t width_ns = ~std::uint64_t{0};
    bool is_any() const noexcept { return width_ns != ~std::uint64_t{0}; }
  };
  Answer beginning_;
  Answer end_;
};

/// How far the clocks of two nodes may be apart, at most, of nodes whose clocks may differ from the head's by that
/// much.
std::uint64_t uncertainty_between(std::vector<std::uint64_t> nodes_ns);

/// No message comes before it was sent: moves the times of whole nodes by the little that is needed for that, which the
/// answers above can't know. Times are on one clock already.
void align_by_messages(JobTrace& trace);

}  // namespace coracle::internals
