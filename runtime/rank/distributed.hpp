// Distributed<T>: an object of which each rank makes its own part under a name, by which peers find it: they copy it
// (fetch), or run functions on it (call). In the manner of the dist_object of UPC++ (Bachan et al., "UPC++: a
// high-performance communication framework for asynchronous computation", IPDPS 2019), but found by its name.
#pragma once

#include <optional>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/core/std_parts.hpp"
#include "runtime/rank/named_objects.hpp"
#include "runtime/rank/rpc.hpp"

namespace coracle::internals {
namespace detail {

/// What a function takes behind its Rank& and the object, by value: what is sent.
template <class Pointer, class T>
struct ObjectSignature {
  static constexpr bool is_known = false;
};
template <class R, class T, class Object, class... Parameters>
  requires std::same_as<std::remove_const_t<Object>, T>
struct ObjectSignature<R (*)(Rank&, Object&, Parameters...), T> : Signature<R (*)(Rank&, Parameters...)> {
  using Result = typename TaskValue<R>::type;
};
template <class R, class T, class Object, class... Parameters>
struct ObjectSignature<R (*)(Rank&, Object&, Parameters...) noexcept, T>
    : ObjectSignature<R (*)(Rank&, Object&, Parameters...), T> {};

template <class Function, class T>
constexpr auto object_signature_of() noexcept {
  if constexpr (requires(Function function) { +function; })
    return ObjectSignature<decltype(+std::declval<Function>()), T>{};
  else
    return ObjectSignature<void, T>{};
}

/// The type that was found, and the result, where it was the right one. "": there is no such object.
template <class R>
using ObjectAnswer = std::pair<std::string, std::optional<Stored<R>>>;

/// Runs at the peer. `offset`: says which function, as in a HandlerId.
template <class T, class Pointer, class... Arguments>
Task<ObjectAnswer<typename ObjectSignature<Pointer, T>::Result>> call_object_here(Rank& rank, std::string name,
                                                                                  std::string type_name,
                                                                                  std::uint64_t offset,
                                                                                  Arguments... arguments) {
  using R = typename ObjectSignature<Pointer, T>::Result;
  const NamedObjects::Use use(rank, name, type_name);
  ObjectAnswer<R> answer(use.type_found(), std::nullopt);
  if (use.object() == nullptr) co_return answer;
  T& object = *static_cast<T*>(use.object());
  const auto function = HandlerId::from_wire(static_cast<std::int64_t>(offset)).template as<Pointer>();
  if constexpr (TaskValue<typename ObjectSignature<Pointer, T>::Returned>::is_task) {
    co_await store(function(rank, object, std::move(arguments)...), answer.second);
  } else if constexpr (std::is_void_v<R>) {
    function(rank, object, std::move(arguments)...);
    answer.second.emplace();
  } else {
    answer.second.emplace(function(rank, object, std::move(arguments)...));
  }
  co_return answer;
}

template <class T>
struct Fetch {
  static T copy(Rank&, const T& object) { return object; }
};

/// `where`: for hang reports; line 0: where this is awaited.
template <class T, class Pointer, class... Arguments>
Task<typename ObjectSignature<Pointer, T>::Result> call_object(Rank& rank, std::uint32_t peer, std::string name,
                                                               Pointer function, std::tuple<Arguments...> arguments,
                                                               std::source_location where) {
  using R = typename ObjectSignature<Pointer, T>::Result;
  using Here = Task<ObjectAnswer<R>> (*)(Rank&, std::string, std::string, std::uint64_t, Arguments...);
  const Here here = call_object_here<T, Pointer, Arguments...>;
  const std::string type_name = typeid(T).name();
  const std::uint64_t offset = offset_of("call of a distributed object", function);
  const PromiseBase& self = co_await this_coroutine();
  if (where.line() == 0) where = self.awaited_at();
  for (;;) {
    auto ask =
        std::apply([&](const auto&... argument) { return rank.call(peer, here, name, type_name, offset, argument...); },
                   arguments);
    ObjectAnswer<R> answer = co_await ask;
    if (answer.second) {
      if constexpr (std::is_void_v<R>)
        co_return;
      else
        co_return std::move(*answer.second);
    }
    if (!answer.first.empty()) NamedObjects::throw_other_type(peer, name, answer.first, typeid(T).name());
    co_await rank.local<NamedObjects>().made(peer, name, where);
  }
}

}  // namespace detail

/// Runs `function(Rank&, T&, arguments...)` on the T that `peer` has made under `name`, and gives its result; arguments
/// and results travel as those of a call (rpc.hpp). While the peer has no object of that name it waits until it makes
/// one; that wait can be cancelled, and ends with the loss of the peer. Throws Error (bad_input) when it has one of
/// another type, and what a call throws.
template <class T, class Function, class... Arguments>
auto call_object(Rank& rank, std::uint32_t peer, std::string name, Function function, Arguments... arguments) {
  constexpr bool is_sent_whole = detail::check_sent_whole<Function>();
  using Signature = decltype(detail::object_signature_of<Function, T>());
  static_assert(!is_sent_whole || Signature::is_known,
                "what is called on a distributed object takes (Rank&, T&, arguments...), where T is the object's type, "
                "and a lambda no `auto`");
  if constexpr (is_sent_whole && Signature::is_known) {
    using Sent = typename Signature::Values;
    if constexpr (detail::check_call<Signature, Arguments...>())
      // A lambda without captures is a function, too.
      return detail::call_object<T, decltype(+function)>(rank, peer, std::move(name), +function,
                                                         Sent(std::move(arguments)...), {});
    else
      return detail::never<Task<detail::ResultOf<typename Signature::Result>>>();
  } else {
    return detail::never<Task<detail::Anything>>();
  }
}

/// A copy of the T that `peer` has made under `name`; waits and throws as call_object() does.
template <class T>
Task<T> fetch_object(Rank& rank, std::uint32_t peer, std::string name,
                     std::source_location where = std::source_location::current()) {
  if constexpr (detail::check_travels<T>()) {
    using Copy = T (*)(Rank&, const T&);
    return detail::call_object<T, Copy>(rank, peer, std::move(name), &detail::Fetch<T>::copy, std::tuple<>(), where);
  } else {
    return detail::never<Task<T>>();
  }
}

/// This rank's part. Making it is no collective: each rank does it when it likes, and peers that ask before wait. Peers
/// that ask when it is gone wait for the next of that name, so that a barrier usually stands before its end; it may not
/// end while a call of a peer runs on it.
template <class T>
class Distributed {
 public:
  static_assert(std::is_object_v<T>, "a distributed object is one of each rank's own: no reference");
  /// Made of `arguments`. Throws Error (bad_input) when this rank has an object of that name already.
  template <class... Arguments>
  Distributed(Rank& rank, std::string name, Arguments&&... arguments)
      : rank_(rank), name_(std::move(name)), local_(std::forward<Arguments>(arguments)...) {
    rank_.local<NamedObjects>().add(name_, &local_, typeid(T));
  }
  Distributed(const Distributed&) = delete;
  Distributed& operator=(const Distributed&) = delete;
  ~Distributed() { rank_.local<NamedObjects>().remove(name_); }

  const std::string& name() const noexcept { return name_; }
  T& local() noexcept { return local_; }
  const T& local() const noexcept { return local_; }
  T& operator*() noexcept { return local_; }
  T* operator->() noexcept { return &local_; }

  /// See fetch_object() and call_object(); this rank may be its own peer.
  Task<T> fetch(std::uint32_t peer, std::source_location where = std::source_location::current()) const {
    return fetch_object<T>(rank_, peer, name_, where);
  }
  template <class Function, class... Arguments>
  auto call(std::uint32_t peer, Function function, Arguments... arguments) const {
    return call_object<T>(rank_, peer, name_, std::move(function), std::move(arguments)...);
  }

 private:
  Rank& rank_;
  const std::string name_;
  T local_;
};

}  // namespace coracle::internals
