// BufferedSends: messages that are copied at once, and sent from the copies (MPI-3.1, 3.6).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/progress.hpp"
#include "runtime/messages/send_recv.hpp"

namespace coracle::mpi {

/// The program's buffer only counts: copies lie in memory of our own, of which so much is used as the buffer has room
/// for.
class BufferedSends {
 public:
  explicit BufferedSends(Progress& progress) noexcept;
  ~BufferedSends();
  BufferedSends(const BufferedSends&) = delete;
  BufferedSends& operator=(const BufferedSends&) = delete;

  /// Throws MpiError (buffer) where one is attached.
  void attach(void* buffer, Count bytes);
  /// Returns when all messages have gone.
  void detach(void*& buffer, Count& bytes);
  /// Throws MpiError (buffer) where there is no room.
  void send(Comm& comm, const internals::MessageSource& source, std::uint32_t to, std::uint64_t tag);
  /// Until all have gone.
  void drain();

 private:
  struct Copy;
  void sweep() noexcept;

  Progress& progress_;
  void* buffer_ = nullptr;
  Count room_ = 0;
  Count used_ = 0;
  bool attached_ = false;
  std::vector<std::unique_ptr<Copy>> copies_;
};

}  // namespace coracle::mpi
