// Experience: how long it has taken to fetch messages like this one, by each means, so that the next goes by the
// quickest. A model can't know it: whether the lines of a layout are in the sender's cache, in the receiver's, or in
// both, decides more than their number does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace coracle {

/// What makes messages alike: they come from one rank, and both sides name the same memory layouts and as many bytes.
struct MessageKind {
  std::uint32_t peer = 0;
  std::uint64_t bytes = 0;
  const void* source = nullptr;  ///< Stands for the layout; null: one piece.
  const void* target = nullptr;
  bool operator==(const MessageKind&) const = default;
};

/// Of one rank. Its thread only.
class Experience {
 public:
  static constexpr std::size_t kMeans = 3;

  /// One of the first `count` means to use now. `expected`: what a model says; it is used first.
  std::size_t choose(const MessageKind& kind, std::size_t count, std::size_t expected) noexcept;
  /// What it has taken.
  void learn(const MessageKind& kind, std::size_t means, double ns) noexcept;

 private:
  /// Each means is tried so often before one is preferred: the first time finds cold caches.
  static constexpr std::uint32_t kTries = 3;
  /// But once only if it has taken so many times as long as the best.
  static constexpr double kHopeless = 2;
  /// So many messages go by before another means gets one more chance.
  static constexpr std::uint32_t kPatience = 200;
  static constexpr std::size_t kEntries = 128;

  struct Entry {
    MessageKind kind;
    std::uint32_t uses = 0;
    std::array<std::uint32_t, kMeans> tries{};
    std::array<double, kMeans> ns{};
  };
  Entry& entry_of(const MessageKind& kind) noexcept;

  std::array<Entry, kEntries> entries_{};
};

}  // namespace coracle
