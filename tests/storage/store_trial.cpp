#include "tests/storage/store_trial.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "storage/store/aligned_buffer.hpp"

namespace coracle::internals::test {
namespace {

using storage::AlignedBuffer;
using storage::PageStore;

void fill(std::span<std::byte> bytes, std::uint64_t number) {
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::uint64_t word = number + i * 0x9e3779b97f4a7c15;
    std::memcpy(bytes.data() + i, &word, 8);
  }
}

constexpr std::uint64_t kTorn = ~std::uint64_t{0};

}  // namespace

StoreTrial::StoreTrial(std::uint64_t seed, TrialPlan plan)
    : random_(seed), plan_(plan), path_(folder_.file("home.0")), disk_(seed + 1) {
  constexpr std::uint64_t kPages[] = {3, 20, 60, 600};
  shape_.page_bytes = 4096;
  shape_.pages = kPages[std::min<std::uint64_t>(random_() % 16 / 4, 3)];
  if (shape_.pages == 600 && random_() % 4 != 0) shape_.pages = 30;
  pages_.resize(shape_.pages);
  loop_.add_poller(disk_);
}

void StoreTrial::wrong(const std::string& what) {
  if (wrong_.empty()) wrong_ = what;
}

std::string StoreTrial::run() {
  loop_.run(create());
  const std::uint64_t lives = 2 + random_() % 5;
  for (std::uint64_t life = 0; life < lives && wrong_.empty(); ++life) {
    broken_ = false;
    disk_.faults = plan_.faults;
    if (plan_.crashes) disk_.crash_after = 1 + random_() % (random_() % 2 == 0 ? 30 : 40 * shape_.pages);
    loop_.run(live());
    store_.reset();
    if (disk_.crashed()) {
      ++crashes_;
      disk_.power_on(path_);
    }
    disk_.faults = {};
    disk_.crash_after = 0;
    loop_.run(after());
  }
  if (store_) loop_.run(store_->close());
  store_.reset();
  loop_.remove_poller(disk_);
  return wrong_;
}

Task<> StoreTrial::create() {
  store_ = co_await PageStore::create(disk_, path_, shape_);
}

Task<> StoreTrial::live() {
  const std::uint64_t phases = 1 + random_() % 12;
  for (std::uint64_t i = 0; i < phases && !over(); ++i) {
    PromiseBase& self = co_await this_coroutine();
    Scope scope(self.loop(), &self.scope());
    scope.spawn(phase(scope));
    const auto error = co_await join_quietly(scope);
    if (error) wrong("a phase ended with an error that nobody expected");
    if (!over() && random_() % 2 == 0) co_await checkpoint();
  }
  co_await store_->close();
}

Task<> StoreTrial::phase(Scope& scope) {
  constexpr std::uint64_t kWriters = 3;
  for (std::uint64_t i = 0; i < kWriters; ++i) scope.spawn(writer(i, kWriters));
  for (std::uint64_t i = random_() % 3; i > 0; --i) scope.spawn(flusher());
  co_return;
}

Task<> StoreTrial::writer(std::uint64_t first, std::uint64_t step) {
  if (first >= shape_.pages) co_return;
  const std::uint64_t own = (shape_.pages - first + step - 1) / step;
  for (std::uint64_t i = random_() % (2 * own); i > 0 && !over(); --i) {
    const std::uint64_t page = first + random_() % own * step;
    co_await write_page(page);
    if (random_() % 4 == 0 && !over()) co_await expect_present(page);
  }
}

Task<> StoreTrial::write_page(std::uint64_t page) {
  AlignedBuffer buffer(shape_.page_bytes);
  const std::uint64_t number = next_number_++;
  fill(buffer.span(), number);
  // Known before it is there: a crash may bring it back as soon as a flush has it.
  pages_[page].numbers.push_back(number);
  const auto result = co_await as_result(store_->write(page, buffer.span()));
  if (result) {
    pages_[page].present = pages_[page].numbers.size() - 1;
  } else {
    pages_[page].numbers.pop_back();
  }
}

/// After success and failure alike: the page is the one that was written last with success.
Task<> StoreTrial::expect_present(std::uint64_t page) {
  AlignedBuffer buffer(shape_.page_bytes);
  const std::uint64_t number = pages_[page].numbers[pages_[page].present];
  const auto result = co_await as_result(store_->read(page, buffer.span()));
  if (!result) {
    if (result.error().code() == Errc::page_damaged && disk_.faults.bit_flip == 0 && !disk_.crashed())
      wrong(fmt::format("page {} is damaged while the store is open", page));
    co_return;
  }
  AlignedBuffer wanted(shape_.page_bytes);
  if (number != 0) fill(wanted.span(), number);
  if (std::memcmp(buffer.data(), wanted.data(), buffer.size()) != 0)
    wrong(fmt::format("page {} is not what was written last", page));
}

Task<> StoreTrial::flusher() {
  for (std::uint64_t i = random_() % 5; i > 0 && !over(); --i) {
    for (std::uint64_t turns = random_() % 20; turns > 0; --turns) co_await turn();
    if (over()) co_return;
    co_await flush_once();
  }
}

Task<> StoreTrial::flush_once() {
  std::vector<std::size_t> written;
  for (const PageModel& each : pages_) written.push_back(each.present);
  if (plan_.cancels && random_() % 3 == 0) {
    co_await cancelled_soon(store_->flush());
    co_return;
  }
  const auto result = co_await as_result(store_->flush());
  if (result) {
    for (std::size_t page = 0; page < pages_.size(); ++page)
      pages_[page].floor = std::max(pages_[page].floor, written[page]);
  } else if (disk_.faults.sync_error > 0 && result.error().code() == std::errc::io_error) {
    broken_ = random_() % 2 == 0;
  }
}

Task<> StoreTrial::cancelled_soon(Task<> task) {
  PromiseBase& self = co_await this_coroutine();
  Scope scope(self.loop(), &self.scope());
  scope.spawn(std::move(task));
  for (std::uint64_t turns = random_() % 12; turns > 0; --turns) co_await turn();
  scope.cancel();
  co_await join_quietly(scope);
}

Task<> StoreTrial::checkpoint() {
  const std::uint64_t epoch = ++epoch_;
  Numbers numbers;
  for (const PageModel& each : pages_) numbers.push_back(each.numbers[each.present]);
  whole_[epoch] = numbers;
  if (plan_.cancels && random_() % 3 == 0) {
    co_await cancelled_soon(store_->checkpoint("cancelled", epoch));
    remember(store_->checkpoints());
    co_return;
  }
  const auto result = co_await as_result(store_->checkpoint(fmt::format("number {}", epoch), epoch));
  if (!result) {
    remember(store_->checkpoints());  // it may be there all the same
    co_return;
  }
  // It has taken the place of the newer one of two, and never that of the older one.
  std::vector<std::uint64_t> wanted = kept_;
  if (wanted.size() == 2) wanted.pop_back();
  wanted.push_back(epoch);
  remember(store_->checkpoints());
  if (kept_ != wanted)
    wrong(fmt::format("after checkpoint {}, checkpoints {} are listed", epoch, fmt::join(kept_, " ")));
  for (PageModel& each : pages_) each.floor = each.present;
  if (random_() % 2 == 0) store_->confirm(kept_[random_() % kept_.size()]);
  remember(store_->checkpoints());
}

void StoreTrial::remember(const std::vector<storage::CheckpointInfo>& listed) {
  kept_.clear();
  for (const storage::CheckpointInfo& each : listed) kept_.push_back(each.epoch);
}

Task<> StoreTrial::after() {
  const storage::StoreReport report = co_await storage::check_store(disk_, path_);
  for (const storage::StoreFault& fault : report.faults)
    wrong(fmt::format("the check finds: page {}: {}", static_cast<std::int64_t>(fault.page), fault.what));
  if (!wrong_.empty()) co_return;
  const auto listed = [&](std::uint64_t epoch) {
    return std::any_of(report.checkpoints.begin(), report.checkpoints.end(),
                       [&](const storage::CheckpointInfo& each) { return each.epoch == epoch; });
  };
  if (!kept_.empty() && !listed(kept_.front())) wrong(fmt::format("checkpoint {} is gone", kept_.front()));
  const bool replaced = kept_.size() == 2 && report.checkpoints.back().epoch > kept_.back();
  if (!kept_.empty() && !replaced && !listed(kept_.back()))
    wrong(fmt::format("checkpoint {}, which none has replaced, is gone", kept_.back()));
  for (const storage::CheckpointInfo& each : report.checkpoints) co_await check_checkpoint(each.epoch);
  if (!wrong_.empty()) co_return;
  remember(report.checkpoints);
  const bool go_back = !report.checkpoints.empty() && random_() % 5 == 0;
  const std::uint64_t epoch = go_back ? report.checkpoints.front().epoch : PageStore::kLatest;
  store_ = co_await PageStore::open(disk_, path_, epoch);
  if (go_back) {
    // Until something is flushed, the file still has what came later.
    for (std::size_t page = 0; page < pages_.size(); ++page) {
      pages_[page].numbers.push_back(whole_[epoch][page]);
      pages_[page].present = pages_[page].numbers.size() - 1;
    }
    const auto result = co_await as_result(store_->flush());
    if (!result) wrong("the flush after going back failed");
    kept_ = {epoch};
    std::erase_if(whole_, [&](const auto& each) { return each.first > epoch; });
    for (PageModel& each : pages_) each.floor = each.present;
  }
  co_await check_latest();
}

Task<> StoreTrial::check_checkpoint(std::uint64_t epoch) {
  ++checkpoints_seen_;
  auto store = co_await PageStore::open(disk_, path_, epoch);
  for (std::uint64_t page = 0; page < shape_.pages; ++page) {
    const std::uint64_t number = co_await read_number(*store, page);
    if (number != whole_[epoch][page])
      wrong(fmt::format("page {} is number {} in checkpoint {}, and was {}", page, number, epoch, whole_[epoch][page]));
  }
  co_await store->close();
}

/// What is there now is where the next life begins.
Task<> StoreTrial::check_latest() {
  for (std::uint64_t page = 0; page < shape_.pages; ++page) {
    PageModel& model = pages_[page];
    const std::uint64_t number = co_await read_number(*store_, page);
    const auto first = model.numbers.begin() + static_cast<std::ptrdiff_t>(model.floor);
    if (std::find(first, model.numbers.end(), number) == model.numbers.end())
      wrong(fmt::format("page {} is number {}, and {} was flushed", page, number, *first));
    model = PageModel{{number}, 0, 0};
  }
}

Task<std::uint64_t> StoreTrial::read_number(PageStore& store, std::uint64_t page) {
  AlignedBuffer buffer(shape_.page_bytes);
  co_await store.read(page, buffer.span());
  std::uint64_t number = 0;
  std::memcpy(&number, buffer.data(), sizeof number);
  AlignedBuffer wanted(shape_.page_bytes);
  if (number != 0) fill(wanted.span(), number);
  co_return std::memcmp(buffer.data(), wanted.data(), buffer.size()) == 0 ? number : kTorn;
}

}  // namespace coracle::internals::test
