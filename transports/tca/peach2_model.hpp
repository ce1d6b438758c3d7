// Peach2Model: how long PEACH2's four DMA controllers take, together.
//
// A controller reads its sources by PCIe read requests, each of which holds one of the chip's tags until its data is
// here; so its rate is tags x request size / round trip. What the controllers read goes out by one link, which they
// share in proportion to their tags when it is full. Sources: the paper's plateaus per channel (IPSJ HPC-156, 2016),
// and a fit of its ping-pong for what is not published; which constant is which stands below and in
// docs/results/tca.md.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace coracle::internals::tca {

struct Peach2Model {
  static constexpr unsigned kChannels = 4;

  /// Tags of each channel: published. 0: the channel is not used.
  std::array<unsigned, kChannels> tags{32, 16, 8, 8};
  /// Bytes per nanosecond of one tag, by channel; published as plateaus of 2.9, 1.3, 0.7 and 0.7 GB/s.
  std::array<double, kChannels> tag_rate{2.9 / 32, 1.3 / 16, 0.7 / 8, 0.7 / 8};
  double link_bytes_per_ns = 3.1;  ///< Of all channels together: fitted.
  std::uint64_t read_bytes = 256;  ///< Of one read request: fitted. A shorter block costs as much as a whole one.
  double start_ns = 1900;          ///< From the doorbell to the first byte: fitted.
  double descriptor_ns = 100;      ///< From one descriptor of a chain to the next: assumed.
  double window_share = 0.9;       ///< Part of the tags' window that is read before it starts to go out: fitted.
  /// From the completion word until the controller has stopped, one controller after the other: fitted to Himeno's
  /// figures, where four channels gain nothing.
  double stop_ns = 680;
  double store_ns = 800;  ///< A store of the processor into a peer's memory (PIO): published.

  /// Two channels of the same tags, which the paper leaves open.
  static Peach2Model two_channels() noexcept {
    Peach2Model model;
    model.tags = {32, 32, 0, 0};
    model.tag_rate[1] = model.tag_rate[0];
    return model;
  }
  unsigned channels() const noexcept;
  /// Of a channel by itself, for blocks of so many bytes.
  double rate(unsigned channel, std::uint64_t block_bytes) const noexcept;
};

/// The four controllers at work, in their own time. It counts bytes and knows no memory.
class ChannelTimes {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  /// One descriptor's share of a channel's work.
  struct Piece {
    std::uint64_t bytes;
    std::uint64_t block_bytes;
  };
  /// Something that a channel has done.
  struct Step {
    enum class What : std::uint8_t { piece, completed, stopped };
    What what;
    unsigned channel;
    std::size_t piece;  // which of them has landed
    double time_ns;
  };

  explicit ChannelTimes(const Peach2Model& model) noexcept : model_(model) {}

  /// At `time_ns`, which is not before any step that was taken; the channel must be stopped. The pieces are copied.
  void start(unsigned channel, std::span<const Piece> pieces, double time_ns);
  bool stopped(unsigned channel) const noexcept { return channels_[channel].phase == Phase::stopped; }
  /// When something happens next, if nothing is started before; kNever: all have stopped, or are stalled.
  double next_ns() const noexcept;
  /// Lets time go on to the next step that there is to tell of, and gives it; or to `until_ns`, and gives nothing.
  std::optional<Step> advance(double until_ns) noexcept;
  /// The channel goes no further, as if its controller hung; or it goes on.
  void stall(unsigned channel, bool stalled) noexcept;
  /// The channel stops where it is.
  void abort(unsigned channel) noexcept;

 private:
  enum class Phase : std::uint8_t { stopped, starting, reading, between, draining, stopping };
  struct Channel {
    Phase phase = Phase::stopped;
    bool stalled = false;
    std::vector<Piece> pieces;
    std::size_t piece = 0;
    double left_bytes = 0;  // of the piece, while reading
    double left_ns = 0;     // in every other phase
    double rate = 0;        // while reading
    double window_ns = 0;   // what of the tags' window is still to go out after the last read
  };

  double left_ns(const Channel& channel) const noexcept;
  void share_link() noexcept;
  void pass(double duration_ns) noexcept;
  void read(unsigned index, std::size_t piece) noexcept;
  std::optional<Step> end_phase(unsigned index) noexcept;

  Peach2Model model_;
  std::array<Channel, Peach2Model::kChannels> channels_;
  double now_ns_ = 0;
  double stops_until_ns_ = 0;  // controllers stop one after the other
};

}  // namespace coracle::internals::tca
