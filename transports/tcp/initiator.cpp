// Operations to frames, answers to outcomes.
#include "transports/tcp/initiator.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "runtime/core/error.hpp"
#include "transports/tcp/responder.hpp"

namespace coracle::internals::tcp {

Initiator::Initiator(InitiatorUser& user, ConnectionObserver& observer, const Names& names)
    : ConnectionEnd(observer, End::initiator, frame_check(names.key)), user_(user) {
  std::array<std::uint64_t, 2> key;
  std::memcpy(key.data(), names.key.bytes.data(), sizeof key);
  const std::array<std::uint64_t, 7> words{kFrameMagic,      kFrameVersion, key[0],      key[1],
                                           program_digest(), names.source,  names.target};
  emit(FrameType::hello, words);
}

void Initiator::submit(Operation& operation) noexcept {
  ++in_flight_;
  if (holding_ || !waiting_.empty() || outbox_.held_bytes() > kOutboxBytesMax)
    waiting_.push(operation);
  else
    encode(operation);
}

void Initiator::drained() noexcept {
  if (holding_) return;
  while (!waiting_.empty() && outbox_.held_bytes() <= kOutboxBytesMax) encode(*waiting_.pop());
  if (left_ && waiting_.empty() && !said_goodbye_) say_goodbye();
}

void Initiator::encode(Operation& operation) {
  switch (operation.verb) {
    case Operation::Verb::put:
      return encode_put(operation);
    case Operation::Verb::get: {
      const std::array<std::uint64_t, 3> words{operation.remote.offset, operation.remote.segment, operation.bytes};
      emit(FrameType::get, words);
      return answers_.push(operation);
    }
    case Operation::Verb::fetch_add:
    case Operation::Verb::compare_swap:
    case Operation::Verb::modify:
      return encode_atomic(operation);
    case Operation::Verb::request:
      return encode_message(static_cast<RequestOperation&>(operation));
  }
}

void Initiator::encode_put(Operation& operation) {
  std::array<std::uint64_t, 5> words{operation.remote.offset, operation.remote.segment};
  const bool signals = operation.signal_add > 0;
  if (signals && operation.signal.rank != operation.remote.rank) {
    --in_flight_;
    return operation.finish(Errc::unsupported);
  }
  if (signals) {
    words[2] = operation.signal.offset;
    words[3] = operation.signal.segment;
    words[4] = operation.signal_add;
  }
  answers_.push(operation);
  emit(FrameType::put, std::span(words).first(signals ? 5 : 2),
       {static_cast<const std::byte*>(operation.local), operation.bytes}, nullptr);
}

void Initiator::encode_atomic(Operation& operation) {
  const bool swaps = operation.verb == Operation::Verb::compare_swap;
  const std::uint64_t what = operation.width | static_cast<std::uint64_t>(operation.modification.code()) << 8;
  const std::array<std::uint64_t, 5> words{operation.remote.offset, operation.remote.segment, what,
                                           swaps ? operation.compare : operation.operand, operation.operand};
  emit(swaps ? FrameType::swap : FrameType::add, std::span(words).first(swaps ? 5 : 4));
  answers_.push(operation);
}

void Initiator::encode_message(RequestOperation& request) {
  std::array<std::uint64_t, kFrameWordsMax> words;
  const std::size_t count = message_words(request.header, words);
  --in_flight_;  // from here on the outbox sees to it
  if (emit(FrameType::message, std::span(words).first(count),
           {static_cast<const std::byte*>(request.local), request.bytes}, &request))
    request.finish();
}

void Initiator::fail_all(std::error_code outcome) noexcept {
  outbox_.drop(outcome);
  got_bytes_ = 0;
  for (OperationQueue* queue : {&answers_, &waiting_}) {
    while (!queue->empty()) {
      --in_flight_;
      queue->pop()->finish(outcome);
    }
  }
}

void Initiator::finish_first(std::error_code outcome) noexcept {
  --in_flight_;
  got_bytes_ = 0;
  answers_.pop()->finish(outcome);
}

Operation* Initiator::first(bool fits) noexcept {
  if (fits) return answers_.front();
  reader_.fail("it sent an answer to nothing that was asked");
  return nullptr;
}

void Initiator::take_done(std::uint64_t count) noexcept {
  for (; count > 0; --count) {
    if (first(!answers_.empty() && answers_.front()->verb == Operation::Verb::put) == nullptr) return;
    finish_first();
  }
}

Operation* Initiator::get_of(const Frame& frame) noexcept {
  const std::uint64_t bytes = frame.head.payload_bytes;
  return first(!answers_.empty() && answers_.front()->verb == Operation::Verb::get &&
               bytes <= answers_.front()->bytes - got_bytes_ && (bytes > 0 || answers_.front()->bytes == 0));
}

void Initiator::take_data(Operation& get, std::uint64_t bytes) noexcept {
  got_bytes_ += static_cast<std::size_t>(bytes);
  if (got_bytes_ == get.bytes) finish_first();
}

void Initiator::take_reply(const Frame& frame, std::span<const std::byte> payload) noexcept {
  MessageHeader header;
  if (!read_message(frame, header)) return reader_.fail("it sent a reply whose handler is no function of this program");
  user_.on_reply(header, payload);
}

void Initiator::whole(const Frame& frame, std::span<const std::byte> payload) noexcept {
  switch (frame.head.type) {
    case FrameType::done:
      return take_done(frame.words[0]);
    case FrameType::data: {
      Operation* get = get_of(frame);
      if (get == nullptr) return;
      if (!payload.empty())
        std::memcpy(static_cast<std::byte*>(get->local) + got_bytes_, payload.data(), payload.size());
      return take_data(*get, payload.size());
    }
    case FrameType::value: {
      Operation* atomic = first(!answers_.empty() && answers_.front()->is_atomic());
      if (atomic == nullptr) return;
      atomic->result = frame.words[0];
      return finish_first();
    }
    case FrameType::failure:
      if (first(!answers_.empty()) == nullptr) return;
      return finish_first(code_from_wire(frame.words[0]));
    case FrameType::reply:
      return take_reply(frame, payload);
    case FrameType::refused:
      return reader_.fail(fmt::format("it refused the connection: {}",
                                      std::string_view(reinterpret_cast<const char*>(payload.data()), payload.size())));
    default:
      peer_said_goodbye_ = true;
  }
}

std::byte* Initiator::begin(const Frame& frame) noexcept {
  if (frame.head.type != FrameType::data) return reply_.data();  // reply or refused: both fit
  Operation* get = get_of(frame);
  return get == nullptr ? nullptr : static_cast<std::byte*>(get->local) + got_bytes_;
}

void Initiator::end(const Frame& frame) noexcept {
  if (frame.head.type == FrameType::data)
    take_data(*answers_.front(), frame.head.payload_bytes);
  else
    whole(frame, std::span(reply_).first(static_cast<std::size_t>(frame.head.payload_bytes)));
}

}  // namespace coracle::internals::tcp
