// StandardFiles: the head's own standard input and output, for ranks of other machines.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/launch/forwarding.hpp"

namespace coracle::internals {

class StandardFiles {
 public:
  /// Input goes to `reader` as far as that grants room for it, until its end.
  Task<> forward_input_to(ControlStream& reader, Io& io);
  void grant(std::size_t bytes) noexcept;

  void write(const std::vector<std::byte>& bytes);
  /// Writes what waits whenever it can be; has no end.
  Task<> write_output(Io& io);
  /// So much waits that no more should be taken from the nodes.
  bool full() const noexcept { return output_.size() >= kBacklogMax; }
  /// Until it is not.
  Task<> room();
  /// Writes what waits, however long it takes.
  void finish();

 private:
  static constexpr std::size_t kBacklogMax = 1 << 20;

  void write_some();

  std::vector<std::byte> output_;
  std::size_t credit_ = InputForwarder::kWindowBytes;
  Condition changed_;  // output_ or credit_
};

}  // namespace coracle::internals
