// UnexpectedOwner: owns a message that came before its receive, for those who need not know what that is.
#pragma once

#include "runtime/core/std_parts.hpp"

namespace coracle::internals {

class UnexpectedMessage;

struct DropUnexpected {
  void operator()(UnexpectedMessage* message) const noexcept;
};

/// Rank's thread only.
using UnexpectedOwner = std::unique_ptr<UnexpectedMessage, DropUnexpected>;

}  // namespace coracle::internals
