#include "storage/protocol/page_letter.hpp"

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

PageLetter::Words PageLetter::words(std::uint32_t segment) const noexcept {
  Words words{};
  words.kind = segment | std::uint64_t{static_cast<std::uint8_t>(message.verb)} << kVerbAt |
               std::uint64_t{static_cast<std::uint8_t>(message.failure)} << kFailureAt |
               (message.has_copy ? kHasCopy : 0) | (message.whole ? kWhole : 0) | (message.keep ? kKeep : 0) |
               (from_ssd ? kFromSsd : 0);
  words.frame = both(message.requester, frame);
  words.numbers = both(message.number, message.step);
  return words;
}

std::uint32_t PageLetter::segment_of(const Message& message) noexcept {
  return low(message.argument(0));
}

PageLetter PageLetter::of(const Message& message) noexcept {
  const std::uint64_t kind = message.argument(0);
  PageLetter letter;
  letter.message.verb = static_cast<Verb>(kind >> kVerbAt & 0xff);
  letter.message.failure = static_cast<PageFailure>(kind >> kFailureAt & 0xff);
  letter.message.has_copy = (kind & kHasCopy) != 0;
  letter.message.whole = (kind & kWhole) != 0;
  letter.message.keep = (kind & kKeep) != 0;
  letter.from_ssd = (kind & kFromSsd) != 0;
  letter.page = message.argument(1);
  letter.message.requester = high(message.argument(2));
  letter.frame = low(message.argument(2));
  letter.message.number = high(message.argument(3));
  letter.message.step = low(message.argument(3));
  letter.from = low(message.argument(4));
  return letter;
}

}  // namespace coracle::internals::storage
