// How far a new task must look for descriptors that it may not inherit.
#pragma once

namespace coracle::internals::pvas {

/// The open descriptors behind the three standard ones: looking upwards from 3, one may stop after `count` of them, or
/// at `limit`, whatever comes first.
struct OpenFds {
  unsigned int count = 0;
  unsigned int limit = 0;
};

/// Of this process, now.
OpenFds open_fds();

}  // namespace coracle::internals::pvas
