// Receives and sends as entries of the ring.
#include "transports/tcp/uring_stream.hpp"

#include <liburing.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/core/error.hpp"

#ifndef IORING_SEND_ZC_REPORT_USAGE
#define IORING_SEND_ZC_REPORT_USAGE (1U << 3)
#define IORING_NOTIF_USAGE_ZC_COPIED (1U << 31)
#endif

namespace coracle::internals::tcp {
namespace {

/// Within a machine the kernel copies anyway, later and at a higher cost.
bool leaves_machine(int fd) noexcept {
  sockaddr_storage own{};
  sockaddr_storage peer{};
  socklen_t own_bytes = sizeof own;
  socklen_t peer_bytes = sizeof peer;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_bytes) != 0 ||
      ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_bytes) != 0)
    return false;
  if (own.ss_family == AF_INET6)
    return std::memcmp(&reinterpret_cast<sockaddr_in6&>(own).sin6_addr,
                       &reinterpret_cast<sockaddr_in6&>(peer).sin6_addr, sizeof(in6_addr)) != 0;
  return reinterpret_cast<sockaddr_in&>(own).sin_addr.s_addr != reinterpret_cast<sockaddr_in&>(peer).sin_addr.s_addr;
}

}  // namespace

std::unique_ptr<UringDriver> UringDriver::create(UringPort& port, std::uint32_t spins) {
  std::unique_ptr<UringDriver> driver(new UringDriver(port, spins));
  return driver->buffer_ring_ == nullptr ? nullptr : std::move(driver);
}

UringDriver::UringDriver(UringPort& port, std::uint32_t spins) : port_(port), may_ask_(spins >= 4 * kVainTurnsMax) {
  void* memory = nullptr;
  if (::posix_memalign(&memory, 4096, kBuffers * sizeof(io_uring_buf)) != 0) return;
  std::memset(memory, 0, kBuffers * sizeof(io_uring_buf));
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<std::uintptr_t>(memory);
  registration.ring_entries = kBuffers;
  registration.bgid = kGroup;
  // Provided buffers came in 5.19; io_uring's zero-copy send in 6.0, together with multishot receive.
  io_uring_probe* probe = io_uring_get_probe_ring(&port.ring());
  const bool new_enough = probe != nullptr && io_uring_opcode_supported(probe, IORING_OP_SEND_ZC) != 0;
  if (probe != nullptr) io_uring_free_probe(probe);
  if (!new_enough || io_uring_register_buf_ring(&port.ring(), &registration, 0) != 0) {
    std::free(memory);
    return;
  }
  buffer_ring_ = static_cast<io_uring_buf_ring*>(memory);
  io_uring_buf_ring_init(buffer_ring_);
  asked_bytes_.resize(kAskedBytes);
  asked_.reserve(kAskedMax);
  buffers_.reset(new std::byte[kBuffers * kBufferBytes]);  // touched when used
  for (unsigned id = 0; id < kBuffers; ++id)
    io_uring_buf_ring_add(buffer_ring_, buffer(id), kBufferBytes, static_cast<unsigned short>(id),
                          io_uring_buf_ring_mask(kBuffers), static_cast<int>(id));
  io_uring_buf_ring_advance(buffer_ring_, kBuffers);
}

UringDriver::~UringDriver() {
  if (buffer_ring_ == nullptr) return;
  io_uring_unregister_buf_ring(&port_.ring(), kGroup);
  std::free(buffer_ring_);
}

void UringDriver::give_back(unsigned id) noexcept {
  io_uring_buf_ring_add(buffer_ring_, buffer(id), kBufferBytes, static_cast<unsigned short>(id),
                        io_uring_buf_ring_mask(kBuffers), 0);
  io_uring_buf_ring_advance(buffer_ring_, 1);
}

void UringDriver::forget(UringStream& stream) noexcept {
  std::erase(waiting_, &stream);
  std::erase(asked_, &stream);
}

bool UringDriver::poll() noexcept {
  ++turns_;
  bool progress = false;
  // From the back: a stream may leave the list meanwhile.
  for (std::size_t i = asked_.size(); i-- > 0;) progress |= i < asked_.size() && asked_[i]->ask();
  return flush() || progress;
}

bool UringDriver::flush() noexcept {
  if (waiting_.empty()) return false;
  std::swap(waiting_, flushing_);
  for (UringStream* stream : flushing_) {
    stream->waiting_ = false;
    stream->send();
    stream->receive();  // there may be room for answers again
  }
  flushing_.clear();
  return true;
}

UringStream::UringStream(UringDriver& driver, StreamUser& user, int fd)
    : driver_(driver), user_(user), fd_(fd), zero_copy_(leaves_machine(fd)) {
  receive();
  output_ready();
}

UringStream::~UringStream() {
  CORACLE_ASSERT(idle(), "a TCP stream ended while the kernel holds {} of its sends", sends_.size());
  driver_.forget(*this);
  ::close(fd_);
}

void UringStream::output_ready() noexcept {
  if (std::exchange(waiting_, true)) return;
  driver_.later(*this);
}

void UringStream::close(bool reset) noexcept {
  if (std::exchange(closed_, true)) return;
  driver_.forget(*this);
  waiting_ = false;
  if (reset) {
    const linger at_once{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  // Ends what the ring holds, too: receives see the end, sends an error.
  ::shutdown(fd_, SHUT_RDWR);
  if (receiving_ != Receiving::nothing && receiving_ != Receiving::asked) driver_.port_.cancel(receiver_);
  for (std::size_t i = 0; i < sends_.size(); ++i)
    if (!sends_[i]->accepted) driver_.port_.cancel(*sends_[i]);
}

void UringStream::receive() noexcept {
  if (receiving_ != Receiving::nothing || ended_ || closed_ || !user_.wants_input()) return;
  const std::span<std::byte> landing = user_.landing();
  if (landing.empty() && heads_ == 0 && quick_inputs_ >= kQuickInputsMin && driver_.may_ask_ &&
      driver_.asked_.size() < UringDriver::kAskedMax) {
    driver_.asked_.push_back(this);
    receiving_ = Receiving::asked;
    return;
  }
  io_uring_sqe* entry = driver_.port_.entry(&receiver_);
  if (entry == nullptr) return output_ready();  // tried again from there
  if (!landing.empty()) {
    constexpr std::size_t kReceiveBytesMax = 1U << 30;
    io_uring_prep_recv(entry, fd_, landing.data(), std::min(landing.size(), kReceiveBytesMax), MSG_WAITALL);
    receiving_ = Receiving::landing;
  } else if (heads_ > 0) {
    io_uring_prep_recv(entry, fd_, head_.data(), head_.size(), 0);
    receiving_ = Receiving::head;
  } else {
    io_uring_prep_recv_multishot(entry, fd_, nullptr, 0, 0);
    entry->flags |= IOSQE_BUFFER_SELECT;
    entry->buf_group = UringDriver::kGroup;
    receiving_ = Receiving::multishot;
    stopping_ = false;
  }
}

void UringStream::count_quick_input() noexcept {
  const bool quick = driver_.turns_ - last_input_ < UringDriver::kVainTurnsMax;
  quick_inputs_ = quick ? quick_inputs_ + 1 : 0;
  last_input_ = driver_.turns_;
}

/// One plain receive. True when something came.
bool UringStream::ask() noexcept {
  // No receive of the ring is under way for this stream: its bytes come in order.
  std::vector<std::byte>& bytes = driver_.asked_bytes_;
  const ssize_t count = ::recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0 && may_pass(errno)) {
    if (driver_.turns_ - last_input_ < UringDriver::kVainTurnsMax) return false;
    quick_inputs_ = 0;
  } else if (count <= 0) {
    std::erase(driver_.asked_, this);
    receiving_ = Receiving::nothing;
    end(count == 0 ? 0 : errno);
    return true;
  } else {
    last_input_ = driver_.turns_;
    user_.received(std::span(bytes).first(static_cast<std::size_t>(count)));
    if (!user_.outbox().empty()) output_ready();
    if (user_.landing().empty() && user_.wants_input()) return true;
  }
  std::erase(driver_.asked_, this);
  receiving_ = Receiving::nothing;
  receive();
  return count > 0;
}

void UringStream::received(int result, std::uint32_t flags) noexcept {
  if (receiving_ == Receiving::multishot) return received_shared(result, flags);
  const Receiving how = std::exchange(receiving_, Receiving::nothing);
  if (closed_) return;
  if (result < 0 && may_pass(-result)) return output_ready();  // tried again from there
  if (result <= 0) return end(-result);
  const auto bytes = static_cast<std::size_t>(result);
  constexpr std::uint32_t kHeadsAfterLanding = 8;
  if (how == Receiving::landing) {
    heads_ = kHeadsAfterLanding;
    user_.landed(bytes);
  } else {
    --heads_;
    user_.received(std::span(head_).first(bytes));
  }
  if (!user_.outbox().empty()) output_ready();
  receive();
}

void UringStream::received_shared(int result, std::uint32_t flags) noexcept {
  const bool more = (flags & IORING_CQE_F_MORE) != 0;
  if (!more) receiving_ = Receiving::nothing;
  if ((flags & IORING_CQE_F_BUFFER) != 0) {
    const unsigned id = flags >> IORING_CQE_BUFFER_SHIFT;
    if (result > 0 && !closed_) {
      count_quick_input();
      user_.received({driver_.buffer(id), static_cast<std::size_t>(result)});
    }
    driver_.give_back(id);
  }
  if (closed_) return;
  if (!user_.outbox().empty()) output_ready();
  if (result == 0 || (result < 0 && result != -ECANCELED && !may_pass(-result))) return end(-result);
  if (!more && result == -ENOMEM) return output_ready();  // tried again from there
  if (!more) return receive();
  // What is large goes to its place from here on; what the kernel has put into buffers by then comes first.
  const bool to_be_asked =
      quick_inputs_ >= kQuickInputsMin && driver_.may_ask_ && driver_.asked_.size() < UringDriver::kAskedMax;
  if (!stopping_ && (!user_.landing().empty() || !user_.wants_input() || to_be_asked))
    stopping_ = driver_.port_.cancel(receiver_);
}

void UringStream::end(int error) noexcept {
  const bool news = !ended_ || (error != 0 && !failed_);
  ended_ = true;
  failed_ |= error != 0;
  if (news) user_.ended(std::error_code(error, std::generic_category()));
}

void UringStream::send() noexcept {
  bool full = false;  // the socket takes no more at once
  while (!sending_ && !closed_ && !failed_) {
    const Outbox::Gathered gathered = user_.outbox().gather(vectors_, kSendBytesMax);
    if (gathered.bytes == 0) {
      if (user_.output_over() && !std::exchange(output_shut_, true)) ::shutdown(fd_, SHUT_WR);
      return;
    }
    message_.msg_iov = vectors_.data();
    message_.msg_iovlen = gathered.count;
    if (!full && gathered.bytes <= kInlineBytesMax && sends_.empty()) {
      full = !send_inline(gathered);
      continue;
    }
    if (!send_by_ring(gathered)) output_ready();
    return;
  }
}

/// False when the socket is full, or broken.
bool UringStream::send_inline(const Outbox::Gathered& gathered) noexcept {
  const ssize_t count = ::sendmsg(fd_, &message_, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count < 0) {
    if (!may_pass(errno)) end(errno);
    return false;
  }
  user_.outbox().sent(static_cast<std::size_t>(count));
  user_.outbox().release(static_cast<std::size_t>(count));
  user_.drained();
  return static_cast<std::size_t>(count) == gathered.bytes;
}

/// False when the ring is full.
bool UringStream::send_by_ring(const Outbox::Gathered& gathered) noexcept {
  const bool zero_copy = zero_copy_ && gathered.referred_bytes >= kZeroCopyBytesMin;
  sends_.push_back(spare_send_ ? std::move(spare_send_) : std::make_unique<Send>(*this));
  Send& send = *sends_.back();
  send.zero_copy = zero_copy;
  send.accepted = send.done = false;
  send.bytes = 0;
  io_uring_sqe* entry = driver_.port_.entry(&send);
  if (entry == nullptr) {
    sends_.pop_back();
    return false;
  }
  if (zero_copy) {
    io_uring_prep_sendmsg_zc(entry, fd_, &message_, MSG_NOSIGNAL | MSG_WAITALL);
    entry->ioprio |= IORING_SEND_ZC_REPORT_USAGE;
  } else {
    io_uring_prep_sendmsg(entry, fd_, &message_, MSG_NOSIGNAL | MSG_WAITALL);
  }
  sending_ = true;
  return true;
}

void UringStream::sent(Send& send, int result, std::uint32_t flags) noexcept {
  if (!send.accepted) {
    send.accepted = true;
    sending_ = false;
    if (result > 0) {
      send.bytes = static_cast<std::size_t>(result);
      user_.outbox().sent(send.bytes);
    } else if (send.zero_copy && (result == -EINVAL || result == -EOPNOTSUPP || is_shortage(-result))) {
      zero_copy_ = false;  // an older kernel, or too little memory may be locked: with a copy, then
    } else if (!closed_ && !may_pass(-result)) {
      end(-result);
    }
  } else if ((static_cast<std::uint32_t>(result) & IORING_NOTIF_USAGE_ZC_COPIED) != 0) {
    zero_copy_ = false;  // the way to this peer has a copy in it
  }
  if ((flags & IORING_CQE_F_MORE) == 0) send.done = true;
  release_sent();
  if (!closed_ && !failed_) output_ready();
}

void UringStream::release_sent() noexcept {
  while (!sends_.empty() && sends_.front()->done) {
    const std::size_t bytes = sends_.front()->bytes;
    spare_send_ = std::move(sends_.front());
    sends_.pop_front();
    if (bytes == 0) continue;
    user_.outbox().release(bytes);
    if (!closed_) user_.drained();
  }
}

}  // namespace coracle::internals::tcp
