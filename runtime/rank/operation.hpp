// Operation: one transfer in flight: what, where, who waits for it, how it ended. It lives in the awaiting coroutine's
// frame (or in the frame pool, for handles), so that starting one allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <system_error>

#include "runtime/core/scope.hpp"
#include "runtime/job/remote.hpp"

namespace coracle::internals {

/// What an atomic does beside adding integers and comparing, and to what kind of number. One byte, which travels as it
/// is.
class Modification {
 public:
  enum class What : std::uint8_t { load = 1, store, swap, bit_and, bit_or, bit_xor, add, min, max };
  /// As what the bytes are combined.
  enum class Number : std::uint8_t { natural, integer, real };

  /// None.
  constexpr Modification() = default;
  constexpr Modification(What what, Number number) noexcept
      : code_(static_cast<std::uint8_t>(static_cast<unsigned>(what) | static_cast<unsigned>(number) << kNumberShift)) {}
  /// Of a byte that has come from elsewhere; is_valid() tells whether it is any.
  static constexpr Modification of_code(std::uint8_t code) noexcept {
    Modification modification;
    modification.code_ = code;
    return modification;
  }

  constexpr std::uint8_t code() const noexcept { return code_; }
  constexpr What what() const noexcept { return static_cast<What>(code_ & kWhatMask); }
  constexpr Number number() const noexcept { return static_cast<Number>(code_ >> kNumberShift); }
  constexpr bool is_valid() const noexcept {
    const bool is_of_bits = what() == What::bit_and || what() == What::bit_or || what() == What::bit_xor;
    return what() >= What::load && what() <= What::max && number() <= Number::real &&
           !(is_of_bits && number() == Number::real);
  }
  constexpr bool operator==(const Modification&) const noexcept = default;

 private:
  static constexpr unsigned kNumberShift = 4;
  static constexpr std::uint8_t kWhatMask = 0x0f;
  std::uint8_t code_ = 0;
};

class Events;
class Operation;

/// Told when an operation that nobody awaits directly has finished (handles, implicit handles).
class OperationOwner {
 public:
  virtual void finished(Operation& operation) noexcept = 0;

 protected:
  ~OperationOwner() = default;
};

class Operation : public Waiter {
 public:
  enum class Verb : std::uint8_t { put, get, fetch_add, compare_swap, modify, request };

  Operation(Verb which, const char* what, std::uint32_t peer) noexcept
      : Waiter(what, static_cast<int>(peer)), verb(which) {}

  /// The transport says that it is done with the operation and its buffers. Loop's thread; never resumes a coroutine.
  void finish(std::error_code outcome) noexcept {
    finished_ = true;
    set_outcome(outcome);
    settle();
  }
  void finish() noexcept {
    finished_ = true;
    settle();
  }
  WaitDetail detail() const noexcept override { return {WaitKind::operation}; }
  /// A tool is told that it begins, and when it has ended.
  void begin_telling(Events& events) noexcept;
  /// Does nothing the second time.
  void end_telling() noexcept;
  bool finished() const noexcept { return finished_; }
  bool is_atomic() const noexcept {
    return verb == Verb::fetch_add || verb == Verb::compare_swap || verb == Verb::modify;
  }
  using Waiter::failed;
  using Waiter::outcome;
  void set_owner(OperationOwner* owner) noexcept { owner_ = owner; }

  /// finish() for a transfer that is over before anybody could wait for it.
  void finish_at_once() noexcept { finished_ = true; }

  const Verb verb;
  std::uint8_t width = 8;     ///< Bytes of an atomic: 4 or 8.
  Modification modification;  ///< Of Verb::modify.
  void* local = nullptr;      ///< Source of a put or request, target of a get.
  std::size_t bytes = 0;
  RemoteAddress remote;          ///< Target of a put, source of a get, place of an atomic.
  std::uint64_t signal_add = 0;  ///< 0: no signal.
  // What follows is set only by operations that use it: an 8-byte put would otherwise spend more on zeroes than on its
  // copy.
  RemoteAddress signal;   ///< Raised by `signal_add` at the target after the data has landed.
  std::uint64_t operand;  ///< Addend or new value of an atomic, or what it is combined with.
  std::uint64_t compare;  ///< Expected value of compare_swap.
  std::uint64_t result;   ///< Old value of an atomic.
  Operation* next;        ///< For the queue of whoever holds the operation.

 private:
  void settle() noexcept {
    if (is_told_) [[unlikely]]
      end_telling();
    if (waiting())
      complete();
    else if (owner_ != nullptr)
      owner_->finished(*this);
  }
  OperationOwner* owner_ = nullptr;
  bool finished_ = false;
  bool is_told_ = false;
  Events* events_;  // while it is told
};

/// First in, first out.
class OperationQueue {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  Operation* front() const noexcept { return first_; }
  void push(Operation& operation) noexcept {
    operation.next = nullptr;
    *(first_ == nullptr ? &first_ : &last_->next) = &operation;
    last_ = &operation;
  }
  Operation* pop() noexcept {
    Operation* operation = first_;
    first_ = operation->next;
    return operation;
  }
  /// Drops the front, which may be dead by now; `next` was its successor.
  void drop_front(Operation* next) noexcept { first_ = next; }

 private:
  Operation* first_ = nullptr;
  Operation* last_ = nullptr;
};

/// Equal blocks in `rows` rows of `count`, on both sides; at least one of each. The order of blocks means nothing.
struct StridedShape {
  /// In bytes, of any sign.
  struct Side {
    std::int64_t first;       ///< From the origin to the first block.
    std::int64_t stride;      ///< From block to block in a row.
    std::int64_t row_stride;  ///< From row to row.
  };

  std::uint64_t block_bytes;
  std::uint64_t count;
  std::uint64_t rows;
  Side local;
  Side remote;

  std::uint64_t bytes() const noexcept { return block_bytes * count * rows; }
};

/// A put of equal blocks at equal distances, for transports whose device moves such blocks by itself. `local` is the
/// origin here. `remote` and `bytes` are the run of memory there in which all blocks lie, gaps included;
/// it is the origin of the remote side.
class StridedOperation : public Operation {
 public:
  StridedOperation(const StridedShape& of, std::uint32_t peer) noexcept
      : Operation(Verb::put, "put", peer), shape(of) {}

  const StridedShape shape;
};

}  // namespace coracle::internals
