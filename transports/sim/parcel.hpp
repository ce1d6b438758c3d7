// Parcel: one message of a simulated job, from its sender's call until its handler has run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/message.hpp"
#include "transports/sim/schedule.hpp"

namespace coracle::sim {

class World;

struct Parcel final : Happening {
  Parcel(World& world, std::uint32_t from, std::uint32_t to, const MessageHeader& what) noexcept
      : world_of(world), source(from), target(to), header(what) {}

  /// Sends it off; room for it has been taken. It owns itself until it is in the target's inbox. `delay_ns`: until its
  /// sender knows of the room.
  static void launch(std::unique_ptr<Parcel> parcel, std::uint64_t delay_ns) noexcept;
  /// The handler of a rendezvous has run: tells the sender.
  static void send_back(std::unique_ptr<Parcel> parcel) noexcept;

  /// Large: the receiver reads from the sender's memory, which is the sender's operation until the handler has run.
  bool is_rendezvous() const noexcept;
  std::size_t inbox_bytes() const noexcept;
  std::span<const std::byte> content() const noexcept;

  void happen() noexcept override;
  void abandon() noexcept override { delete this; }
  std::uint64_t label() const noexcept override;

  World& world_of;
  std::uint32_t source;
  std::uint32_t target;
  MessageHeader header;
  RequestOperation* operation = nullptr;  ///< Of a request, while it is not finished.
  std::vector<std::byte> payload;         ///< Of a reply, or of a request once it has been read.
  bool is_reply = false;

 private:
  enum class Stage : std::uint8_t { waits, read, sent, reaches, arrives, told };
  void read_source() noexcept;

  std::size_t bytes() const noexcept { return operation != nullptr ? operation->bytes : payload.size(); }
  Stage stage_ = Stage::waits;
  std::uint64_t sent_ns_ = 0;
  std::uint64_t reach_ns_ = 0;
};

}  // namespace coracle::sim
