// StandardFiles: the head's own standard input and output, for ranks of other machines.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/launch/control_stream.hpp"
#include "runtime/launch/poll_handler.hpp"

namespace coracle::internals {

class StandardFiles {
 public:
  /// Bytes of output that may wait here before no more are taken from the nodes.
  static constexpr std::size_t kBacklogMax = 1 << 20;

  /// Input goes to `reader` from now on.
  void forward_input_to(ControlStream& reader);
  void grant(std::size_t bytes) noexcept { credit_ += bytes; }

  void write(const std::vector<std::byte>& bytes);
  bool full() const noexcept { return output_.size() >= kBacklogMax; }
  /// Writes what waits, however long it takes.
  void finish();

  void want(std::vector<pollfd>& set) const;
  void handle();

 private:
  void handle_output();
  void handle_input();

  std::vector<std::byte> output_;
  ControlStream* reader_ = nullptr;  ///< Null: nobody, or the end has come.
  std::size_t credit_ = 0;
};

}  // namespace coracle::internals
