// The rules of each type of frame, and the reader's states.
#include "transports/tcp/frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/core/module_digest.hpp"

namespace coracle::internals::tcp {
namespace {

struct Rule {
  End taken_by;
  std::uint8_t words_min;
  std::uint8_t words_max;
  std::uint64_t payload_bytes_max;
};

constexpr std::size_t kTypes = static_cast<std::size_t>(FrameType::end);

constexpr std::array<Rule, kTypes> kRules = [] {
  std::array<Rule, kTypes> rules{};
  const auto rule = [&rules](FrameType type) -> Rule& { return rules[static_cast<std::size_t>(type)]; };
  constexpr auto kWordsOfMessage = static_cast<std::uint8_t>(1 + MessageHeader::kArgumentsMax);
  rule(FrameType::hello) = {End::responder, 7, 7, 0};
  rule(FrameType::put) = {End::responder, 2, 5, kTransferBytesMax};
  rule(FrameType::get) = {End::responder, 3, 3, 0};
  rule(FrameType::add) = {End::responder, 4, 4, 0};
  rule(FrameType::swap) = {End::responder, 5, 5, 0};
  rule(FrameType::message) = {End::responder, 1, kWordsOfMessage, kMessageBytesMax};
  rule(FrameType::goodbye) = {End::responder, 0, 0, 0};
  rule(FrameType::done) = {End::initiator, 1, 1, 0};
  rule(FrameType::data) = {End::initiator, 0, 0, kTransferBytesMax};
  rule(FrameType::value) = {End::initiator, 1, 1, 0};
  rule(FrameType::failure) = {End::initiator, 1, 1, 0};
  rule(FrameType::reply) = {End::initiator, 1, kWordsOfMessage, kReplyBytesMax};
  rule(FrameType::refused) = {End::initiator, 0, 0, kReasonBytesMax};
  return rules;
}();

template <class T>
T read(const std::byte* bytes) noexcept {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace

std::uint32_t frame_check(const JobKey& key) noexcept {
  // FNV-1a: the whole key goes with the hello; this only ties every later frame to it.
  std::uint32_t hash = 2166136261U;
  for (const std::uint8_t byte : key.bytes) hash = (hash ^ byte) * 16777619U;
  return hash;
}

std::uint64_t program_digest() noexcept {
  return own_module_digest();
}

std::size_t write_head(std::span<std::byte, kHeadBytesMax> bytes, std::uint32_t check, FrameType type,
                       std::span<const std::uint64_t> words, std::uint64_t payload_bytes) noexcept {
  const FrameHeader head{check, type, static_cast<std::uint8_t>(words.size()), 0, payload_bytes};
  std::memcpy(bytes.data(), &head, sizeof head);
  if (!words.empty()) std::memcpy(bytes.data() + sizeof head, words.data(), words.size_bytes());
  return sizeof head + words.size_bytes();
}

std::size_t message_words(const MessageHeader& header, std::span<std::uint64_t, kFrameWordsMax> words) noexcept {
  words[0] = static_cast<std::uint64_t>(header.handler.to_wire());
  for (std::uint32_t i = 0; i < header.argument_count; ++i) words[1 + i] = header.arguments[i];
  return 1 + header.argument_count;
}

bool read_message(const Frame& frame, MessageHeader& header) noexcept {
  header.handler = HandlerId::from_wire(static_cast<std::int64_t>(frame.words[0]));
  header.argument_count = frame.head.words - 1U;
  for (std::uint32_t i = 0; i < header.argument_count; ++i) header.arguments[i] = frame.words[1 + i];
  return header.handler.valid();
}

void FrameReader::fail(std::string reason) noexcept {
  if (reason_.empty()) reason_ = std::move(reason);
}

void FrameReader::take(std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty() && !failed()) {
    if (in_payload_)
      take_payload(bytes);
    else if (!take_head(bytes))
      return;
  }
}

/// False when more bytes are needed, or the head is wrong.
bool FrameReader::take_head(std::span<const std::byte>& bytes) noexcept {
  const auto fill = [&](std::size_t wanted) {
    const std::size_t count = std::min(wanted - head_bytes_, bytes.size());
    std::memcpy(head_.data() + head_bytes_, bytes.data(), count);
    head_bytes_ += count;
    bytes = bytes.subspan(count);
    return head_bytes_ == wanted;
  };
  if (head_bytes_ < sizeof(FrameHeader)) {
    if (!fill(sizeof(FrameHeader))) return false;
    frame_.head = read<FrameHeader>(head_.data());
    if (!check_head()) return false;
  }
  const std::size_t words_bytes = frame_.head.words * sizeof(std::uint64_t);
  if (!fill(sizeof(FrameHeader) + words_bytes)) return false;
  if (words_bytes > 0) std::memcpy(frame_.words.data(), head_.data() + sizeof(FrameHeader), words_bytes);
  head_bytes_ = 0;
  rest_ = frame_.head.payload_bytes;
  if (rest_ <= bytes.size()) {
    const auto payload = bytes.first(static_cast<std::size_t>(rest_));
    bytes = bytes.subspan(payload.size());
    user_.whole(frame_, payload);
    return true;
  }
  place_ = user_.begin(frame_);
  in_payload_ = true;
  return true;
}

bool FrameReader::check_head() noexcept {
  const FrameHeader& head = frame_.head;
  const auto type = static_cast<std::size_t>(head.type);
  if (head.check != check_)
    fail("it does not carry the key of this job");
  else if (type == 0 || type >= kTypes || head.zero != 0)
    fail(fmt::format("it sent a frame of unknown type {}", type));
  else if (kRules[type].taken_by != end_ && head.type != FrameType::goodbye)
    fail(fmt::format("it sent a frame of type {}, which is for the other end of a connection", type));
  else if (head.words < kRules[type].words_min || head.words > kRules[type].words_max)
    fail(fmt::format("it sent a frame of type {} with {} words", type, head.words));
  else if (head.payload_bytes > kRules[type].payload_bytes_max)
    fail(fmt::format("it sent a frame of type {} with {} bytes of payload; at most {}", type, head.payload_bytes,
                     kRules[type].payload_bytes_max));
  return !failed();
}

void FrameReader::take_payload(std::span<const std::byte>& bytes) noexcept {
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(rest_, bytes.size()));
  if (place_ != nullptr) {
    std::memcpy(place_, bytes.data(), count);
    place_ += count;
  } else {
    user_.piece(frame_, frame_.head.payload_bytes - rest_, bytes.first(count));
  }
  bytes = bytes.subspan(count);
  rest_ -= count;
  if (rest_ == 0) end_payload();
}

void FrameReader::end_payload() noexcept {
  in_payload_ = false;
  user_.end(frame_);
}

std::span<std::byte> FrameReader::landing() const noexcept {
  if (!in_payload_ || place_ == nullptr || rest_ < kLandingBytesMin || failed()) return {};
  return {place_, static_cast<std::size_t>(rest_)};
}

void FrameReader::landed(std::size_t bytes) noexcept {
  place_ += bytes;
  rest_ -= bytes;
  if (rest_ == 0) end_payload();
}

}  // namespace coracle::internals::tcp
