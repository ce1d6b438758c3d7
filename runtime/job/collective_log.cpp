// Keeping and comparing signatures.
#include "runtime/job/collective_log.hpp"

#include <utility>

namespace coracle::internals {

std::uint64_t CollectiveLog::begin(const CollectiveCall& call) noexcept {
  const CallWords words = CallWords::of(call, ++number_, digest_);
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
