// IoList: where a back end keeps requests that wait inside it, without allocating.
#pragma once

#include "runtime/core/io.hpp"

namespace coracle::internals {

/// First in, first out, and any can leave. A request is in at most one list; the list owns nothing.
class IoList {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  IoRequest& front() const noexcept { return *first_; }

  void push_back(IoRequest& request) noexcept {
    IoRequest::Note& note = request.note();
    note.next = nullptr;
    note.previous = last_;
    (last_ != nullptr ? last_->note().next : first_) = &request;
    last_ = &request;
  }
  void remove(IoRequest& request) noexcept {
    const IoRequest::Note& note = request.note();
    (note.previous != nullptr ? note.previous->note().next : first_) = note.next;
    (note.next != nullptr ? note.next->note().previous : last_) = note.previous;
  }
  IoRequest& pop_front() noexcept {
    IoRequest& request = *first_;
    remove(request);
    return request;
  }

 private:
  IoRequest* first_ = nullptr;
  IoRequest* last_ = nullptr;
};

}  // namespace coracle::internals
