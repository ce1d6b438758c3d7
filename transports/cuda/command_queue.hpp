// CommandQueue: what a rank and the process that owns the node's GPUs share: a ring of commands, a word per channel
// that says which table is over, and room for one answer. It lies in the owner's memory, which all tasks of the space
// reach.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "runtime/job/accelerator.hpp"
#include "transports/cuda/cuda_device.hpp"

namespace coracle::internals::cuda {

/// Text that ends where its room ends.
template <std::size_t N>
void copy_text(std::array<char, N>& room, std::string_view text) noexcept {
  const std::size_t bytes = std::min(text.size(), N - 1);
  std::memcpy(room.data(), text.data(), bytes);
  room[bytes] = '\0';
}

/// One cache line. Which fields count depends on the kind.
struct alignas(64) DeviceCommand {
  enum class Kind : std::uint32_t {
    // Without an answer.
    load,    ///< table, way; address: of `count` descriptors, which the rank keeps until the command has been taken.
    unload,  ///< table
    start,   ///< channel, table, sequence: the channel's word tells the end.
    abort,   ///< channel
    sign,    ///< Does nothing: that it is taken says that the owner lives.
    // Answered; one at a time.
    count_devices,
    open_device,      ///< address: of the CudaOptions. At most one per queue.
    close_device,     ///< And what was loaded there.
    load_module,      ///< address: of the code
    find_kernel,      ///< address: of the name; count: the module, as load_module has answered
    load_kernels,     ///< table; address: of `count` launches. The answer: where their parameters are to be, see there.
    allocate,         ///< device, count: bytes
    release,          ///< address
    allocate_pinned,  ///< count: bytes
    release_pinned,   ///< address
    register_host,    ///< address, count: bytes. For all ranks, until the owner ends.
  };
  Kind kind{};
  std::uint32_t channel = 0;
  std::uint32_t table = 0;
  TableWay way = TableWay::automatic;
  std::int32_t device = 0;
  std::uint32_t call = 0;  ///< Of answered ones: their number.
  std::uint64_t sequence = 0;
  std::uint64_t address = 0;
  std::uint64_t count = 0;
};
static_assert(sizeof(DeviceCommand) == 64);

/// The parameters of a table of kernels lie in the owner's memory, one behind the other, each in so many bytes: as many
/// as the driver may read, whatever the kernel declares; those behind what the rank gives are zero. The
/// rank writes them there before each start: the owner need not look at the memory of a rank that may have died.
inline constexpr std::size_t kParameterRoom = kParameterBytesMax;

/// One sender, one receiver, no locks.
class CommandRing {
 public:
  static constexpr std::uint64_t kRoom = 256;

  /// Sender. False: full.
  bool push(const DeviceCommand& command) noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);  // its own
    // seq_cst: pairs with pop(): the slot is free. And with CommandQueue::starving, see there.
    if (tail - head_.load(std::memory_order_seq_cst) == kRoom) return false;
    slots_[tail % kRoom] = command;
    tail_.store(tail + 1, std::memory_order_release);  // pairs with front()
    return true;
  }
  /// Receiver: the oldest, or null.
  const DeviceCommand* front() const noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);                        // its own
    return head == tail_.load(std::memory_order_acquire) ? nullptr : &slots_[head % kRoom];  // pairs with push()
  }
  /// Receiver: the oldest has been dealt with.
  void pop() noexcept { head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst); }
  /// How many have been popped since the beginning. Any thread.
  std::uint64_t taken() const noexcept { return head_.load(std::memory_order_acquire); }  // pairs with pop()

 private:
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  alignas(64) std::atomic<std::uint64_t> head_{0};
  std::array<DeviceCommand, kRoom> slots_{};
};

/// By the owner.
struct alignas(64) ChannelWord {
  /// The sequence of the last start that is over, and whose stream rests or will never; stored after the rest.
  std::atomic<std::uint64_t> over{0};
  std::uint64_t elapsed_ns = 0;
  std::array<char, 496> failure{};  ///< "": it has worked.
};

/// To the call of the same number.
struct Answer {
  /// A futex; stored after the rest.
  std::atomic<std::uint32_t> call{0};
  Status status = kSuccess;
  std::uint64_t value = 0;
  tca::DeviceRules rules;
  std::array<char, 256> name{};         ///< Of the device; of the status, where it is none that is good.
  std::array<char, 192> status_text{};  ///< In words.
  /// What concerns devices: why not. `code`: see to_wire().
  std::uint64_t code = 0;
  std::array<char, 1024> text{};
};

struct CommandQueue {
  CommandRing commands;
  /// The sender has found the ring full: whoever makes room rings. Dekker's: set before the second look at the ring,
  /// taken after commands have been popped.
  alignas(64) std::atomic<bool> starving{false};
  std::array<ChannelWord, CudaDevice::kChannelsMax> channels;
  alignas(64) Answer answer;
};

/// Of all ranks of the node, by their place there: one for each GPU that a rank may open, and then for the kernels of
/// one program each, which have a stream of their own.
struct CommandQueues {
  static constexpr unsigned kKernelsMax = 8;
  static constexpr std::uint64_t kOfRank = Accelerator::kGpusMax + kKernelsMax;

  std::uint64_t count;
  CommandQueue* queue;
  /// A bit per queue that has commands; set after them, and before the owner's doorbell.
  std::atomic<std::uint64_t>* calling;
  /// By the owner: until then, by the machine's clock, the driver may take for the command under way; 0: none is.
  /// Nobody else's is taken meanwhile.
  std::atomic<std::uint64_t> busy_until_ns{0};
};

}  // namespace coracle::internals::cuda
