// Which of two failures is the likelier cause; and those of ranks, by exit status, signal and what the rank has left in
// its block.
#include "runtime/launch/job_failure.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <string_view>

#include "runtime/job/failure_record.hpp"

namespace coracle::internals {
namespace {

int weight(const JobFailure& failure) noexcept {
  if (failure.asked) return 3;
  if (failure.for_others) return 0;
  return failure.crashed ? 2 : 1;
}

std::string text_of_stop(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

/// "SIGKILL (from outside, or because memory ran out)" for those who wrote no crash text.
std::string text_of_signal(int signal) {
  if (signal == SIGKILL) return "SIGKILL (from outside, or because memory ran out: see dmesg)";
  const std::string name = signal_name(signal);
  return fmt::format("{} ({})", name == "signal" ? fmt::format("signal {}", signal) : name, ::strsignal(signal));
}

std::string given_up_text(const JobRegion& region, const RankProcess& process) {
  return fmt::format(
      "{} was stopped by {}, while others ran and waited for it for {}: it is given up for lost, and was killed "
      "(continue it sooner, by SIGCONT, or let others wait longer, by --silence)",
      process.name(), text_of_stop(process.stop_signal),
      text_of(std::chrono::nanoseconds(region.shape().network.silence_limit_ns)));
}

JobFailure failure_by_signal(const RankProcess& process, int signal, const FailureRecord& record, bool ending) {
  const bool by_us = ending && record.when_ns != 0 && (signal == SIGTERM || signal == SIGKILL);
  if (by_us && record.signal == 0)
    return {fmt::format("{} failed by an error, and was killed because it did not end", process.name())};
  if (by_us) signal = record.signal;  // while it described its crash
  const std::string_view headline = record.crash.substr(0, record.crash.find('\n'));
  const std::string by_name = signal_name(signal);
  const bool told = headline.substr(0, by_name.size()) == by_name;
  return {fmt::format("{} was killed by {}",
                      record.crash.empty() ? process.name() : fmt::format("rank {} (pid {})", record.rank, process.pid),
                      told ? std::string(headline) : text_of_signal(signal)),
          128 + signal, true};
}

}  // namespace

bool JobFailure::outweighs(const JobFailure& other) const noexcept {
  const bool one_clock = machine == other.machine;
  const bool timed =
      one_clock && when_ns != 0 && other.when_ns != 0 && !asked && !other.asked && for_others == other.for_others;
  if (timed) return when_ns < other.when_ns;
  return weight(*this) > weight(other);
}

FailureRecord failure_record_of(const JobRegion& region, const RankProcess& process) {
  FailureRecord best;
  for (std::uint32_t rank = process.first_rank; rank < process.first_rank + process.ranks; ++rank) {
    const RankBlock& block = region.block(rank);
    // acquire: pairs with the rank's release after the text.
    const std::uint32_t bytes = block.crash_bytes.load(std::memory_order_acquire);
    if (bytes == 0 || bytes > block.crash_text.size()) continue;
    FailureRecord record = FailureRecord::parse({block.crash_text.data(), bytes});
    record.rank = rank;
    if (record.outweigh(best)) best = record;
  }
  return best;
}

JobFailure failure_of(const JobRegion& region, const RankProcess& process, const ExitStatus& status,
                      const FailureRecord& record, bool ending) {
  JobFailure failure;
  if (process.given_up) {
    failure = {given_up_text(region, process), 1, true};
  } else if (status.ok()) {
    failure.text = process.name() +
                   " ended before its coracle::run had returned, or without MPI_Finalize: others would wait for it for "
                   "ever (don't call exit() in a rank)";
  } else if (status.signal == 0) {
    failure.text = fmt::format("{} exited with status {}", process.name(), status.code);
    failure.exit_status = status.code;
    failure.for_others = record.for_others;
  } else {
    failure = failure_by_signal(process, status.signal, record, ending);
    failure.for_others = record.for_others && record.signal == status.signal;
  }
  failure.when_ns = record.when_ns;
  return failure;
}

std::string unattached_text(const RankProcess& process) {
  return process.name() + " ended without calling coracle::run, while others did: they would wait for it for ever";
}

std::string text_of(const std::chrono::nanoseconds& time) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  return milliseconds % 1000 == 0 ? fmt::format("{} s", milliseconds / 1000) : fmt::format("{} ms", milliseconds);
}

}  // namespace coracle::internals
