// Copies of messages, and their sends.
#include "interfaces/mpi/core/buffered_sends.hpp"

#include <utility>

#include "interfaces/mpi/core/call_notes.hpp"

namespace coracle::mpi {

/// One message on its way.
struct BufferedSends::Copy {
  Copy(Comm& of, const internals::MessageSource& source, std::uint32_t to, std::uint64_t message_tag)
      : comm(&of), dest(static_cast<int>(to)), tag(static_cast<int>(message_tag)), bytes(source.bytes()) {
    internals::read_part(source, 0, bytes);
    send.emplace(comm->team().send(internals::MessageSource(std::span<const std::byte>(bytes)), to, message_tag));
  }
  bool done() const noexcept { return completion == nullptr || completion->done(); }
  Count room() const noexcept { return static_cast<Count>(bytes.size()) + kBsendOverhead; }

  Ref<Comm> comm;
  int dest;
  int tag;
  std::vector<std::byte> bytes;
  std::optional<internals::Send> send;
  internals::Completion* completion = nullptr;
};

BufferedSends::BufferedSends(Progress& progress) noexcept : progress_(progress) {}
BufferedSends::~BufferedSends() = default;

void BufferedSends::attach(void* buffer, Count bytes) {
  if (attached_) raise(ErrorClass::buffer, "a buffer is attached already: detach it first");
  if (bytes < 0) raise(ErrorClass::arg, "size is {}: a buffer has 0 bytes or more", bytes);
  buffer_ = buffer;
  room_ = bytes;
  attached_ = true;
}

void BufferedSends::detach(void*& buffer, Count& bytes) {
  drain();
  buffer = std::exchange(buffer_, nullptr);
  bytes = std::exchange(room_, 0);
  attached_ = false;
}

void BufferedSends::send(Comm& comm, const internals::MessageSource& source, std::uint32_t to, std::uint64_t tag) {
  if (!attached_) raise(ErrorClass::buffer, "no buffer is attached: call MPI_Buffer_attach first");
  const Count needed = static_cast<Count>(source.bytes()) + kBsendOverhead;
  if (used_ + needed > room_) {
    progress_.poll();
    sweep();
  }
  if (used_ + needed > room_)
    raise(
        ErrorClass::buffer,
        "the attached buffer of {} bytes has no room for {} bytes more (with MPI_BSEND_OVERHEAD) beside {} bytes that "
        "are on their way: attach a larger one",
        room_, needed, used_);
  auto copy = std::make_unique<Copy>(comm, source, to, tag);
  if (copy->send->await_ready()) return copy->send->await_resume();
  Copy& kept = *copies_.emplace_back(std::move(copy));  // first: it must not go while it is under way
  try {
    kept.completion = &progress_.begin(*kept.send);
  } catch (...) {
    copies_.pop_back();
    throw;
  }
  used_ += needed;
}

void BufferedSends::sweep() noexcept {
  std::erase_if(copies_, [this](const std::unique_ptr<Copy>& copy) {
    if (!copy->done()) return false;
    progress_.give_completion(*copy->completion);
    used_ -= copy->room();
    try {
      copy->send->await_resume();
    } catch (...) {
      return true;  // its receiver is lost, as whoever waits for that one is told; there is nobody to tell here
    }
    return true;
  });
}

void BufferedSends::drain() {
  for (const std::unique_ptr<Copy>& copy : copies_)
    progress_.run_until<SendNote>([&copy] { return copy->done(); }, copy->dest, copy->tag, *copy->comm);
  sweep();
}

}  // namespace coracle::mpi
