// The number of runs decides how much of each can be read at a time, and with that the pages. Samples are regular: a
// part is at most a sample's step per run away from its size.
#include "apps/oocsort/plan.hpp"

#include <fmt/format.h>
#include <coracle/error.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "runtime/core/assert.hpp"

namespace coracle::oocsort {
namespace {

constexpr std::uint64_t kPageMin = 4096;
constexpr std::uint64_t kPageMax = 1 << 20;
constexpr std::uint64_t kCachePagesMin = 16;
constexpr std::uint64_t kSampleBytes = 64 << 10;

std::uint64_t round_up(std::uint64_t value, std::uint64_t step) noexcept {
  return (value + step - 1) / step * step;
}

std::uint64_t piece_bytes(const Plan& plan) noexcept {
  return std::max<std::uint64_t>(plan.page_bytes, plan.shape.bytes);
}

void check_memory(const Plan& plan, std::uint64_t runs, std::uint64_t memory) {
  if (2 * runs * piece_bytes(plan) <= memory / 2 && plan.page_bytes * kCachePagesMin <= plan.cache_bytes) return;
  // Twice the memory halves the runs and doubles what there is for them.
  const double lacking = 4.0 * static_cast<double>(runs * piece_bytes(plan)) / static_cast<double>(memory);
  const double enough = std::max(static_cast<double>(memory) * std::sqrt(lacking) * 1.1,
                                 static_cast<double>(4 * kCachePagesMin * plan.page_bytes));
  throw Error(Errc::bad_input,
              fmt::format("{} runs can't be merged through pages of {} bytes in --memory {}; allow {:.0f}M or more",
                          runs, plan.page_bytes, memory, std::ceil(enough * 0x1p-20)));
}

}  // namespace

std::uint64_t Plan::runs_of(std::uint32_t rank) const noexcept {
  return (first_of(rank + 1) - first_of(rank) + run_records - 1) / run_records;
}

std::uint64_t Plan::first_run_of(std::uint32_t rank) const noexcept {
  std::uint64_t first = 0;
  for (std::uint32_t before = 0; before < rank; ++before) first += runs_of(before);
  return first;
}

Plan make_plan(RecordShape shape, std::uint64_t records, std::uint32_t ranks, std::uint64_t memory,
               std::uint64_t page_bytes) {
  Plan plan;
  plan.shape = shape;
  plan.records = records;
  plan.ranks = ranks;
  plan.cache_bytes = memory / 4;
  plan.run_records = std::max<std::uint64_t>(1, memory / 16 * 5 / shape.bytes);
  const std::uint64_t runs = plan.first_run_of(ranks);
  const std::uint64_t fitting = std::bit_floor(memory / 4 / std::max<std::uint64_t>(runs, kCachePagesMin));
  plan.page_bytes = page_bytes > 0 ? page_bytes : std::clamp(fitting, kPageMin, kPageMax);
  check_memory(plan, runs, memory);
  plan.write_bytes = std::clamp<std::uint64_t>(std::bit_floor(memory / 32), plan.page_bytes, 1 << 20);
  plan.piece_records = piece_bytes(plan) / shape.bytes;
  const std::uint64_t few = std::max<std::uint64_t>(64, kSampleBytes / shape.bytes);
  plan.sample_step = std::max(few, records * 8 / memory * shape.key_bytes);

  const std::uint64_t run_bytes = round_up(plan.run_records * shape.bytes, plan.page_bytes);
  std::uint64_t runs_max = 1;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) runs_max = std::max(runs_max, plan.runs_of(rank));
  const std::uint64_t longest = std::min(plan.run_records, (records + ranks - 1) / ranks) * shape.bytes;
  plan.region_bytes =
      runs_max == 1 ? std::max(plan.page_bytes, round_up(longest, plan.page_bytes)) : runs_max * run_bytes;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::uint64_t left = plan.first_of(rank + 1) - plan.first_of(rank);
    for (std::uint64_t offset = rank * plan.region_bytes; left > 0; offset += run_bytes) {
      plan.runs.push_back({offset, std::min(left, plan.run_records)});
      left -= plan.runs.back().records;
    }
  }
  return plan;
}

Samples::Samples(const Plan& plan, std::vector<std::byte> keys) : plan_(plan), keys_(std::move(keys)), first_{0} {
  const std::size_t key_bytes = plan.shape.key_bytes;
  for (const Run& run : plan.runs) first_.push_back(first_.back() + count_of(plan, run));
  CORACLE_ASSERT(keys_.size() == first_.back() * key_bytes, "{} bytes for {} keys", keys_.size(), first_.back());
  sorted_.reserve(first_.back());
  for (std::uint64_t run = 0; run < plan.runs.size(); ++run) {
    for (std::uint64_t sample = first_[run]; sample < first_[run + 1]; ++sample)
      sorted_.push_back({run, (sample - first_[run]) * plan.sample_step, keys_.data() + sample * key_bytes});
  }
  // They come by run and place, which a stable sort keeps.
  std::ranges::stable_sort(
      sorted_, [&plan](const Place& one, const Place& other) { return plan.shape.compare(one.key, other.key) < 0; });
}

Splitter Samples::splitter(std::uint32_t part, std::uint32_t parts) const {
  const Place& place = sorted_[sorted_.size() * part / parts];
  return {{place.key, place.key + plan_.shape.key_bytes}, place.run, place.record};
}

Bounds Samples::bounds(const Splitter& splitter, std::uint64_t run) const {
  if (run == splitter.run) return {splitter.record, splitter.record};
  std::uint64_t low = first_[run];  // the first sample that does not come before it
  for (std::uint64_t high = first_[run + 1]; low < high;) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (comes_before(plan_.shape, keys_.data() + middle * plan_.shape.key_bytes, run, splitter))
      low = middle + 1;
    else
      high = middle;
  }
  const std::uint64_t samples = low - first_[run];
  if (samples == 0) return {0, 0};
  return {(samples - 1) * plan_.sample_step + 1, std::min(samples * plan_.sample_step, plan_.runs[run].records)};
}

bool comes_before(const RecordShape& shape, const std::byte* key, std::uint64_t run, const Splitter& splitter) {
  const int order = shape.compare(key, splitter.key.data());
  return order != 0 ? order < 0 : run < splitter.run;
}

}  // namespace coracle::oocsort
