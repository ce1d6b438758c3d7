// Atomics on memory at hand.
#include <atomic>
#include <bit>
#include <cstdint>

#include "runtime/core/assert.hpp"
#include "runtime/rank/rank_core.hpp"

namespace coracle::internals::local {
namespace {

template <class Number, class Word>
Number number_of(Word bits) noexcept {
  return std::bit_cast<Number>(bits);
}

/// Stores what `combine` makes of the old value, which it gives. For what the processor has no instruction for.
template <class Number, class Word, class Combine>
Word combine_at(std::atomic_ref<Word> place, const Combine& combine) noexcept {
  Word old = place.load(std::memory_order_relaxed);  // the exchange decides
  // acq_rel: pairs with other ranks' atomics on the same place, as all below do.
  while (!place.compare_exchange_weak(old, std::bit_cast<Word>(static_cast<Number>(combine(number_of<Number>(old)))),
                                      std::memory_order_acq_rel, std::memory_order_relaxed)) {
  }
  return old;
}

/// `Number` is as wide as `Word`. One that is not a number is neither less nor greater: as an operand it changes
/// nothing, and where it stands it stays.
template <class Number, class Word>
Word arithmetic(Modification::What what, Word operand, std::atomic_ref<Word> place) noexcept {
  const Number given = number_of<Number>(operand);
  switch (what) {
    case Modification::What::min:
      return combine_at<Number>(place, [given](Number old) { return given < old ? given : old; });
    case Modification::What::max:
      return combine_at<Number>(place, [given](Number old) { return old < given ? given : old; });
    default:
      return combine_at<Number>(place, [given](Number old) { return old + given; });
  }
}

template <class Word, class Integer, class Real>
Word modify(Modification modification, Word operand, std::atomic_ref<Word> place) noexcept {
  using What = Modification::What;
  switch (modification.what()) {
    case What::load:
      return place.load(std::memory_order_acquire);
    case What::store:
      place.store(operand, std::memory_order_release);
      return 0;
    case What::swap:
      return place.exchange(operand, std::memory_order_acq_rel);
    case What::bit_and:
      return place.fetch_and(operand, std::memory_order_acq_rel);
    case What::bit_or:
      return place.fetch_or(operand, std::memory_order_acq_rel);
    case What::bit_xor:
      return place.fetch_xor(operand, std::memory_order_acq_rel);
    case What::add:
      if (modification.number() != Modification::Number::real)
        return place.fetch_add(operand, std::memory_order_acq_rel);
      break;
    case What::min:
    case What::max:
      break;
  }
  switch (modification.number()) {
    case Modification::Number::natural:
      return arithmetic<Word>(modification.what(), operand, place);
    case Modification::Number::integer:
      return arithmetic<Integer>(modification.what(), operand, place);
    case Modification::Number::real:
      break;
  }
  return arithmetic<Real>(modification.what(), operand, place);
}

template <class Word, class Integer, class Real>
Word atomically(const Operation& operation, std::byte* address) noexcept {
  const std::atomic_ref<Word> place(*reinterpret_cast<Word*>(address));
  const auto operand = static_cast<Word>(operation.operand);
  if (operation.verb == Operation::Verb::fetch_add) return place.fetch_add(operand, std::memory_order_acq_rel);
  if (operation.verb == Operation::Verb::modify)
    return modify<Word, Integer, Real>(operation.modification, operand, place);
  auto expected = static_cast<Word>(operation.compare);
  // The failed case reads only.
  place.compare_exchange_strong(expected, operand, std::memory_order_acq_rel, std::memory_order_acquire);
  return expected;
}

}  // namespace

void perform_atomic(Operation& operation, std::byte* place) noexcept {
  static_assert(sizeof(float) == 4 && sizeof(double) == 8);
  CORACLE_ASSERT(operation.verb != Operation::Verb::modify || operation.modification.is_valid(),
                 "an atomic of the unknown kind {}", operation.modification.code());
  operation.result = operation.width == 4 ? atomically<std::uint32_t, std::int32_t, float>(operation, place)
                                          : atomically<std::uint64_t, std::int64_t, double>(operation, place);
}

}  // namespace coracle::internals::local
