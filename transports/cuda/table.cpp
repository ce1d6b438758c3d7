#include "transports/cuda/table.hpp"

#include <algorithm>
#include <utility>

#include "runtime/core/error.hpp"
#include "transports/cuda/failure.hpp"

namespace coracle::internals::cuda {

const char* to_string(TableWay way) noexcept {
  switch (way) {
    case TableWay::automatic:
      return "automatic";
    case TableWay::one_by_one:
      return "one by one";
    case TableWay::batch:
      return "batch";
    case TableWay::graph:
      return "graph";
  }
  return "?";
}

Table::Table(CudaApi& api, const TableRules& rules, Folded folded, std::vector<Ends> ends, TableWay way)
    : api_(api),
      rules_(rules),
      boxes_(std::move(folded.boxes)),
      ends_(std::move(ends)),
      independent_(folded.independent),
      flag_(folded.flag),
      way_(way),
      chosen_here_(way == TableWay::automatic) {
  for (const Box& box : boxes_) bytes_ += box.bytes();
  const bool staged = std::any_of(ends_.begin(), ends_.end(), [](const Ends& each) { return each.staged; });
  if (way == TableWay::batch && !independent_)
    throw Error(Errc::bad_input, "a table whose copies overlap can't be a batch, which has no order");
  if (way == TableWay::graph && staged)
    throw Error(Errc::unsupported, "a table between devices that do not reach each other can't be a graph");
  if (chosen_here_) {
    way_ = boxes_.size() >= rules_.many && can_batch() ? TableWay::batch : TableWay::one_by_one;
    if (boxes_.size() < rules_.many || staged) rules_.graph_from_start = 0;
  }
  if (way_ == TableWay::batch) collect_batch();
  if (way_ != TableWay::graph) return;
  const Status status = make_graph();
  if (status != kSuccess) throw_status(api, status, "cuda: making a graph of a table");
}

Table::Table(CudaApi& api, std::vector<Launch> launches) noexcept : api_(api), launches_(std::move(launches)) {}

Table::~Table() {
  end_graph();
}

void Table::note_time(std::uint64_t elapsed_ns) noexcept {
  measured_ns_ = measured_ns_ == 0 ? elapsed_ns : (3 * measured_ns_ + elapsed_ns) / 4;
}

/// Most boxes are plain, small enough, and reached by the driver alone.
bool Table::can_batch() const noexcept {
  if (!independent_) return false;
  std::size_t plain = 0;
  for (std::size_t i = 0; i < boxes_.size(); ++i)
    if (boxes_[i].contiguous() && !ends_[i].staged && boxes_[i].width <= rules_.batch_bytes_max) ++plain;
  return plain >= rules_.many;
}

void Table::collect_batch() {
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    const Box& box = boxes_[i];
    if (!box.contiguous() || ends_[i].staged || (flag_ && i + 1 == boxes_.size())) {
      others_.push_back(i);
      continue;
    }
    targets_.push_back(box.target);
    sources_.push_back(box.source);
    sizes_.push_back(box.width);
  }
}

/// In order: a straight line of nodes.
Status Table::make_graph() noexcept {
  Status status = api_.create_graph(graph_);
  GraphNode node = nullptr;
  for (std::size_t i = 0; status == kSuccess && i < boxes_.size(); ++i) status = api_.add_copy(graph_, node, boxes_[i]);
  if (status == kSuccess) status = api_.instantiate(exec_, graph_);
  if (status != kSuccess) end_graph();
  return status;
}

void Table::end_graph() noexcept {
  // After an error of the device these fail too; the objects went with the device.
  if (exec_ != nullptr) (void)api_.destroy_exec(std::exchange(exec_, nullptr));
  if (graph_ != nullptr) (void)api_.destroy_graph(std::exchange(graph_, nullptr));
}

Status Table::enqueue_rows(const Box& box, Stream stream) noexcept {
  for (std::size_t slice = 0; slice < box.slices; ++slice)
    for (std::size_t row = 0; row < box.rows; ++row) {
      const Status status = api_.copy(box.target_row(row, slice), box.source_row(row, slice), box.width, stream);
      if (status != kSuccess) return status;
    }
  return kSuccess;
}

Status Table::enqueue_box(std::size_t index, Stream stream) noexcept {
  const Box& box = boxes_[index];
  const Ends& ends = ends_[index];
  if (ends.staged) return api_.copy_peer(box, ends.source_device, ends.target_device, stream);
  if (box.contiguous()) return api_.copy(box.target, box.source, box.width, stream);
  if (by_rows_) return enqueue_rows(box, stream);
  // Within devices the 2-D call may refuse pitches that the device's allocator did not choose.
  const bool within = ends.source_device >= 0 && ends.target_device >= 0;
  const Status status = box.slices == 1 && !within ? api_.copy_2d(box, stream) : api_.copy_3d(box, stream);
  if (status != kInvalidPitch && status != kInvalidValue) return status;
  by_rows_ = true;
  return enqueue_rows(box, stream);
}

/// The flag's box, if there is one, is the last of the others.
Status Table::enqueue_batch(Stream stream) noexcept {
  const std::size_t after = flag_ ? 1 : 0;
  for (std::size_t i = 0; i + after < others_.size(); ++i)
    if (const Status status = enqueue_box(others_[i], stream); status != kSuccess) return status;
  if (!targets_.empty()) {
    const Batch batch{targets_.data(), sources_.data(), sizes_.data(), targets_.size()};
    if (const Status status = api_.copy_batch(batch, stream); status != kSuccess) return status;
  }
  return flag_ ? enqueue_box(others_.back(), stream) : Status{kSuccess};
}

Status Table::enqueue_all(Stream stream) noexcept {
  for (std::size_t i = 0; i < boxes_.size(); ++i)
    if (const Status status = enqueue_box(i, stream); status != kSuccess) return status;
  return kSuccess;
}

Status Table::enqueue_launches(Stream stream) noexcept {
  for (const Launch& launch : launches_)
    if (const Status status = api_.launch_kernel(launch, stream); status != kSuccess) return status;
  return kSuccess;
}

Status Table::enqueue(Stream stream) noexcept {
  ++starts_;
  if (!launches_.empty()) return enqueue_launches(stream);
  if (chosen_here_ && way_ == TableWay::one_by_one && rules_.graph_from_start != 0 &&
      starts_ >= rules_.graph_from_start) {
    rules_.graph_from_start = 0;  // once: a graph that is refused stays refused
    if (make_graph() == kSuccess) way_ = TableWay::graph;
  }
  switch (way_) {
    case TableWay::graph:
      return api_.launch(exec_, stream);
    case TableWay::batch: {
      const Status status = enqueue_batch(stream);
      if (status != kNotSupported || !chosen_here_) return status;
      way_ = TableWay::one_by_one;  // an old driver; what was copied already is copied once more
      return enqueue_all(stream);
    }
    default:
      return enqueue_all(stream);
  }
}

}  // namespace coracle::internals::cuda
