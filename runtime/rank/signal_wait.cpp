// The polling of signals, which other sources need not compile.
#include "runtime/rank/signal_wait.hpp"

namespace coracle::internals {

template class PolledWaits<SignalWait>;

}  // namespace coracle::internals
