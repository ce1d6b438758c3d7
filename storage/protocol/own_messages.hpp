// OwnMessages: what a cache and the home beside it write to each other.
#pragma once

#include <deque>
#include <utility>

#include "storage/protocol/coherence_message.hpp"

namespace coracle::internals::storage {

/// Handed out one after the other, none within the handling of another. Used by its rank's thread.
class OwnMessages {
 public:
  void add(const CoherenceMessage& coherence_message) { messages_.push_back(coherence_message); }

  /// While it lives, they wait.
  class Hold {
   public:
    explicit Hold(OwnMessages& coherence_messages) noexcept
        : messages_(coherence_messages), outer_(std::exchange(coherence_messages.held_, true)) {}
    ~Hold() { messages_.held_ = outer_; }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    OwnMessages& messages_;
    bool outer_;
  };

  /// Until none is left, unless they are held.
  template <class Receive>
  void deliver(Receive receive) {
    if (held_) return;
    const Hold hold(*this);
    while (!messages_.empty()) {
      const CoherenceMessage coherence_message = messages_.front();
      messages_.pop_front();
      receive(coherence_message);
    }
  }

 private:
  std::deque<CoherenceMessage> messages_;
  bool held_ = false;
};

}  // namespace coracle::internals::storage
