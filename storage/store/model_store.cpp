// The store that is only timed.
#include "storage/store/page_store.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "runtime/core/event.hpp"
#include "runtime/core/event_loop.hpp"
#include "storage/options/paged_options.hpp"

namespace coracle::internals::storage {
namespace {

class ModelStore final : public PageStore {
 public:
  ModelStore(EventLoop& loop, const SsdModel& model, const StoreShape& shape)
      : loop_(loop), model_(model), shape_(shape) {}

  const StoreShape& shape() const noexcept override { return shape_; }
  const std::string& path() const noexcept override { return path_; }
  bool direct() const noexcept override { return true; }
  bool empty(std::uint64_t page) const noexcept override { return pages_.find(page) == pages_.end(); }

  Task<> read(std::uint64_t page, std::span<std::byte> target) override {
    // Also of pages that were never written: experiments need not fill their segments first.
    co_await serve(model_.read_bytes_per_s, target.size());
    const auto found = pages_.find(page);
    if (found == pages_.end())
      std::memset(target.data(), 0, target.size());
    else
      std::memcpy(target.data(), found->second.data(), target.size());
  }
  Task<> write(std::uint64_t page, std::span<const std::byte> source) override {
    co_await serve(model_.write_bytes_per_s, source.size());
    pages_[page].assign(source.begin(), source.end());
  }
  Task<> flush() override { co_await serve(model_.write_bytes_per_s, 0); }

  std::vector<CheckpointInfo> checkpoints() const override { return checkpoints_; }
  Task<> checkpoint(std::string name, std::uint64_t epoch) override {
    check_checkpoint_name(name);
    co_await serve(model_.write_bytes_per_s, 0);
    if (checkpoints_.size() == 2) checkpoints_.pop_back();
    checkpoints_.push_back({std::move(name), epoch});
  }
  Task<> go_back(std::uint64_t) override { co_return; }
  void confirm(std::uint64_t epoch) noexcept override {
    std::erase_if(checkpoints_, [epoch](const CheckpointInfo& each) { return each.epoch < epoch; });
  }
  Task<> close() override { co_return; }

 private:
  Task<> serve(double bytes_per_s, std::size_t bytes) {
    const std::uint64_t now = loop_.exact_now_ns();
    const double busy_ns = static_cast<double>(bytes) / bytes_per_s * 1e9;
    free_at_ns_ = std::max(free_at_ns_, now) + static_cast<std::uint64_t>(busy_ns);
    co_await sleep_for(std::chrono::nanoseconds(free_at_ns_ + model_.latency_ns - now));
  }

  EventLoop& loop_;
  SsdModel model_;
  StoreShape shape_;
  std::string path_ = "the modelled SSD";
  std::unordered_map<std::uint64_t, std::vector<std::byte>> pages_;
  std::vector<CheckpointInfo> checkpoints_;
  std::uint64_t free_at_ns_ = 0;
};

}  // namespace

std::unique_ptr<PageStore> make_model_store(EventLoop& loop, const SsdModel& model, const StoreShape& shape) {
  return std::make_unique<ModelStore>(loop, model, shape);
}

}  // namespace coracle::internals::storage
