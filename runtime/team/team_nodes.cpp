// Sorting members by nodes.
#include "runtime/team/team_nodes.hpp"

#include <algorithm>
#include <map>

#include "runtime/job/job.hpp"

namespace coracle::internals {

TeamNodes::TeamNodes(const JobRegion& region, std::uint32_t rank) noexcept
    : region_(region), count_(region.shape().nodes), own_(region.node_of(rank)) {
  for (std::uint32_t node = 0; node < count_; ++node) largest_ = std::max(largest_, region.ranks_of(node));
}

TeamNodes::TeamNodes(const JobRegion& region, const std::vector<std::uint32_t>& members, std::uint32_t index)
    : region_(region), node_of_(members.size()), local_index_of_(members.size()), order_(members.size()) {
  std::map<std::uint32_t, std::uint32_t> numbers;  // by the job's node
  std::vector<std::uint32_t> sizes;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto [entry, is_new] = numbers.try_emplace(region.node_of(members[i]), count_);
    if (is_new) {
      ++count_;
      sizes.push_back(0);
    }
    if (i > 0 && node_of_[i - 1] != entry->second && !is_new) contiguous_ = false;
    node_of_[i] = entry->second;
    local_index_of_[i] = sizes[entry->second]++;
  }
  largest_ = *std::max_element(sizes.begin(), sizes.end());
  starts_.push_back(0);
  for (const std::uint32_t size : sizes) starts_.push_back(starts_.back() + size);
  for (std::uint32_t i = 0; i < members.size(); ++i) order_[starts_[node_of_[i]] + local_index_of_[i]] = i;
  own_ = node_of_[index];
}

std::uint32_t TeamNodes::size_of(std::uint32_t node) const noexcept {
  return starts_.empty() ? region_.ranks_of(node) : starts_[node + 1] - starts_[node];
}

std::uint32_t TeamNodes::member(std::uint32_t node, std::uint32_t local_index) const noexcept {
  return starts_.empty() ? region_.first_rank_of(node) + local_index : order_[starts_[node] + local_index];
}

std::uint32_t TeamNodes::node_of(std::uint32_t index) const noexcept {
  return starts_.empty() ? region_.node_of(index) : node_of_[index];
}

std::uint32_t TeamNodes::local_index_of(std::uint32_t index) const noexcept {
  return starts_.empty() ? index - region_.first_rank_of(region_.node_of(index)) : local_index_of_[index];
}

}  // namespace coracle::internals
