// What a fuzzer's bytes mean to an end of a TCP connection: the first says which end and how the rest is cut into
// pieces.
#pragma once

#include <cstdint>
#include <span>

#include "tests/transports/tcp_fake.hpp"

namespace coracle::internals::test {

/// Feeds `bytes` to the channel in pieces, as a socket would, and lets large payloads land.
inline void feed(coracle::internals::tcp::ConnectionEnd& channel, std::span<const std::byte> bytes,
                 std::size_t piece_bytes) {
  while (!bytes.empty() && !channel.broken()) {
    const std::span<std::byte> landing = channel.landing();
    const std::size_t room = landing.empty() ? piece_bytes : landing.size();
    const auto piece = bytes.first(std::min(bytes.size(), room));
    bytes = bytes.subspan(piece.size());
    if (landing.empty()) {
      channel.received(piece);
    } else {
      std::memcpy(landing.data(), piece.data(), piece.size());
      channel.landed(piece.size());
    }
  }
}

/// Must survive any input. Bit 0 of the first byte: initiator or responder; bit 1: with a good beginning (a hello, or
/// operations that wait for answers); the others: how long the pieces are.
inline void take_frame_input(std::span<const std::byte> input) {
  if (input.empty()) return;
  const auto how = std::to_integer<unsigned>(input[0]);
  const std::size_t piece_bytes = (how & 4) != 0 ? 1 + (how >> 3) : 65536;
  input = input.subspan(1);
  FakeRank rank(64 * 1024);
  if ((how & 1) != 0) {
    coracle::internals::tcp::Initiator initiator(rank, rank, {rank.key, 0, 1});
    std::vector<std::byte> target(40'000);
    coracle::internals::Operation put(coracle::internals::Operation::Verb::put, "put", 1);
    coracle::internals::Operation get(coracle::internals::Operation::Verb::get, "get", 1);
    coracle::internals::Operation add(coracle::internals::Operation::Verb::fetch_add, "fetch_add", 1);
    put.local = get.local = target.data();
    put.bytes = 8;
    get.bytes = target.size();
    add.operand = 1;
    if ((how & 2) != 0)
      for (coracle::internals::Operation* operation : {&put, &get, &add}) initiator.submit(*operation);
    feed(initiator, input, piece_bytes);
    initiator.fail_all(coracle::internals::Errc::peer_lost);
  } else {
    coracle::internals::tcp::Responder responder(rank, rank, coracle::internals::tcp::frame_check(rank.key));
    rank.replier = &responder;
    if ((how & 2) != 0) {
      std::array<std::byte, coracle::internals::tcp::kHeadBytesMax> hello;
      const std::array<std::uint64_t, 7> words{
          coracle::internals::tcp::kFrameMagic, coracle::internals::tcp::kFrameVersion, 0, 0, 0, 0, 1};
      const std::size_t bytes = coracle::internals::tcp::write_head(
          hello, coracle::internals::tcp::frame_check(rank.key), coracle::internals::tcp::FrameType::hello, words, 0);
      responder.received(std::span(hello).first(bytes));
    }
    feed(responder, input, piece_bytes);
    responder.outbox().drop({});
  }
}

}  // namespace coracle::internals::test
