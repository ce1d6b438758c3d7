// Frames to actions, results to answers.
#include "transports/tcp/responder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/rank/rank_core.hpp"

namespace coracle::internals::tcp {
namespace {

RemoteAddress place_of(std::uint64_t offset, std::uint64_t segment) noexcept {
  return {offset, 0, static_cast<std::uint32_t>(segment)};
}

}  // namespace

void Responder::input_taken() noexcept {
  if (done_ > 0) answer_done();
}

void Responder::reply(const MessageHeader& header, std::span<const std::byte> payload) {
  std::array<std::uint64_t, kFrameWordsMax> words;
  const std::size_t count = message_words(header, words);
  emit(FrameType::reply, std::span(words).first(count), payload.size());
  outbox_.copy(payload);
}

void Responder::whole(const Frame& frame, std::span<const std::byte> payload) noexcept {
  if (!greeted_) {
    if (frame.head.type == FrameType::hello) return take_hello(frame);
    return reader_.fail("it did not begin with a hello");
  }
  switch (frame.head.type) {
    case FrameType::put: {
      std::byte* place = begin_put(frame);
      if (place != nullptr && !payload.empty()) std::memcpy(place, payload.data(), payload.size());
      return end_put(frame);
    }
    case FrameType::get:
      return take_get(frame);
    case FrameType::add:
    case FrameType::swap:
      return take_atomic(frame);
    case FrameType::message:
      return take_message(frame, payload);
    case FrameType::goodbye:
      peer_said_goodbye_ = true;
      return;
    default:
      return reader_.fail("it said hello twice");
  }
}

std::byte* Responder::begin(const Frame& frame) noexcept {
  if (!greeted_) {
    reader_.fail("it did not begin with a hello");
    return nullptr;
  }
  if (frame.head.type == FrameType::put) {
    std::byte* place = begin_put(frame);
    return place_of(frame.words[0], frame.words[1]).may_be_withdrawn() ? nullptr : place;
  }
  // Pages are taken as data comes, not by what the peer says will come.
  payload_.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(frame.head.payload_bytes)]);
  if (!payload_)
    reader_.fail(fmt::format("it sent a message of {} bytes, for which there is no memory", frame.head.payload_bytes));
  return payload_.get();
}

/// Of a put to memory that may have been withdrawn since it began: the rest is dropped then.
void Responder::piece(const Frame& frame, std::uint64_t position, std::span<const std::byte> bytes) noexcept {
  if (frame.head.type != FrameType::put || error_) return;
  RemoteAddress next = place_of(frame.words[0], frame.words[1]);
  next.offset += position;
  if (std::byte* place = user_.resolve(next, bytes.size(), true, error_))
    std::memcpy(place, bytes.data(), bytes.size());
}

void Responder::end(const Frame& frame) noexcept {
  if (frame.head.type == FrameType::put) return end_put(frame);
  const auto payload = std::move(payload_);
  take_message(frame, {payload.get(), static_cast<std::size_t>(frame.head.payload_bytes)});
}

void Responder::take_hello(const Frame& frame) noexcept {
  ResponderUser::Hello hello;
  if (frame.words[0] != kFrameMagic || frame.words[1] != kFrameVersion)
    return reader_.fail("it speaks another protocol or version");
  std::memcpy(hello.key.bytes.data(), &frame.words[2], sizeof hello.key.bytes);
  hello.program = frame.words[4];
  hello.source = static_cast<std::uint32_t>(frame.words[5]);
  hello.target = static_cast<std::uint32_t>(frame.words[6]);
  std::string refusal = user_.on_hello(hello);
  greeted_ = refusal.empty();
  if (greeted_) return;
  const auto bytes = std::as_bytes(std::span(refusal)).first(std::min<std::size_t>(refusal.size(), kReasonBytesMax));
  emit(FrameType::refused, {}, bytes.size());
  outbox_.copy(bytes);
  reader_.fail(std::move(refusal));
}

std::byte* Responder::begin_put(const Frame& frame) noexcept {
  error_.clear();
  std::byte* place = user_.resolve(place_of(frame.words[0], frame.words[1]), frame.head.payload_bytes, true, error_);
  if (frame.head.words == 2) return place;
  if (frame.head.words != 5) {
    reader_.fail("it sent a put with half a signal");
    return nullptr;
  }
  const std::byte* signal = nullptr;
  if (!error_) signal = user_.resolve(place_of(frame.words[2], frame.words[3]), sizeof(std::uint64_t), true, error_);
  if (!error_ && reinterpret_cast<std::uintptr_t>(signal) % sizeof(std::uint64_t) != 0) error_ = Errc::misaligned;
  return error_ ? nullptr : place;
}

void Responder::end_put(const Frame& frame) noexcept {
  if (reader_.failed()) return;
  std::byte* signal = nullptr;
  // Looked for again: its memory may have been withdrawn while the data came.
  if (!error_ && frame.head.words == 5)
    signal = user_.resolve(place_of(frame.words[2], frame.words[3]), sizeof(std::uint64_t), true, error_);
  if (error_) return answer_failure(error_);
  if (signal != nullptr) user_.raise_signal(signal, frame.words[4]);
  ++done_;
}

void Responder::take_get(const Frame& frame) noexcept {
  const std::uint64_t bytes = frame.words[2];
  if (bytes > kTransferBytesMax) return answer_failure(Errc::out_of_segment);
  const RemoteAddress source = place_of(frame.words[0], frame.words[1]);
  answer_done();
  Due get{FrameType::data, 0, source, bytes};
  const bool waits = !due_.empty() || (source.may_be_withdrawn() && outbox_.held_bytes() >= kAheadBytesMax);
  if (waits && bytes <= Outbox::kCopiedBytesMax) {
    std::error_code error;
    const std::byte* place = user_.resolve(source, bytes, false, error);
    if (error) return answer_failure(error);
    get.copy.assign(place, place + bytes);
  }
  due_.push_back(std::move(get));
  send_due();
}

/// As far as there is room for it.
void Responder::send_due() noexcept {
  while (!due_.empty()) {
    Due& first = due_.front();
    if (first.type != FrameType::data) {
      emit(first.type, {&first.word, 1});
    } else if (first.place.may_be_withdrawn() && outbox_.held_bytes() >= kAheadBytesMax) {
      return;  // drained() goes on
    } else if (!send_data(first)) {
      continue;
    }
    due_.pop_front();
  }
  if (leaving_ && !said_goodbye_) say_goodbye();
}

/// True when the get has its whole answer. What is withdrawn before all of it was sent ends it with an error.
bool Responder::send_data(Due& get) noexcept {
  if (!get.copy.empty()) {
    emit(FrameType::data, {}, get.copy, nullptr);
    return true;
  }
  std::error_code error;
  const std::byte* place = user_.resolve(get.place, get.bytes, false, error);
  if (error) {
    const std::uint64_t word = to_wire(error);
    emit(FrameType::failure, {&word, 1});
    return true;
  }
  if (!get.place.may_be_withdrawn()) {
    emit(FrameType::data, {}, {place, static_cast<std::size_t>(get.bytes)}, nullptr);
    return true;
  }
  const auto bytes = static_cast<std::size_t>(std::min(get.bytes, kPieceBytes));
  emit(FrameType::data, {}, bytes);
  outbox_.copy({place, bytes});
  get.place.offset += bytes;
  get.bytes -= bytes;
  return get.bytes == 0;
}

void Responder::take_atomic(const Frame& frame) noexcept {
  const bool swaps = frame.head.type == FrameType::swap;
  const std::uint64_t width = frame.words[2] & 0xff;
  const std::uint64_t code = frame.words[2] >> 8;
  const auto modification = Modification::of_code(static_cast<std::uint8_t>(code));
  if (width != 4 && width != 8) return reader_.fail(fmt::format("it sent an atomic of {} bytes", width));
  if (code != 0 && (swaps || code > 0xff || !modification.is_valid()))
    return reader_.fail(fmt::format("it sent an atomic of the unknown kind {}", code));
  std::error_code error;
  std::byte* place = user_.resolve(place_of(frame.words[0], frame.words[1]), width, true, error);
  if (!error && reinterpret_cast<std::uintptr_t>(place) % width != 0) error = Errc::misaligned;
  if (error) return answer_failure(error);
  const auto verb = swaps       ? Operation::Verb::compare_swap
                    : code != 0 ? Operation::Verb::modify
                                : Operation::Verb::fetch_add;
  Operation atomic(verb, "atomic", 0);
  atomic.modification = modification;
  atomic.width = static_cast<std::uint8_t>(width);
  atomic.compare = frame.words[3];
  atomic.operand = swaps ? frame.words[4] : frame.words[3];
  local::perform_atomic(atomic, place);
  answer_done();
  answer(FrameType::value, atomic.result);
}

void Responder::take_message(const Frame& frame, std::span<const std::byte> payload) noexcept {
  MessageHeader header;
  if (!read_message(frame, header))
    return reader_.fail("it sent a message whose handler is no function of this program");
  user_.on_message(header, payload);
}

void Responder::answer(FrameType type, std::uint64_t word) noexcept {
  due_.push_back({type, word});
  send_due();
}

void Responder::answer_done() noexcept {
  if (done_ == 0) return;
  const std::uint64_t count = std::exchange(done_, 0);
  // One answer for all that wait in a row: many of them would end the reading, of messages, too.
  if (!due_.empty() && due_.back().type == FrameType::done)
    due_.back().word += count;
  else
    answer(FrameType::done, count);
}

void Responder::answer_failure(std::error_code error) noexcept {
  answer_done();
  answer(FrameType::failure, to_wire(error));
}

}  // namespace coracle::internals::tcp
