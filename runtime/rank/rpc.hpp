// Calls: `int n = co_await self.call(peer, function, 3, name);` runs function(Rank&, 3, name) on the peer. Telling:
// `co_await self.tell(peer, function, 3, name);` has it run without an answer. Arguments and result travel as bytes;
// see travels.hpp for the types that can. The function may be a coroutine (Task<R>).
#pragma once

#include <exception>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/std_parts.hpp"
#include "runtime/core/wire.hpp"
#include "runtime/rank/peer_event.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals {
namespace detail {

template <class T>
struct TaskValue {
  using type = T;
  static constexpr bool is_task = false;
};
template <class T>
struct TaskValue<Task<T>> {
  using type = T;
  static constexpr bool is_task = true;
};

/// A call that waits for its answer; it lives in the caller's frame, and its address travels with the call.
struct PendingCall {
  PendingCall(RankCore& core, std::uint32_t peer) noexcept : answered(core, "call", peer) {
    answered.explain({WaitKind::call});
  }
  PeerEvent answered;
  bool failed = false;
  std::vector<std::byte> result;
};

/// How a function has ended at the peer.
struct CallEnd {
  std::vector<std::byte> result;
  std::exception_ptr error;
};

/// In place of a call's address: nobody waits for an answer (Rank::tell).
inline constexpr std::uint64_t kTold = 0;

/// Sends an answer too large for a reply, or made by a coroutine, as a request of its own.
Task<> answer(Rank& rank, std::uint32_t caller, std::uint64_t call, CallEnd end);
/// Answers from inside the handler when it has a small result, else through answer().
void answer_now(Rank& rank, const Message& message, CallEnd end);
/// Of a function that `teller` has told this rank to run: nobody awaits it, so its error goes to standard error.
void note_told(const Rank& rank, std::uint32_t teller, const std::exception_ptr& error) noexcept;
/// The text of what the function has thrown there.
[[noreturn]] void throw_failure(std::uint32_t peer, const std::vector<std::byte>& text);
[[noreturn]] void throw_no_common_address(const char* what);

/// Functions travel by address, captureless lambdas by type alone.
template <class Function>
inline constexpr bool kIsPointer = std::is_pointer_v<Function>;

template <class Function>
Function function_of(const Message& message) {
  if constexpr (kIsPointer<Function>) {
    return HandlerId::from_wire(static_cast<std::int64_t>(message.argument(1))).template as<Function>();
  } else {
    static_cast<void>(message);
    return Function{};
  }
}

/// What function_of() makes the function of. Throws Error (bad_handler), which begins with `what`, of one that has no
/// address that all ranks agree on.
template <class Function>
std::uint64_t offset_of(const char* what, Function function) {
  if constexpr (kIsPointer<Function>) {
    const HandlerId id = HandlerId::of(function);
    if (!id.valid()) throw_no_common_address(what);
    return static_cast<std::uint64_t>(id.to_wire());
  } else {
    static_cast<void>(what);
    static_cast<void>(function);
    return 0;
  }
}

template <class R>
std::vector<std::byte> encode_result(R&& value) {
  WireWriter writer;
  writer.write(value);
  return writer.take();
}

template <class Function, class... Arguments>
Task<> serve(Rank& rank, std::uint32_t caller, std::uint64_t call, Function function,
             std::tuple<Arguments...> arguments) {
  CallEnd end;
  try {
    auto task = std::apply([&](auto&... argument) { return function(rank, std::move(argument)...); }, arguments);
    if constexpr (std::is_void_v<typename decltype(task)::value_type>)
      co_await task;
    else
      end.result = encode_result(co_await task);
  } catch (...) {
    end.error = std::current_exception();
  }
  if (call != kTold)
    co_await answer(rank, caller, call, std::move(end));
  else if (!rank.service().cancelled())  // else it fails, at the end of the job's program, as it was asked to
    note_told(rank, caller, end.error);
}

template <class Function, class... Arguments>
void receive_call(Rank& rank, const Message& message) {
  using Returned = std::invoke_result_t<Function, Rank&, Arguments...>;
  const Function function = function_of<Function>(message);
  WireReader reader(message.payload());
  std::tuple<Arguments...> arguments{reader.read<Arguments>()...};  // in order: a braced list
  if constexpr (TaskValue<Returned>::is_task) {
    rank.service().spawn(serve(rank, message.source(), message.argument(0), function, std::move(arguments)));
  } else {
    CallEnd end;
    try {
      auto run = [&](auto&... argument) { return function(rank, std::move(argument)...); };
      if constexpr (std::is_void_v<Returned>)
        std::apply(run, arguments);
      else
        end.result = encode_result(std::apply(run, arguments));
    } catch (...) {
      end.error = std::current_exception();
    }
    answer_now(rank, message, std::move(end));
  }
}

/// What a function takes behind its Rank&, by value: what is sent.
template <class Pointer>
struct Signature {
  static constexpr bool is_known = false;
  using Returned = Anything;
};
template <class R, class... Parameters>
struct Signature<R (*)(Rank&, Parameters...)> {
  static constexpr bool is_known = true;
  static constexpr bool takes_values = (std::is_constructible_v<Parameters, std::decay_t<Parameters>&&> && ...);
  using Returned = R;
  using Values = std::tuple<std::decay_t<Parameters>...>;
};
template <class R, class... Parameters>
struct Signature<R (*)(Rank&, Parameters...) noexcept> : Signature<R (*)(Rank&, Parameters...)> {};

/// Of something that is called: the function's own, or that of a lambda's function; unknown where there is none.
template <class Function>
constexpr auto signature_of() noexcept {
  if constexpr (requires(Function function) { +function; })
    return Signature<decltype(+std::declval<Function>())>{};
  else
    return Signature<void>{};
}

/// Whether the arguments of a call can be made the values that its function takes, one by one.
template <class Values, class... Arguments>
inline constexpr bool kAreConvertible = false;
template <class... Values, class... Arguments>
  requires(sizeof...(Values) == sizeof...(Arguments))
inline constexpr bool kAreConvertible<std::tuple<Values...>, Arguments...> =
    (std::is_constructible_v<Values, Arguments&&> && ...);

/// What is sent to a peer to be run. One sentence for what is wrong, and no more: what follows is compiled only if all
/// of it fits.
template <class Function>
constexpr bool check_sent_whole() {
  constexpr bool is_sent_whole = std::is_pointer_v<Function> || std::is_empty_v<Function>;
  static_assert(is_sent_whole,
                "tell or a call takes a function or a lambda without captures: what it captured would not exist at the "
                "peer");
  return is_sent_whole;
}
template <class Signature, class... Arguments>
constexpr bool check_arguments() {
  using Sent = typename Signature::Values;
  constexpr bool are_as_many = std::tuple_size_v<Sent> == sizeof...(Arguments);
  constexpr bool fit = kAreConvertible<Sent, Arguments...>;
  constexpr bool are_values = Signature::takes_values;
  constexpr bool travel = kTravels<Sent>;
  static_assert(are_as_many,
                "tell or call: the function takes more or fewer arguments, behind its Rank&, than are given");
  static_assert(!are_as_many || fit,
                "tell or call: an argument can't be converted to what the function takes in its place");
  static_assert(are_values,
                "tell or call: the function takes its arguments by value or by const reference: they are copies");
  static_assert(travel,
                "tell or call: an argument's type can't travel: trivially copyable types without pointers can, "
                "std::string, and std::vector, std::optional, std::pair and std::tuple of such");
  return fit && are_values && travel;
}
template <class Signature, class... Arguments>
constexpr bool check_call() {
  using R = typename TaskValue<typename Signature::Returned>::type;
  constexpr bool returns = std::is_void_v<R> || kTravels<R>;
  static_assert(returns,
                "call: the result's type can't travel: trivially copyable types without pointers can, "
                "std::string, and std::vector, std::optional, std::pair and std::tuple of such");
  return check_arguments<Signature, Arguments...>() && returns;
}
/// Whether Rank::call and tell take this function.
template <class Function>
constexpr bool check_function() {
  constexpr bool is_sent_whole = check_sent_whole<Function>();
  constexpr bool is_known = decltype(signature_of<Function>())::is_known;
  static_assert(!is_sent_whole || is_known,
                "tell or a call takes a function whose first parameter is Rank& (the peer's), and a lambda without "
                "`auto`");
  return is_sent_whole && is_known;
}
/// Of a call that does not compile anyway.
template <class R>
using ResultOf = std::conditional_t<std::is_void_v<R> || kTravels<R>, R, Anything>;

template <class Function, class... Arguments>
Task<> tell(Rank& rank, std::uint32_t peer, Function function, std::tuple<Arguments...> arguments) {
  WireWriter writer;
  std::apply([&](auto&... argument) { (writer.write(argument), ...); }, arguments);
  const std::uint64_t offset = offset_of("tell", function);
  co_await rank.request(peer, receive_call<Function, Arguments...>, writer.bytes(), kTold, offset);
}

template <class R, class Function, class... Arguments>
Task<R> call(Rank& rank, std::uint32_t peer, Function function, std::tuple<Arguments...> arguments) {
  WireWriter writer;
  std::apply([&](auto&... argument) { (writer.write(argument), ...); }, arguments);
  const std::uint64_t function_offset = offset_of("call", function);
  PendingCall pending(rank.core(), peer);
  co_await rank.request(peer, receive_call<Function, Arguments...>, writer.bytes(),
                        reinterpret_cast<std::uint64_t>(&pending), function_offset);
  co_await pending.answered;
  if (pending.failed) throw_failure(peer, pending.result);
  if constexpr (!std::is_void_v<R>) {
    WireReader reader(pending.result);
    co_return reader.read<R>();
  }
}

}  // namespace detail

/// Throws Error when the function throws there (with its text), or (peer_lost) when the peer is lost before its answer.
/// Cancelling the caller does not cancel the callee: the call is awaited to its end.
template <class Function, class... Arguments>
auto Rank::call(std::uint32_t peer, Function function, Arguments... arguments) {
  using Signature = decltype(detail::signature_of<Function>());
  using R = typename detail::TaskValue<typename Signature::Returned>::type;
  if constexpr (detail::check_function<Function>()) {
    // Converted here to what the function takes, so that a string literal travels as the std::string that is wanted.
    if constexpr (detail::check_call<Signature, Arguments...>())
      return detail::call<R>(*this, peer, function, typename Signature::Values(std::move(arguments)...));
    else
      return detail::never<Task<detail::ResultOf<R>>>();
  } else {
    return detail::never<Task<detail::Anything>>();
  }
}

template <class Function, class... Arguments>
Task<> Rank::tell(std::uint32_t peer, Function function, Arguments... arguments) {
  using Signature = decltype(detail::signature_of<Function>());
  if constexpr (detail::check_function<Function>()) {
    constexpr bool returns_nothing = std::is_void_v<typename detail::TaskValue<typename Signature::Returned>::type>;
    static_assert(returns_nothing,
                  "tell: the function returns nothing (void or Task<>), since nobody would get its result: use call()");
    if constexpr (detail::check_arguments<Signature, Arguments...>() && returns_nothing)
      return detail::tell(*this, peer, function, typename Signature::Values(std::move(arguments)...));
  }
  return detail::never<Task<>>();
}

}  // namespace coracle::internals
