// CallSpan: a call of a function of MPI, for traces and tools.
#pragma once

#include <cstdint>

#include "runtime/core/events.hpp"

namespace coracle::mpi {

/// Of this process's world; null while there is none, or no tool is told.
extern internals::Events* call_events;

/// While an entry point runs.
class CallSpan {
 public:
  /// `function`: a literal. `site`: gives what the entry point returns to; it is asked only where a tool is told.
  /// `is_elsewhere`: this is a thread whose calls nobody is told.
  template <class Site>
  CallSpan(const char* function, Site site, bool is_elsewhere = false) noexcept
      : events_(is_elsewhere ? nullptr : call_events) {
    if (events_ != nullptr) [[unlikely]]
      begin(function, site());
  }
  ~CallSpan() {
    if (events_ != nullptr) [[unlikely]]
      end();
  }
  CallSpan(const CallSpan&) = delete;
  CallSpan& operator=(const CallSpan&) = delete;

 private:
  void begin(const char* function, const void* site) noexcept;
  /// Nothing where the call has ended the world.
  void end() const noexcept;

  internals::Events* const events_;
  std::uint64_t id_;
};

}  // namespace coracle::mpi
