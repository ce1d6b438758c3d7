// What `co_await self.put(...)`, get, fetch_add, request ... await. Each is its Operation; when it can finish at once
// (memory of a peer in the same address space) it is a copy, and the coroutine never suspends.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/core/travels.hpp"
#include "runtime/job/address_map.hpp"
#include "runtime/rank/message.hpp"
#include "runtime/rank/operation.hpp"
#include "runtime/rank/rank_core.hpp"

namespace coracle::internals {
namespace detail {

// What remote atomics can be about: types of 4 or 8 bytes, and their bits as they travel.

/// No padding: two equal values have equal bytes (but for floating-point numbers, whose bits are compared). No pointer,
/// which means nothing at another rank.
template <class T>
inline constexpr bool is_atomic_word = (sizeof(T) == 4 || sizeof(T) == 8) && kTravelsAsBytes<std::remove_const_t<T>> &&
                                       (std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>);

template <class T>
inline constexpr bool is_atomic_number = std::is_arithmetic_v<T>;

template <class T>
inline constexpr Modification::Number number_kind_of = std::is_floating_point_v<T> ? Modification::Number::real
                                                       : std::is_signed_v<T>       ? Modification::Number::integer
                                                                                   : Modification::Number::natural;

template <class T>
using AtomicBits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
constexpr std::uint64_t bits_of(const T& value) noexcept {
  return std::bit_cast<AtomicBits<T>>(value);
}
template <class T>
constexpr T value_of_bits(std::uint64_t bits) noexcept {
  return std::bit_cast<T>(static_cast<AtomicBits<T>>(bits));
}

}  // namespace detail

/// An operation that is awaited where it is made.
template <class Base>
class [[nodiscard]] Awaited : public Base {
 public:
  template <class... Arguments>
  explicit Awaited(RankCore& core, Arguments&&... arguments) noexcept
      : Base(std::forward<Arguments>(arguments)...), core_(core) {}

  bool await_ready() noexcept {
    core_.start(*this);
    return this->finished();
  }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self) noexcept {
    this->suspend(self, false);  // not interruptible: buffers belong to the operation until it has finished
  }
  void await_resume() const {
    if (this->failed()) [[unlikely]]
      core_.throw_failure(*this);
  }

 protected:
  RankCore& core_;
};

/// put, get: done when it returns; a put is then visible at the target, a get's data is in the local buffer.
using Transfer = Awaited<Operation>;

/// An atomic; gives the old value.
template <class T>
class [[nodiscard]] Atomic final : public Awaited<Operation> {
 public:
  static_assert(detail::is_atomic_word<T>,
                "atomics are for types of 4 or 8 bytes without padding that are no pointers");
  using Awaited::Awaited;
  T await_resume() const {
    Awaited::await_resume();
    return detail::value_of_bits<T>(result);
  }
};

namespace detail {

/// Any atomic on `place`. `Kind`: Atomic<T>, or Transfer where nobody asks for the old value.
template <class Kind, class T>
Kind make_atomic(RankCore& core, Operation::Verb verb, const char* name, Remote<T> place, T operand,
                 T compare = {}) noexcept {
  static_assert(is_atomic_word<T>, "atomics are for types of 4 or 8 bytes without padding that are no pointers");
  Kind operation(core, verb, name, place.rank());
  operation.width = sizeof(T);
  operation.bytes = sizeof(T);
  operation.remote = place.address();
  operation.operand = bits_of(operand);
  operation.compare = bits_of(compare);
  return operation;
}

template <class Kind, class T>
Kind make_modification(RankCore& core, Modification::What what, const char* name, Remote<T> place, T operand) noexcept {
  Kind operation = make_atomic<Kind>(core, Operation::Verb::modify, name, place, operand);
  operation.modification = {what, number_kind_of<T>};
  return operation;
}

}  // namespace detail

/// A put that carries its own copy of one value.
template <class T>
class [[nodiscard]] ValuePut final : public Awaited<Operation> {
 public:
  static_assert(detail::check_travels_as_bytes<T>());
  ValuePut(RankCore& core, const T& value, Remote<T> target) noexcept
      : Awaited(core, Verb::put, "put", target.rank()), value_(value) {
    bytes = sizeof(T);
    remote = target.address();
  }
  bool await_ready() noexcept {
    local = &value_;  // only now does it lie where it will stay
    return Awaited::await_ready();
  }

 private:
  T value_;
};

/// A get of one value.
template <class T>
class [[nodiscard]] ValueGet final : public Awaited<Operation> {
 public:
  static_assert(detail::check_travels_as_bytes<T>());
  ValueGet(RankCore& core, Remote<T> source) noexcept : Awaited(core, Verb::get, "get", source.rank()) {
    bytes = sizeof(T);
    remote = source.address();
  }
  bool await_ready() noexcept {
    local = &value_;  // as in ValuePut
    return Awaited::await_ready();
  }
  T await_resume() const {
    Awaited::await_resume();
    return value_;
  }

 private:
  T value_;
};

/// An active message; done when its payload may be reused.
using Request = Awaited<RequestOperation>;

}  // namespace coracle::internals
