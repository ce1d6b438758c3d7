// OwnLetters: what a cache and the home beside it write to each other.
#pragma once

#include <deque>
#include <utility>

#include "storage/protocol/page_letter.hpp"

namespace coracle::internals::storage {

/// Handed out one after the other, none within the handling of another. Used by its rank's thread.
class OwnLetters {
 public:
  void add(const PageLetter& letter) { letters_.push_back(letter); }

  /// While it lives, they wait.
  class Hold {
   public:
    explicit Hold(OwnLetters& letters) noexcept : letters_(letters), outer_(std::exchange(letters.held_, true)) {}
    ~Hold() { letters_.held_ = outer_; }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    OwnLetters& letters_;
    bool outer_;
  };

  /// Until none is left, unless they are held.
  template <class Receive>
  void deliver(Receive receive) {
    if (held_) return;
    const Hold hold(*this);
    while (!letters_.empty()) {
      const PageLetter letter = letters_.front();
      letters_.pop_front();
      receive(letter);
    }
  }

 private:
  std::deque<PageLetter> letters_;
  bool held_ = false;
};

}  // namespace coracle::internals::storage
