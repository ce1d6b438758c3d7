// Answers of calls, and what becomes of errors that nobody awaits.
#include "runtime/rank/rpc.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "runtime/core/error.hpp"

namespace coracle::internals::detail {
namespace {

void finish_call(const Message& message, bool failed) {
  auto& call = *reinterpret_cast<PendingCall*>(message.argument(0));
  call.failed = failed;
  call.result.assign(message.payload().begin(), message.payload().end());
  call.answered.set();
}

}  // namespace

void take_result(Rank&, const Message& message) {
  finish_call(message, false);
}
void take_failure(Rank&, const Message& message) {
  finish_call(message, true);
}

Task<> answer(Rank& rank, std::uint32_t caller, std::uint64_t call, bool failed, std::vector<std::byte> bytes) {
  try {
    co_await rank.request(caller, failed ? take_failure : take_result, bytes, call);
  } catch (const Error& error) {
    if (error.code() != Errc::peer_lost) throw;  // nobody is left who would want the answer
  }
}

void answer_now(Rank& rank, const Message& message, bool failed, std::vector<std::byte> bytes) {
  if (bytes.size() <= rank.core().transport().reply_bytes_max())
    message.reply(failed ? take_failure : take_result, bytes, {message.argument(0)});
  else
    rank.service().spawn(answer(rank, message.source(), message.argument(0), failed, std::move(bytes)));
}

std::vector<std::byte> describe_exception() {
  const std::string text = failure_text(std::current_exception());
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void throw_failure(std::uint32_t peer, const std::vector<std::byte>& text) {
  const std::string words(reinterpret_cast<const char*>(text.data()), text.size());
  throw Error(std::make_error_code(std::errc::io_error), "call to rank " + std::to_string(peer) + " threw: " + words);
}

void throw_no_common_address(const char* what) {
  throw Error(Errc::bad_handler,
              std::string(what) + ": the function must be part of the main program, not of a library");
}

void report_told(const Rank& rank, std::uint32_t teller, const std::exception_ptr& error) noexcept {
  std::array<char, 80> what{};  // no memory may be left
  fmt::format_to_n(what.data(), what.size() - 1, "a function that rank {} has told it to run failed", teller);
  report_failure(rank.id(), what.data(), error);
}

}  // namespace coracle::internals::detail
