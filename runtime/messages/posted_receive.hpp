// PostedReceive: a receive that waits, as the matcher knows it.
#pragma once

#include <cstdint>

#include "runtime/team/envelope.hpp"

namespace coracle::internals {

/// A thing's place in one queue.
struct QueueLink {
  explicit QueueLink(void* of) noexcept : owner(of) {}
  QueueLink(const QueueLink&) = delete;
  QueueLink& operator=(const QueueLink&) = delete;

  QueueLink* previous = nullptr;
  QueueLink* next = nullptr;
  void* const owner;
};

/// Lives with its owner.
struct PostedReceive {
  explicit PostedReceive(const Envelope& of) noexcept : wanted(of), link(this) {}
  PostedReceive(PostedReceive&& other) noexcept : PostedReceive(other.wanted) {}  // one that is not posted
  Envelope wanted;
  std::uint64_t order = 0;
  QueueLink link;
};

}  // namespace coracle::internals
