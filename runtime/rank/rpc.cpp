// Answers of calls, and what becomes of errors that nobody awaits.
#include "runtime/rank/rpc.hpp"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string>

#include "runtime/core/error.hpp"

namespace coracle::internals::detail {
namespace {

/// Handler: brings the answer home.
void take_answer(Rank&, const Message& message) {
  auto& call = *reinterpret_cast<PendingCall*>(message.argument(0));
  call.failed = message.argument(1) != 0;
  call.result.assign(message.payload().begin(), message.payload().end());
  call.answered.set();
}

/// What the caller gets: the result, or the error's text.
std::vector<std::byte> payload_of(CallEnd& end) {
  if (!end.error) return std::move(end.result);
  const std::string text = failure_text(end.error);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Task<> answer(Rank& rank, std::uint32_t caller, std::uint64_t call, CallEnd end) {
  const bool failed = end.error != nullptr;
  const std::vector<std::byte> payload = payload_of(end);
  try {
    co_await rank.request(caller, take_answer, payload, call, failed);
  } catch (const Error& error) {
    if (error.code() != Errc::peer_lost) throw;  // nobody is left who would want the answer
  }
}

void answer_now(Rank& rank, const Message& message, CallEnd end) {
  const std::uint64_t call = message.argument(0);
  if (call == kTold) return note_told(rank, message.source(), end.error);
  if (!end.error && end.result.size() <= rank.core().transport().reply_bytes_max())
    message.reply(take_answer, end.result, {call, false});
  else
    rank.service().spawn(answer(rank, message.source(), call, std::move(end)));
}

void note_told(const Rank& rank, std::uint32_t teller, const std::exception_ptr& error) noexcept {
  if (!error) return;
  std::array<char, 80> what{};  // no memory may be left
  fmt::format_to_n(what.data(), what.size() - 1, "a function that rank {} has told it to run failed", teller);
  report_failure(rank.id(), what.data(), error);
}

void throw_failure(std::uint32_t peer, const std::vector<std::byte>& text) {
  const std::string words(reinterpret_cast<const char*>(text.data()), text.size());
  throw Error(std::make_error_code(std::errc::io_error), "call to rank " + std::to_string(peer) + " threw: " + words);
}

void throw_no_common_address(const char* what) {
  throw Error(Errc::bad_handler,
              std::string(what) + ": the function must be part of the main program, not of a library");
}

}  // namespace coracle::internals::detail
