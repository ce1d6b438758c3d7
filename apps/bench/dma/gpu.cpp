// What is measured on a GPU, and the tables of it.
#include "apps/bench/dma/gpu.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "apps/bench/benchmark.hpp"
#include "apps/bench/measure/batches.hpp"
#include "apps/common/units.hpp"
#include "runtime/core/error.hpp"
#include "transports/cuda/failure.hpp"

namespace coracle::internals::bench {
namespace {

using cuda::CopyEngine;
using cuda::TableWay;
using tca::Descriptor;

constexpr int kLearningCopies = 24;  // more than any pattern needs

Contest::Batch copies_of(CopyEngine& engine, const Descriptor& what) {
  return repeated([&engine, what] { return engine.copy(what); });
}

Contest::PlainBatch plain_copies(GpuGround& ground, GpuRoute route, std::uint64_t bytes) {
  return plainly([&ground, route, bytes] { ground.copy_plainly(route, bytes); });
}

const char* word_of(GpuRoute route) noexcept {
  switch (route) {
    case GpuRoute::to_device:
      return "to device";
    case GpuRoute::to_host:
      return "to host";
    case GpuRoute::within:
      return "within";
    default:
      return "between";
  }
}

/// Bytes from the first to behind the last of the target.
std::uint64_t reach_of(const Descriptor& what) noexcept {
  return static_cast<std::uint64_t>(what.target_block(what.count - 1) - what.target) + what.block_bytes;
}

/// One copy of poisoned bytes, looked at. Gives the number of streams that it took.
Task<std::uint64_t> verified(GpuGround& ground, GpuRoute route, std::size_t engine, Descriptor what, std::string name) {
  const std::uint64_t before = ground.engine(engine).engine().counts().doorbells;
  const std::uint64_t bytes = reach_of(what) + GpuGround::kGuardBytes;
  ground.poison(route, bytes);
  co_await ground.engine(engine).copy(what);
  ground.verify(route, tca::Chain(&what, 1), bytes, name);
  co_return ground.engine(engine).engine().counts().doorbells - before;
}

/// Every engine copies `what` until it has learned how to split it.
Task<> learn(GpuGround& ground, Descriptor what) {
  for (std::size_t i = 0; i < ground.engines(); ++i) co_await copies_of(ground.engine(i), what)(kLearningCopies);
}

Task<> measure_bandwidth(GpuGround& ground, GpuRoute route, std::uint64_t bytes, Report& report) {
  const Descriptor what{ground.source(route), ground.target(route), bytes};
  co_await learn(ground, what);
  Contest contest(ground.plan().plan);
  for (std::size_t i = 0; i < ground.engines(); ++i) contest.add(copies_of(ground.engine(i), what));
  const std::size_t plain = contest.add_plain(plain_copies(ground, route, bytes));
  const std::uint64_t large = ground.plan().large_bytes;
  const std::size_t limit = contest.add_plain(plain_copies(ground, route, large));
  co_await contest.run();
  const double best_rate = static_cast<double>(large) / contest.figure(limit).min;
  const auto size = static_cast<double>(bytes);
  for (std::size_t i = 0; i < ground.engines(); ++i) {
    std::string name = fmt::format("{}, {}", size_text(bytes), ground.streams_text(i));
    const std::uint64_t used = co_await verified(ground, route, i, what, name);
    Row row{std::move(name), "ns", contest.figure(i), "", exactly(size / best_rate), size, {}};
    row.limit_name = fmt::format("{} in one plain copy, the best of all", size_text(large));
    row.others = {{"a plain copy of that size", contest.figure(plain)}};
    row.details = {{"figure", "bandwidth"}, {"route", word_of(route)},
                   {"bytes", bytes},        {"streams", ground.plan().channels[i]},
                   {"streams used", used},  {"plain", contest.figure(plain).median}};
    report.add("GPU: copies, " + ground.text_of(route), std::move(row));
  }
}

Task<> measure_latency(GpuGround& ground, GpuRoute route, std::uint64_t bytes, Report& report) {
  const Descriptor what{ground.source(route), ground.target(route), bytes};
  co_await copies_of(ground.engine(0), what)(kLearningCopies);
  Contest contest(ground.plan().plan);
  const std::size_t own = contest.add(copies_of(ground.engine(0), what));
  const std::size_t plain = contest.add_plain(plain_copies(ground, route, bytes));
  const std::size_t asking = contest.add_plain(plainly([&] { ground.copy_asking(route, bytes); }));
  co_await contest.run();
  const auto size = static_cast<double>(bytes);
  Row row{size_text(bytes),
          "ns",
          contest.figure(own),
          "cudaMemcpyAsync and cudaStreamSynchronize",
          contest.figure(plain),
          size,
          {}};
  static_cast<void>(co_await verified(ground, route, 0, what, row.name));
  row.others = {{"and cudaStreamQuery", contest.figure(asking)}};
  row.details = {{"figure", "latency"}, {"route", word_of(route)}, {"bytes", bytes}};
  report.add("GPU: one copy at a time, from its start until its end is seen, " + ground.text_of(route), std::move(row));
}

/// Rows at twice their length, by the hardware's 2-D copies.
Task<> measure_rows(GpuGround& ground, GpuRoute route, std::uint64_t width, Report& report) {
  const std::uint64_t bytes = ground.plan().strided_bytes;
  const auto pitch = static_cast<std::int64_t>(2 * width);
  const Descriptor what{ground.source(route), ground.target(route), width, bytes / width, pitch, pitch};
  co_await learn(ground, what);
  Contest contest(ground.plan().plan);
  for (std::size_t i = 0; i < ground.engines(); ++i) contest.add(copies_of(ground.engine(i), what));
  const std::size_t plain = contest.add_plain(plain_copies(ground, route, bytes));
  co_await contest.run();
  const auto size = static_cast<double>(bytes);
  for (std::size_t i = 0; i < ground.engines(); ++i) {
    std::string name = fmt::format("{} rows of {}, {}", what.count, size_text(width), ground.streams_text(i));
    const std::uint64_t used = co_await verified(ground, route, i, what, name);
    Row row{std::move(name), "ns", contest.figure(i), "a plain copy of as many bytes", contest.figure(plain), size, {}};
    row.details = {{"figure", "rows"}, {"route", word_of(route)},
                   {"width", width},   {"streams", ground.plan().channels[i]},
                   {"bytes", bytes},   {"streams used", used}};
    report.add("GPU: rows at twice their length, " + ground.text_of(route), std::move(row));
  }
}

/// A table that lives as long as this, on the engine of one stream.
class LoadedTable {
 public:
  LoadedTable(CopyEngine& engine, tca::Chain chain, TableWay way)
      : engine_(engine), way_(way), id_(engine.device().load(chain, way)) {}
  ~LoadedTable() { engine_.device().unload(id_); }
  LoadedTable(const LoadedTable&) = delete;
  LoadedTable& operator=(const LoadedTable&) = delete;

  TableWay way() const noexcept { return way_; }
  tca::TableId id() const noexcept { return id_; }

 private:
  CopyEngine& engine_;
  TableWay way_;
  tca::TableId id_;
};

/// Started until it has its final form. Null, and why, where this way can't be.
Task<std::unique_ptr<LoadedTable>> ready_table(CopyEngine& engine, tca::Chain chain, TableWay way,
                                               std::string& refusal) {
  std::unique_ptr<LoadedTable> table;
  try {
    table = std::make_unique<LoadedTable>(engine, chain, way);
    for (int times = 0; times < 4; ++times) co_await engine.start(table->id());
  } catch (const Error& error) {
    if (way == TableWay::automatic) throw;  // what load() chooses by itself must work
    refusal = error.what();
    table.reset();
  }
  co_return table;
}

/// Tables of `count` blocks, by each way that this driver has.
Task<> measure_chains(GpuGround& ground, GpuRoute route, std::size_t count, std::uint64_t block, Report& report) {
  const std::vector<Descriptor> chain = ground.irregular_chain(route, count, block);
  const std::uint64_t reach = chain_reach(count, block) + GpuGround::kGuardBytes;
  const auto size = static_cast<double>(count * block);
  Row row{fmt::format("{} copies of {}", count, size_text(block)), "ns", {}, "", {}, size, {}};
  row.details = {{"figure", "chains"}, {"route", word_of(route)}, {"copies", count}, {"block", block}};
  Contest contest(ground.plan().plan);
  CopyEngine& engine = ground.engine(0);
  std::vector<std::unique_ptr<LoadedTable>> tables;
  for (const TableWay way : {TableWay::automatic, TableWay::one_by_one, TableWay::batch, TableWay::graph}) {
    std::string refusal;
    auto table = co_await ready_table(engine, chain, way, refusal);
    if (table == nullptr) {
      row.details["refused"][to_string(way)] = refusal;
      continue;
    }
    ground.poison(route, reach);
    co_await engine.start(table->id());
    ground.verify(route, chain, reach, fmt::format("{}, {}", row.name, to_string(way)));
    contest.add(repeated([&engine, id = table->id()] { return engine.start(id); }));
    tables.push_back(std::move(table));
  }
  const std::size_t plain = contest.add_plain(plain_copies(ground, route, count * block));
  co_await contest.run();
  row.value = contest.figure(0);
  row.limit_name = "a plain copy of as many bytes";
  row.limit = contest.figure(plain);
  for (std::size_t i = 1; i < tables.size(); ++i)
    row.others.push_back({to_string(tables[i]->way()), contest.figure(i)});
  row.details["automatic is"] = to_string(engine.device().way_of(tables.front()->id()));
  report.add("GPU: tables of scattered blocks on one stream, as load() chooses, " + ground.text_of(route),
             std::move(row));
}

Task<> measure(GpuGround& ground, Report& report) {
  const GpuPlan& plan = ground.plan();
  for (const GpuRoute route : ground.routes()) {
    for (const std::uint64_t bytes : plan.sizes) co_await measure_bandwidth(ground, route, bytes, report);
    for (const std::uint64_t bytes : plan.latency_sizes) co_await measure_latency(ground, route, bytes, report);
    for (const std::uint64_t width : plan.widths) co_await measure_rows(ground, route, width, report);
    for (const std::size_t count : plan.chain_lengths)
      for (const std::uint64_t block : plan.chain_blocks) co_await measure_chains(ground, route, count, block, report);
  }
}

}  // namespace

std::optional<int> gpu_device(const std::string& word) {
  if (word == "peach2") return std::nullopt;
  if (const auto device = parse_gpu(word, 0)) return device;
  wrong(fmt::format("--device {}: must be peach2 (its model), cuda or cuda:N (`coracle info` lists GPUs)", word));
}

Report measure_gpu(cuda::CudaApi& api, const GpuPlan& plan) {
  EventLoop loop;
  GpuGround ground(loop, api, plan);
  Report report;
  try {
    loop.run(measure(ground, report));
  } catch (...) {
    ground.abandon();
    throw;
  }
  return report;
}

Report measure_real_gpu(int device, bool quick) {
  const cuda::Support support = cuda::probe();
  if (!support.available)
    throw Error(Errc::unsupported, fmt::format("bench dma --device cuda: no GPU can be used: {}; remedy: {}",
                                               support.detail, support.remedy));
  const std::unique_ptr<cuda::CudaApi> api = cuda::real_api();
  return measure_gpu(*api, gpu_plan(device, quick));
}

}  // namespace coracle::internals::bench
