// SchemeTuner: how long it has taken to fetch messages like this one, by each scheme, so that the next goes by the
// quickest. A model can't know it: whether the lines of a layout are in the sender's cache, in the receiver's, or in
// both, decides more than their number does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace coracle::internals {

/// What makes messages alike: they come from one rank, and both sides name the same memory layouts and as many bytes.
struct MessageClass {
  std::uint32_t peer = 0;
  std::uint64_t bytes = 0;
  const void* source = nullptr;  ///< Stands for the layout; null: one piece.
  const void* target = nullptr;
  bool operator==(const MessageClass&) const = default;
};

/// Of one rank. Its thread only.
class SchemeTuner {
 public:
  static constexpr std::size_t kSchemes = 3;

  /// One of the first `count` means to use now. `expected`: what a model says; it is tried first.
  std::size_t choose(const MessageClass& message_class, std::size_t count, std::size_t expected) noexcept;
  /// What it has taken.
  void learn(const MessageClass& message_class, std::size_t scheme, double ns) noexcept;

 private:
  /// So many messages in a row go by a scheme that is tried, since each finds the lines where the one before left them:
  /// the first says nothing of the next. Both ends of a ping-pong do so at the same time, and so see what a scheme is
  /// worth in both directions.
  static constexpr std::uint32_t kTried = 4;
  /// Two where they take so long: such messages don't fit into caches, and leave little of what was there before.
  static constexpr std::uint32_t kTriedLong = 2;
  static constexpr double kLongNs = 200'000;
  /// But only one if that has taken so many times as long as what is used.
  static constexpr double kHopeless = 3;
  /// What is used is left for what takes this part of its time, or less: else they take turns, and each finds the
  /// lines where the other needs them least.
  static constexpr double kBetter = 0.92;
  /// So many messages go by before another scheme gets one more chance: soon at first, since the first ones found cold
  /// caches, later seldom.
  static constexpr std::uint32_t kPatienceAtFirst = 24;
  static constexpr std::uint32_t kPatience = 384;
  static constexpr std::size_t kEntries = 128;
  static constexpr std::uint8_t kNone = kSchemes;

  struct Entry {
    MessageClass message_class;
    std::uint32_t uses = 0;
    std::uint8_t used = kNone;
    std::uint8_t tried = kNone;
    std::uint8_t samples = 0;  // of what is tried
    std::array<double, kTried> sampled_ns{};
    std::array<double, kSchemes> ns{};  // 0: not known
  };
  Entry& entry_of(const MessageClass& message_class) noexcept;
  /// What is to be tried now, or kNone.
  static std::uint8_t next_trial(const Entry& entry, std::size_t count, std::size_t expected) noexcept;
  static void end_trial(Entry& entry) noexcept;

  std::array<Entry, kEntries> entries_{};
};

}  // namespace coracle::internals
