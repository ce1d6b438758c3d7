// Regular samples: a part is at most a sample's step per run away from its size.
#include "apps/oocsort/splitters.hpp"

#include <algorithm>
#include <utility>

#include "runtime/core/assert.hpp"

namespace coracle::oocsort {

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
