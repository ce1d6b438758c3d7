// Inputs that begin well, from which a fuzzer starts: one of every type of frame, for either end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/transports/tcp_fake.hpp"

namespace coracle::internals::test {

inline std::string frame_bytes(coracle::internals::tcp::FrameType type, std::vector<std::uint64_t> words,
                               std::string payload) {
  std::array<std::byte, coracle::internals::tcp::kHeadBytesMax> head;
  const std::size_t bytes = coracle::internals::tcp::write_head(
      head, coracle::internals::tcp::frame_check(coracle::internals::JobKey{}), type, words, payload.size());
  return std::string(reinterpret_cast<const char*>(head.data()), bytes) + payload;
}

/// Each with its first byte as take_frame_input() has it, for pieces of every length.
inline std::vector<std::string> frame_seeds() {
  using coracle::internals::tcp::FrameType;
  const auto handler = static_cast<std::uint64_t>(coracle::internals::HandlerId::of(no_handler).to_wire());
  const std::string hello =
      frame_bytes(FrameType::hello,
                  {coracle::internals::tcp::kFrameMagic, coracle::internals::tcp::kFrameVersion, 0, 0, 1, 0, 1}, "");
  const std::vector<std::string> requests{
      frame_bytes(FrameType::put, {0, 0}, "12345678"),
      frame_bytes(FrameType::put, {8, 0, 64, 0, 1}, std::string(30'000, 'x')),
      frame_bytes(FrameType::put, {1ULL << 40, 0}, std::string(20'000, 'x')),
      frame_bytes(FrameType::get, {16, 0, 40'000}, ""),
      frame_bytes(FrameType::add, {24, 0, 8, 1}, ""),
      frame_bytes(FrameType::swap, {24, 0, 4, 1, 2}, ""),
      frame_bytes(FrameType::message, {handler, 1, 2, 3, 4, 5}, "hello"),
      frame_bytes(FrameType::message, {handler}, std::string(50'000, 'm')),
      frame_bytes(FrameType::goodbye, {}, ""),
  };
  const std::vector<std::string> answers{
      frame_bytes(FrameType::done, {1}, ""),         frame_bytes(FrameType::data, {}, std::string(40'000, 'd')),
      frame_bytes(FrameType::value, {7}, ""),        frame_bytes(FrameType::failure, {1}, ""),
      frame_bytes(FrameType::reply, {handler}, "r"), frame_bytes(FrameType::refused, {}, "no"),
      frame_bytes(FrameType::goodbye, {}, ""),
  };
  std::vector<std::string> seeds{std::string(1, '\0') + hello, std::string(1, '\x2c') + hello};
  std::string all_requests, all_answers;
  for (const std::string& frame : requests) {
    seeds.push_back('\2' + frame);
    all_requests += frame;
  }
  for (const std::string& frame : answers) {
    seeds.push_back('\3' + frame);
    if (frame != answers[3] && frame != answers[5]) all_answers += frame;
  }
  for (const char pieces : {'\x00', '\x3c', '\x7c'}) {
    seeds.push_back(static_cast<char>(pieces | 2) + all_requests);
    seeds.push_back(static_cast<char>(pieces | 3) + all_answers);
  }
  return seeds;
}

}  // namespace coracle::internals::test
