#include "storage/protocol/coherence_message.hpp"

#include "runtime/rank/message.hpp"

namespace coracle::internals::storage {
namespace {

constexpr int kVerbAt = 32;
constexpr int kFailureAt = 40;
constexpr std::uint64_t kHasCopy = 1ULL << 48;
constexpr std::uint64_t kWhole = 1ULL << 49;
constexpr std::uint64_t kKeep = 1ULL << 50;
constexpr std::uint64_t kFromSsd = 1ULL << 51;

constexpr std::uint64_t both(std::uint32_t high, std::uint32_t low) noexcept {
  return std::uint64_t{high} << 32 | low;
}
constexpr std::uint32_t high(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word >> 32);
}
constexpr std::uint32_t low(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word);
}

}  // namespace

// The arguments of a message: kind, page, requester and frame, number and step, sender.

CoherenceMessage::Words CoherenceMessage::words(std::uint32_t segment) const noexcept {
  Words words{};
  words.kind = segment | std::uint64_t{static_cast<std::uint8_t>(message.verb)} << kVerbAt |
               std::uint64_t{static_cast<std::uint8_t>(message.failure)} << kFailureAt |
               (message.has_copy ? kHasCopy : 0) | (message.whole ? kWhole : 0) | (message.keep ? kKeep : 0) |
               (from_ssd ? kFromSsd : 0);
  words.frame = both(message.requester, frame);
  words.numbers = both(message.number, message.step);
  return words;
}

std::uint32_t CoherenceMessage::segment_of(const Message& message) noexcept {
  return low(message.argument(0));
}

CoherenceMessage CoherenceMessage::of(const Message& message) noexcept {
  const std::uint64_t kind = message.argument(0);
  CoherenceMessage coherence_message;
  coherence_message.message.verb = static_cast<Verb>(kind >> kVerbAt & 0xff);
  coherence_message.message.failure = static_cast<PageFailure>(kind >> kFailureAt & 0xff);
  coherence_message.message.has_copy = (kind & kHasCopy) != 0;
  coherence_message.message.whole = (kind & kWhole) != 0;
  coherence_message.message.keep = (kind & kKeep) != 0;
  coherence_message.from_ssd = (kind & kFromSsd) != 0;
  coherence_message.page = message.argument(1);
  coherence_message.message.requester = high(message.argument(2));
  coherence_message.frame = low(message.argument(2));
  coherence_message.message.number = high(message.argument(3));
  coherence_message.message.step = low(message.argument(3));
  coherence_message.from = low(message.argument(4));
  return coherence_message;
}

}  // namespace coracle::internals::storage
