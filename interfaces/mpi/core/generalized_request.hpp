// GeneralizedRequest: what a program does itself, and tells of by MPI_Grequest_complete (MPI-3.1, 12.2).
#pragma once

#include <optional>

#include "interfaces/mpi/core/request.hpp"

namespace coracle::mpi {

class GeneralizedRequest final : public Request {
 public:
  /// The program's functions by their language: the ABI's business. All give an error code in the core's numbers.
  struct Functions {
    int (*query)(void* extra, Status& status, void* function);
    int (*free)(void* extra, void* function);
    int (*cancel)(void* extra, bool complete, void* function);
    void* query_function;
    void* free_function;
    void* cancel_function;
    void* extra;
  };
  explicit GeneralizedRequest(const Functions& functions) : Request(nullptr, false), functions_(functions) {}

  void complete() noexcept { done_ = true; }
  void let_go() noexcept override {}  // the program's query function is for whoever waits
  bool is_done() const noexcept override { return done_; }
  bool is_awaited_at_end() const noexcept override { return false; }  // nobody completes it any more
  Status look() noexcept override;
  void cancel() override;
  void add_to(internals::SignalText& text) const noexcept override { text.add("a generalised request of the program"); }

 private:
  ~GeneralizedRequest() override;
  void begin() override {}
  Functions functions_;
  std::optional<Status> outcome_;  // its functions are called once
  bool done_ = false;
};

}  // namespace coracle::mpi
