// Calls of collectives as words, what to say of two that differ, and keeping and comparing signatures.
#include "runtime/job/collective_log.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <string_view>
#include <utility>

#include "runtime/core/own_module.hpp"
#include "runtime/job/backtrace_text.hpp"

namespace coracle::internals {
namespace {

constexpr unsigned kCalledShift = 56;

constexpr std::array<const char*, static_cast<std::size_t>(Called::end_)> kNames{
    "a collective of the program's own",
    "nothing more, since its program has ended",
    "barrier",
    "broadcast",
    "reduce",
    "all_reduce",
    "reduce_scatter",
    "scan",
    "exclusive_scan",
    "gather",
    "gather_v",
    "gather_all",
    "scatter",
    "scatter_v",
    "all_to_all",
    "all_to_all_v",
    "split",
};

// A std::source_location is a pointer to constants of whoever called, which are known where they lie in the library's
// own module, or in the main program. There, the place has this bit.
constexpr std::uint32_t kInProgram = std::uint32_t{1} << 31;
static_assert(sizeof(std::source_location) == sizeof(const char*));

/// 0: it lies elsewhere.
std::uint32_t place_in(const Module& module, const void* address) noexcept {
  const std::ptrdiff_t offset = static_cast<const char*>(address) - module.start;
  return module.holds_data(offset) && offset < std::ptrdiff_t{kInProgram} ? static_cast<std::uint32_t>(offset) : 0;
}

[[gnu::cold, gnu::noinline]] std::uint32_t place_in_program(const char* constants) noexcept {
  const std::uint32_t place = place_in(program_module(), constants);
  return place != 0 ? kInProgram | place : 0;
}

/// What comes from elsewhere must not lead out of the image.
const char* constants_at(std::uint32_t place) noexcept {
  const Module& module = (place & kInProgram) != 0 ? program_module() : kOwnModule;
  const std::uint32_t offset = place & ~kInProgram;
  return module.holds_data(offset) ? module.start + offset : nullptr;
}

std::string describe_source(std::uint32_t place) {
  const char* const constants = constants_at(place);
  if (constants == nullptr) return "at an unknown place";
  const auto where = std::bit_cast<std::source_location>(constants);
  const std::string_view file = where.file_name();
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), where.line());
}

/// The call is just before what it returns to.
std::string describe_site(std::uint32_t site, std::uint32_t program) {
  const ProgramModule& own = program_module();
  if (site == 0) return "in a shared library";
  if (program != own.digest) return "in another program";
  return place_in_source(program_path(), reinterpret_cast<std::uintptr_t>(own.start) - own.base + site - 1);
}

}  // namespace

const char* name_of(Called called) noexcept {
  const auto number = static_cast<std::size_t>(called);
  return number < kNames.size() ? kNames[number] : "an unknown collective";
}

CallWords CallWords::of(const CollectiveCall& call, const ProgramCall& by, std::uint64_t number,
                        std::uint64_t digest_before) noexcept {
  const std::uint64_t what =
      static_cast<std::uint64_t>(call.called) << kCalledShift | (call.bytes & CollectiveCall::kAnyBytes);
  // Multiplicative mixing, as in FxHash; the upper bits, which are looked at, depend on all.
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15ULL;
  std::uint64_t digest = (std::rotl(digest_before, 5) ^ what) * kFactor;
  digest = (std::rotl(digest, 29) ^ call.root) * kFactor;
  const auto* const constants = std::bit_cast<const char*>(call.where);
  const std::uint32_t place = place_in(kOwnModule, constants);
  // An interface gives no place, or one in the library. Others are of a coroutine that goes on while its call waits.
  if (by.function != nullptr && (constants == nullptr || place != 0)) {
    const ProgramModule& program = program_module();
    return {
        number, digest, what, call.root, program.digest, place_in(kOwnModule, by.function), place_in(program, by.site)};
  }
  const bool is_elsewhere = place == 0 && constants != nullptr;
  return {number, digest, what, call.root, is_elsewhere ? place_in_program(constants) : place, 0, 0};
}

std::string CallWords::describe() const {
  const bool is_end = what >> kCalledShift == static_cast<std::uint64_t>(Called::finalize);
  if (is_end) return call_text();
  const bool by_interface = function != 0 && constants_at(function) != nullptr;
  return call_text() + fmt::format(" ({})", by_interface ? describe_site(site, place) : describe_source(place));
}

std::string CallWords::place_text() const {
  return function != 0 || constants_at(place) == nullptr ? "" : describe_source(place);
}

std::string CallWords::call_text() const {
  const std::uint64_t called = what >> kCalledShift;
  const bool is_end = called == static_cast<std::uint64_t>(Called::finalize);
  const char* const by = function != 0 && !is_end ? constants_at(function) : nullptr;
  std::string text = by != nullptr ? by : name_of(static_cast<Called>(called));
  if (const std::uint64_t bytes = what & CollectiveCall::kAnyBytes; bytes != CollectiveCall::kAnyBytes)
    text += fmt::format(" of {} bytes", bytes);
  if (root != CollectiveCall::kNoRoot) text += fmt::format(", root {}", root);
  return text;
}

void CallRecord::write(const CallWords& words) noexcept {
  number_.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(
      std::memory_order_release);  // pairs with the fence in read(): no new word with the old number
  digest_.store(words.digest, std::memory_order_relaxed);
  what_.store(words.what, std::memory_order_relaxed);
  root_.store(words.root, std::memory_order_relaxed);
  place_.store(words.place, std::memory_order_relaxed);
  function_.store(words.function, std::memory_order_relaxed);
  site_.store(words.site, std::memory_order_relaxed);
  number_.store(words.number, std::memory_order_release);  // pairs with the acquire in read()
}

CallWords CallRecord::own() const noexcept {
  return {number_.load(std::memory_order_relaxed), digest_.load(std::memory_order_relaxed),
          what_.load(std::memory_order_relaxed),   root_.load(std::memory_order_relaxed),
          place_.load(std::memory_order_relaxed),  function_.load(std::memory_order_relaxed),
          site_.load(std::memory_order_relaxed)};
}

std::optional<CallWords> CallRecord::read() const noexcept {
  const std::uint64_t number = number_.load(std::memory_order_acquire);
  CallWords words = own();
  words.number = number;
  std::atomic_thread_fence(std::memory_order_acquire);
  if (number == 0 || number_.load(std::memory_order_relaxed) != number) return std::nullopt;
  return words;
}

std::optional<CallDifference> first_difference(std::span<const CallWords> here, std::span<const CallWords> there) {
  std::optional<CallDifference> first;
  for (const CallWords& ours : here) {
    for (const CallWords& theirs : there) {
      if (ours.number == 0 || ours.number != theirs.number || ours.digest == theirs.digest) continue;
      if (first && first->here.number <= ours.number) continue;
      first = CallDifference{ours, theirs, ours.what == theirs.what && ours.root == theirs.root};
    }
  }
  return first;
}

std::string CallDifference::describe(std::uint32_t rank_here, std::uint32_t rank_there) const {
  const std::string calls =
      fmt::format("rank {} has called {}, and rank {} {}", rank_here, here.describe(), rank_there, there.describe());
  if (is_earlier)
    return fmt::format(
        "the members of a team have not called the same collectives, long before its collective {}, in "
        "which {}",
        here.number, calls);
  return fmt::format(
      "the members of a team must call the same collectives in the same order, with the same root and "
      "size: as collective {} of this team {}",
      here.number, calls);
}

std::uint64_t CollectiveLog::begin(const CollectiveCall& call, const ProgramCall& by) noexcept {
  const CallWords words = CallWords::of(call, by, ++number_, digest_);
  digest_ = words.digest;
  (*records_)[number_ % kCalls].write(words);
  ++under_way_;
  const Heard& heard = heard_[number_ % heard_.size()];
  if (heard.number == number_ && heard.signature != signature()) [[unlikely]]
    misheard_ = heard.rank;
  return number_;
}

std::optional<std::uint32_t> CollectiveLog::signature_at(std::uint64_t number) const noexcept {
  const CallWords words = (*records_)[number % kCalls].own();
  if (words.number != number || number == 0) return std::nullopt;
  return signature_of(words.digest);
}

std::vector<CallWords> CollectiveLog::read(const Records& records) {
  std::vector<CallWords> calls;
  calls.reserve(kCalls);
  for (const CallRecord& record : records)
    if (const auto words = record.read()) calls.push_back(*words);
  return calls;
}

bool CollectiveLog::fits(std::uint64_t number, std::uint32_t signature, std::uint32_t rank) noexcept {
  if (number <= number_) return signature_at(number).value_or(signature) == signature;
  Heard& heard = heard_[number % heard_.size()];
  if (heard.number <= number_) heard = {number, signature, rank};
  return true;
}

std::optional<std::uint32_t> CollectiveLog::take_misheard() noexcept {
  if (misheard_ == kNobody) [[likely]]
    return std::nullopt;
  return std::exchange(misheard_, kNobody);
}

bool CollectiveLog::stands_still() noexcept {
  return std::exchange(seen_, number_ + ended_) == number_ + ended_ && any_under_way();
}

std::vector<CallWords> CollectiveLog::calls() const {
  return read(*records_);
}

}  // namespace coracle::internals
