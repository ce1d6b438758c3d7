// TransferHost: what surrounds the parts of the TCA transport: the whole.
#pragma once

#include <system_error>

#include "runtime/rank/operation.hpp"

namespace coracle::internals::tca {

class TransferHost {
 public:
  virtual void finish(Operation& operation, std::error_code outcome) noexcept = 0;
  /// The peer has taken all packets of a put, whose bytes are there.
  virtual void confirmed(Operation& put) noexcept = 0;
  /// Something is on its way that may get stuck: it is looked after, also when nothing happens.
  virtual void look_after() noexcept = 0;
  /// The device carries no packets any more, to nobody.
  virtual void packets_failed() noexcept = 0;

 protected:
  ~TransferHost() = default;
};

}  // namespace coracle::internals::tca
