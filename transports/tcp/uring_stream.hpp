// Streams over the loop's io_uring. Receiving: a multishot receive into buffers that all streams of the rank share, as
// long as what comes is short; when the protocol expects a large payload, single receives straight to its place. Where
// short input comes so fast that the loop spins from one to the next, plain receives, which cost less than completions.
// Sending: short output by a plain send at once, the rest through the ring, without a copy where the kernel can.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/core/uring_port.hpp"
#include "transports/tcp/stream.hpp"

struct io_uring_buf_ring;

namespace coracle::internals::tcp {

class UringStream;

/// What the streams of one rank share: the ring, its receive buffers, and the list of those that want to send.
class UringDriver {
 public:
  /// Null where the kernel lacks provided buffers or multishot receive (before 6.0). `spins`: turns that the loop makes
  /// in vain before it sleeps.
  static std::unique_ptr<UringDriver> create(UringPort& port, std::uint32_t spins);
  ~UringDriver();
  UringDriver(const UringDriver&) = delete;
  UringDriver& operator=(const UringDriver&) = delete;

  /// Sends what has gathered since the last call, and asks the stream that is being received by plain calls. Once a
  /// turn. True when there was anything.
  bool poll() noexcept;

 private:
  friend class UringStream;
  static constexpr std::uint16_t kGroup = 0x7c;
  static constexpr unsigned kBuffers = 64;
  static constexpr std::size_t kBufferBytes = 16 * 1024;

  /// A stream is asked by plain calls until so many turns have brought nothing, which is long before the loop sleeps.
  static constexpr std::uint32_t kVainTurnsMax = 200;
  /// So many streams at most: each costs a system call a turn. (Two ranks that ask each other have two.)
  static constexpr std::size_t kAskedMax = 4;
  /// Of one such call: what has come together is taken together, and its answers leave together.
  static constexpr std::size_t kAskedBytes = 64 * 1024;

  UringDriver(UringPort& port, std::uint32_t spins);
  bool flush() noexcept;
  std::byte* buffer(unsigned id) const noexcept { return buffers_.get() + id * kBufferBytes; }
  void give_back(unsigned id) noexcept;
  void later(UringStream& stream) { waiting_.push_back(&stream); }
  void forget(UringStream& stream) noexcept;

  UringPort& port_;
  io_uring_buf_ring* buffer_ring_ = nullptr;
  std::unique_ptr<std::byte[]> buffers_;
  std::uint64_t turns_ = 0;
  bool may_ask_;                        // the loop spins long enough
  std::vector<UringStream*> asked_;     // by plain calls
  std::vector<std::byte> asked_bytes_;  // what these calls fill
  std::vector<UringStream*> waiting_;
  std::vector<UringStream*> flushing_;
};

class UringStream final : public Stream {
 public:
  /// Owns `fd`, a connected socket. `user` must live until idle().
  UringStream(UringDriver& driver, StreamUser& user, int fd);
  ~UringStream() override;
  UringStream(const UringStream&) = delete;
  UringStream& operator=(const UringStream&) = delete;

  void output_ready() noexcept override;
  void output_now() noexcept override { send(); }
  void close(bool reset) noexcept override;
  bool idle() const noexcept override {
    return closed_ && (receiving_ == Receiving::nothing || receiving_ == Receiving::asked) && sends_.empty();
  }

 private:
  friend class UringDriver;
  /// How the stream is being received.
  enum class Receiving : std::uint8_t { nothing, multishot, landing, head, asked };
  struct Receiver final : UringSink {
    explicit Receiver(UringStream& owner) : stream(owner) {}
    void completed(int result, std::uint32_t flags) noexcept override { stream.received(result, flags); }
    UringStream& stream;
  };
  /// One send with the kernel.
  struct Send final : UringSink {
    explicit Send(UringStream& owner) : stream(owner) {}
    void completed(int result, std::uint32_t flags) noexcept override { stream.sent(*this, result, flags); }
    UringStream& stream;
    bool zero_copy = false;
    bool accepted = false;  // its result has come
    bool done = false;      // the kernel has let go of its buffers
    std::size_t bytes = 0;
  };
  static constexpr std::size_t kVectors = 16;
  static constexpr std::size_t kSendBytesMax = 1024 * 1024;
  /// More goes through the ring.
  static constexpr std::size_t kInlineBytesMax = 16 * 1024;
  static constexpr std::size_t kZeroCopyBytesMin = 128 * 1024;
  /// Room for the head of a put: what is received between two large payloads must not swallow much of the second.
  static constexpr std::size_t kHeadBytes = 64;
  /// So many inputs in close succession, and the stream is asked by plain calls.
  static constexpr std::uint32_t kQuickInputsMin = 8;

  void receive() noexcept;
  void received(int result, std::uint32_t flags) noexcept;
  void received_shared(int result, std::uint32_t flags) noexcept;
  void count_quick_input() noexcept;
  bool ask() noexcept;
  void send() noexcept;
  bool send_inline(const Outbox::Gathered& gathered) noexcept;
  bool send_by_ring(const Outbox::Gathered& gathered) noexcept;
  void sent(Send& send, int result, std::uint32_t flags) noexcept;
  void release_sent() noexcept;
  void end(int error) noexcept;

  UringDriver& driver_;
  StreamUser& user_;
  int fd_;
  Receiver receiver_{*this};
  Receiving receiving_ = Receiving::nothing;
  bool stopping_ = false;         // the multishot receive has been asked to end
  std::uint64_t last_input_ = 0;  // turn of the driver
  std::uint32_t quick_inputs_ = 0;
  std::uint32_t heads_ = 0;  // so many more single receives of heads before going back to multishot
  bool waiting_ = false;     // in the driver's list
  bool sending_ = false;     // a send has not been accepted yet
  bool output_shut_ = false;
  bool ended_ = false;   // no more input comes; answers may still have to go
  bool failed_ = false;  // nor can anything be sent
  bool closed_ = false;
  bool zero_copy_;
  RingQueue<std::unique_ptr<Send>> sends_;  // in order
  std::unique_ptr<Send> spare_send_;
  msghdr message_{};
  std::array<iovec, kVectors> vectors_;
  std::array<std::byte, kHeadBytes> head_;
};

}  // namespace coracle::internals::tcp
