// The rarer end of a yield.
#include "runtime/core/event.hpp"

#include "runtime/core/error.hpp"

namespace coracle::internals {

void yield::throw_cancelled() const {
  throw Error::of_operation(scope_->cancelled(), "yield", -1, -1, "");
}

}  // namespace coracle::internals
