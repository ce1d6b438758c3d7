// "when NANOSECONDS SIGNAL OTHERS", a line.
#include "runtime/job/failure_record.hpp"

#include <time.h>

#include <array>
#include <charconv>

#include "runtime/core/error.hpp"

namespace coracle::internals {
namespace {

constexpr std::string_view kBegin = "when ";

std::uint64_t now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// A number and the blank or newline after it, taken from the front of `text`.
template <class Number>
bool take(std::string_view& text, Number& number) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto used = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || used == text.size()) return false;
  text.remove_prefix(used + 1);
  return true;
}

}  // namespace

bool is_for_others(const std::exception_ptr& failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.code() == Errc::peer_lost || error.code() == Errc::given_up || error.code() == Errc::page_lost;
  } catch (...) {
    return false;
  }
}

void FailureRecord::add(SignalText& text, int signal, bool for_others) noexcept {
  text.add("{}{} {} {}\n", kBegin, now_ns(), signal, for_others ? 1 : 0);
}

FailureRecord FailureRecord::parse(std::string_view text) noexcept {
  if (text.substr(0, kBegin.size()) != kBegin) return {};
  text.remove_prefix(kBegin.size());
  FailureRecord words;
  int others = 0;
  if (!take(text, words.when_ns) || !take(text, words.signal) || !take(text, others)) return {};
  words.for_others = others != 0;
  words.crash = text;
  return words;
}

bool FailureRecord::outweigh(const FailureRecord& other) const noexcept {
  if (when_ns == 0 || other.when_ns == 0) return when_ns != 0;
  if ((signal != 0) != (other.signal != 0)) return signal != 0;
  if (for_others != other.for_others) return !for_others;
  return when_ns < other.when_ns;
}

void leave_failure_record(RankBlock& block, const std::exception_ptr& failure) noexcept {
  // relaxed: written by this thread, or by the handler of a crash, after which nothing here runs.
  if (block.crash_bytes.load(std::memory_order_relaxed) != 0) return;
  SignalText text(block.crash_text.data(), block.crash_text.size());
  FailureRecord::add(text, 0, is_for_others(failure));
  // release: the launcher reads the length (acquire) before the text.
  block.crash_bytes.store(static_cast<std::uint32_t>(text.size()), std::memory_order_release);
}

}  // namespace coracle::internals
