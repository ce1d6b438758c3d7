// Telling: `co_await self.tell(peer, function, 3, name);` has function(Rank&, 3, name) run on the peer, without an
// answer. Arguments travel as those of a call (rpc.hpp); the function may be a coroutine (Task<>).
#pragma once

#include <exception>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/core/std_parts.hpp"
#include "runtime/rank/rpc.hpp"

namespace coracle::internals {
namespace detail {

/// Nobody awaits the function that `teller` has told this rank to run: what it throws goes to standard error.
void report_told(const Rank& rank, std::uint32_t teller, const std::exception_ptr& error) noexcept;

template <class Function, class... Arguments>
Task<> run_told(Rank& rank, std::uint32_t teller, Function function, std::tuple<Arguments...> arguments) {
  std::exception_ptr failure;
  try {
    Task<> task = std::apply([&](auto&... argument) { return function(rank, std::move(argument)...); }, arguments);
    co_await task;
  } catch (...) {
    failure = std::current_exception();
  }
  // Cancelled, when the job's program has ended everywhere, it fails as it was asked to.
  if (failure && !rank.service().cancelled()) report_told(rank, teller, failure);
}

template <class Function, class... Arguments>
void receive_told(Rank& rank, const Message& message) {
  const Function function = function_of<Function>(message);
  WireReader reader(message.payload());
  std::tuple<Arguments...> arguments{reader.read<Arguments>()...};  // in order: a braced list
  if constexpr (TaskValue<std::invoke_result_t<Function, Rank&, Arguments...>>::is_task) {
    rank.service().spawn(run_told(rank, message.source(), function, std::move(arguments)));
  } else {
    try {
      std::apply([&](auto&... argument) { function(rank, std::move(argument)...); }, arguments);
    } catch (...) {
      report_told(rank, message.source(), std::current_exception());
    }
  }
}

template <class Function, class... Arguments>
Task<> tell(Rank& rank, std::uint32_t peer, Function function, std::tuple<Arguments...> arguments) {
  WireWriter writer;
  std::apply([&](auto&... argument) { (writer.write(argument), ...); }, arguments);
  const std::uint64_t offset = offset_of("tell", function);
  co_await rank.request(peer, receive_told<Function, Arguments...>, writer.bytes(), 0, offset);
}

}  // namespace detail

/// What does not fit is refused in the words of Rank::call.
template <class Function, class... Arguments>
Task<> Rank::tell(std::uint32_t peer, Function function, Arguments... arguments) {
  constexpr bool is_sent_whole = std::is_pointer_v<Function> || std::is_empty_v<Function>;
  static_assert(is_sent_whole,
                "tell takes a function or a lambda without captures: what it captured would not exist at the peer");
  using Signature = decltype(detail::signature_of<Function>());
  static_assert(!is_sent_whole || Signature::is_known,
                "tell takes a function whose first parameter is Rank& (the peer's), and a lambda without `auto`");
  if constexpr (is_sent_whole && Signature::is_known) {
    using Sent = typename Signature::Values;
    constexpr bool are_as_many = detail::kAreAsMany<Sent, Arguments...>;
    constexpr bool fit = detail::kAreConvertible<Sent, Arguments...>;
    constexpr bool are_values = Signature::takes_values;
    constexpr bool travel = kTravels<Sent>;
    constexpr bool returns_nothing = std::is_void_v<typename detail::TaskValue<typename Signature::Returned>::type>;
    static_assert(are_as_many, "tell: the function takes more or fewer arguments, behind its Rank&, than are given");
    static_assert(!are_as_many || fit, "tell: an argument can't be converted to what the function takes in its place");
    static_assert(are_values, "tell: the function takes its arguments by value or by const reference: they are copies");
    static_assert(travel,
                  "tell: an argument's type can't travel: trivially copyable types without pointers can, "
                  "std::string, and std::vector, std::optional, std::pair and std::tuple of such");
    static_assert(returns_nothing,
                  "tell: the function returns nothing (void or Task<>), since nobody would get its result: use call()");
    if constexpr (fit && are_values && travel && returns_nothing)
      return detail::tell(*this, peer, function, Sent(std::move(arguments)...));
    else
      return detail::never<Task<>>();
  } else {
    return detail::never<Task<>>();
  }
}

}  // namespace coracle::internals
