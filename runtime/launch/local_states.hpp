// LocalStates: the states of a node's ranks, as its launcher finds them out while none of them is reaped.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/mutex.hpp"
#include "runtime/launch/rank_table.hpp"
#include "runtime/launch/stall_watch.hpp"
#include "runtime/launch/wait_collector.hpp"

namespace coracle::internals {

class LocalStates final : public StateSource {
 public:
  /// All outlive it. `reaping`: held while ranks are asked by signals. `is_pointless`: the launcher is ending the job,
  /// or has stopped all ranks itself.
  LocalStates(const JobRegion& region, RankTable& ranks, Mutex& reaping, std::function<bool()> is_pointless,
              std::vector<std::string> programs)
      : ranks_(ranks),
        reaping_(reaping),
        is_pointless_(std::move(is_pointless)),
        collector_(region, std::move(programs)) {}

  Task<std::vector<insight::RankState>> look() override;
  Task<std::vector<insight::RankState>> locate(std::vector<std::uint32_t> wanted) override;
  void forget_times() override { collector_.forget_times(); }

 private:
  RankTable& ranks_;
  Mutex& reaping_;
  const std::function<bool()> is_pointless_;
  WaitCollector collector_;
};

}  // namespace coracle::internals
