// What was put through a cache becomes durable at the homes of its pages.
#include "storage/pages/cache_controller.hpp"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/combinators.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/rpc.hpp"

namespace coracle::internals::storage {

namespace {

/// How a call to a home ended: what it throws would come as what a call has thrown, without its code.
using Failure = std::optional<Error>;

void recall_there(Rank& rank, std::uint32_t segment, std::uint64_t page) {
  if (CacheController* controller = rank.local<SegmentTable>().find(segment)) controller->recall(page);
}

Task<> tell_recall(const SegmentCaches& caches, CacheId node, std::uint64_t page) {
  const Result<> told =
      co_await as_result(caches.rank().tell(caches.peer(node).rank, recall_there, caches.segment(), page));
  static_cast<void>(told);  // a peer that is lost: its page is, too
}

/// Has a cache write a page home soon.
void recall(CacheController& controller, CacheId node, std::uint64_t page) {
  if (node == controller.caches().own())
    controller.recall(page);
  else
    controller.tasks().spawn(tell_recall(controller.caches(), node, page));
}

/// Null where there is none, or not any more.
CacheController* controller_with_home(Rank& rank, std::uint32_t segment) {
  CacheController* controller = rank.local<SegmentTable>().find(segment);
  return controller != nullptr && controller->home() != nullptr ? controller : nullptr;
}

Task<Failure> settle_there(Rank& rank, std::uint32_t segment, std::uint64_t page) {
  CacheController* controller = controller_with_home(rank, segment);
  if (controller == nullptr) co_return std::nullopt;
  const auto alive = controller->alive();
  const auto recall_from = [controller, page](CacheId node) { recall(*controller, node, page); };
  const Result<> settled = co_await as_result(controller->home()->settle(page, recall_from));
  co_return settled.failure();
}

Task<Failure> sync_there(Rank& rank, std::uint32_t segment) {
  CacheController* controller = controller_with_home(rank, segment);
  if (controller == nullptr) co_return std::nullopt;
  const auto alive = controller->alive();
  const Result<> flushed = co_await as_result(controller->home()->flush());
  co_return flushed.failure();
}

Task<> settle(const SegmentCaches& caches, std::uint64_t page) {
  const std::uint32_t home = caches.peer(caches.home_of(page)).rank;
  const Failure failure = co_await caches.rank().call(home, settle_there, caches.segment(), page);
  if (failure) throw Error(*failure);
}

Task<> sync(const SegmentCaches& caches, CacheId home) {
  const Failure failure = co_await caches.rank().call(caches.peer(home).rank, sync_there, caches.segment());
  if (failure) throw Error(*failure);
}

Task<> flush_alone(CacheController& controller) {
  co_await controller.clean_all();
  const SegmentCaches& caches = controller.caches();
  Unflushed& left = controller.unflushed();
  const std::set<std::uint64_t> elsewhere = std::exchange(left.given_away, {});
  std::vector<bool> homes = std::exchange(left.homes, std::vector<bool>(left.homes.size()));
  std::optional<Error> first;
  // What failed is tried again by the next flush, unless it is gone for good.
  const auto failed = [&first](const Error& error) {
    if (!first) first.emplace(error);
    return error.code() != make_error_code(Errc::page_lost) && error.code() != make_error_code(Errc::peer_lost);
  };
  for (const std::uint64_t page : elsewhere) {
    const Result<> settled = co_await as_result(settle(caches, page));
    if (!settled.ok() && failed(settled.error())) left.given_away.insert(page);
    homes[caches.home_of(page)] = true;
  }
  std::vector<Task<Result<>>> syncs;
  std::vector<CacheId> synced;
  for (CacheId home = 0; home < homes.size(); ++home) {
    if (!homes[home]) continue;
    syncs.push_back(as_result(sync(caches, home)));
    synced.push_back(home);
  }
  const std::vector<Result<>> results = co_await when_all(std::move(syncs));
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!results[i].ok() && failed(results[i].error())) left.homes[synced[i]] = true;
  if (first) throw Error(*first);
}

}  // namespace

Task<> flush(CacheController& controller) {
  const std::shared_ptr<CacheController> alive = controller.alive();
  // One after the other: what an earlier one has taken from the lists is durable only when that one has ended.
  while (controller.unflushed().flushing) co_await controller.tasks().changed();
  controller.unflushed().flushing = true;
  const Result<> result = co_await as_result(flush_alone(controller));
  controller.unflushed().flushing = false;
  controller.tasks().notify();
  result.value();
}

}  // namespace coracle::internals::storage
