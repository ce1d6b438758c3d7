// Table: a chain of descriptors made ready for a stream: folded once, then started again and again without building
// anything. Or kernels in a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transports/cuda/api.hpp"
#include "transports/tca/dma_device.hpp"

namespace coracle::internals::cuda {

/// A chain of descriptors as few copies as the engines can do: rows of one length at one distance become a 2-D copy,
/// such copies at one distance a 3-D copy.
struct Folded {
  std::vector<Box> boxes;
  /// Whether the boxes may be copied in any order. The `last` never may: it comes after all others.
  bool independent = false;
  /// The last box is a flag: the chain's last descriptor, by itself.
  bool flag = false;
};

/// A last descriptor of at most so many bytes is taken for a flag, by which somebody sees that the others are done.
inline constexpr std::size_t kFlagBytes = 64;

/// Descriptors whose blocks may overlap those of others stay in their order, each by itself. `pitch_max`: the
/// greatest distance of rows that the device can do.
Folded fold(tca::Chain chain, std::size_t pitch_max);

/// How the copies of a table are handed to a stream.
enum class TableWay : std::uint8_t {
  automatic,   ///< By the table's shape, see Table.
  one_by_one,  ///< A call for each.
  batch,       ///< One call for all plain copies (cudaMemcpyBatchAsync); they have no order among each other.
  graph,       ///< One launch; the copies in their order.
};

const char* to_string(TableWay way) noexcept;

/// Where the operands of a copy lie.
struct Ends {
  int source_device = -1;  ///< -1: in host memory.
  int target_device = -1;
  /// Two devices that do not reach each other: the driver has to stage.
  bool staged = false;
};

/// What limits tables here.
struct TableRules {
  std::size_t pitch_max = 0;
  /// A table of fewer copies is handed over one by one.
  std::size_t many = 5;
  /// Plain copies of more bytes gain nothing from a batch.
  std::size_t batch_bytes_max = 1 << 20;
  /// With `automatic`, many copies that can't be a batch become a graph when they are started for this time. 0: never.
  std::uint64_t graph_from_start = 3;
};

/// `automatic`: few copies one by one; many plain ones that are independent as a batch, where CUDA has it; other many
/// ones first one by one, and as a graph when they turn out to be started again. A way that the driver refuses is given
/// up for one by one. The API must outlive it.
class Table {
 public:
  /// `ends`: of the box with the same index. Throws Error where a way that was asked for can't be.
  Table(CudaApi& api, const TableRules& rules, Folded folded, std::vector<Ends> ends, TableWay way);
  /// Of kernels, which are launched in this order, with what their parameters hold by then.
  Table(CudaApi& api, std::vector<Launch> launches) noexcept;
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /// Hands the copies, or kernels, to the stream. Allocates nothing; makes the graph when it is due. After an error
  /// some of them may be under way.
  Status enqueue(Stream stream) noexcept;

  /// The way of the next start.
  TableWay way() const noexcept { return way_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// Calls and copies that a start makes: for predictions.
  std::size_t copies() const noexcept { return boxes_.size() + launches_.size(); }

  /// How long it took, as a moving average; 0 before the first.
  std::uint64_t measured_ns() const noexcept { return measured_ns_; }
  void note_time(std::uint64_t elapsed_ns) noexcept;

 private:
  bool can_batch() const noexcept;
  void collect_batch();
  Status make_graph() noexcept;
  void end_graph() noexcept;
  Status enqueue_box(std::size_t index, Stream stream) noexcept;
  Status enqueue_rows(const Box& box, Stream stream) noexcept;
  Status enqueue_batch(Stream stream) noexcept;
  Status enqueue_all(Stream stream) noexcept;
  Status enqueue_launches(Stream stream) noexcept;

  CudaApi& api_;
  TableRules rules_;
  std::vector<Box> boxes_;
  std::vector<Ends> ends_;
  std::vector<Launch> launches_;  // then there are no boxes
  bool independent_ = false;
  bool flag_ = false;
  TableWay way_ = TableWay::one_by_one;
  bool chosen_here_ = false;  // not by the caller
  bool by_rows_ = false;
  std::uint64_t bytes_ = 0;
  std::uint64_t starts_ = 0;
  std::uint64_t measured_ns_ = 0;
  /// The batch's plain copies, and the boxes besides.
  std::vector<void*> targets_;
  std::vector<const void*> sources_;
  std::vector<std::size_t> sizes_;
  std::vector<std::size_t> others_;
  Graph graph_ = nullptr;
  GraphExec exec_ = nullptr;
};

}  // namespace coracle::internals::cuda
