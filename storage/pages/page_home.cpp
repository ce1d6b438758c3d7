#include "storage/pages/page_home.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"

namespace coracle::internals::storage {

PageHome::PageHome(const SegmentCaches& caches, const CacheTasks& tasks, std::unique_ptr<PageStore> store,
                   bool cooperative)
    : caches_(caches),
      tasks_(tasks),
      store_(std::move(store)),
      buffers_(store_->shape().page_bytes),
      cooperative_(cooperative) {}
PageHome::~PageHome() = default;

// --- the directory ---

PageHome::Entry& PageHome::entry(std::uint64_t page) {
  return entries_.try_emplace(page, cooperative_).first->second;
}

const HomePage* PageHome::known(std::uint64_t page) const noexcept {
  const auto found = entries_.find(page);
  return found == entries_.end() ? nullptr : &found->second.page;
}

void PageHome::forget_if_idle(std::uint64_t page) {
  const auto found = entries_.find(page);
  if (found != entries_.end() && found->second.page.forgettable() && found->second.settling == 0) entries_.erase(found);
}

HomeActions PageHome::no_actions() noexcept {
  HomeActions actions = std::move(spare_);
  actions.clear();
  return actions;
}

HomeActions PageHome::receive(const CoherenceMessage& coherence_message) {
  Entry& known = entry(coherence_message.page);
  const PageMessage& message = coherence_message.message;
  if (message.verb == Verb::read || message.verb == Verb::write || message.verb == Verb::put) {
    std::erase_if(known.frames, [&](const auto& each) { return each.first == coherence_message.from; });
    known.frames.emplace_back(coherence_message.from, coherence_message.frame);
  }
  HomeActions actions = no_actions();
  known.page.on_message(coherence_message.from, message, actions);
  if (message.verb == Verb::done) forget_if_idle(coherence_message.page);
  return actions;
}

HomeActions PageHome::was_read(std::uint64_t page, PageFailure failure) {
  HomeActions actions = no_actions();
  entry(page).page.on_ssd_read(failure, actions);
  return actions;
}

HomeActions PageHome::was_written(std::uint64_t page, PageFailure failure) {
  HomeActions actions = no_actions();
  Entry& known = entry(page);
  ++(failure == PageFailure::none ? known.puts : known.failed_puts);
  known.page.on_ssd_written(failure, actions);
  return actions;
}

PageHome::ActionsOfPages PageHome::dead(CacheId node) {
  ActionsOfPages all;
  for (auto& [page, entry] : entries_) entry.page.on_dead(node, all.emplace_back(page, HomeActions()).second);
  return all;
}

PageHome::ActionsOfPages PageHome::refuse_all() {
  ActionsOfPages all;
  for (auto& [page, entry] : entries_) {
    HomeActions& actions = all.emplace_back(page, HomeActions()).second;
    entry.page.on_closed(actions);
    std::erase_if(actions, [this](const HomeAction& action) { return action.to == caches_.own(); });
  }
  return all;
}

std::uint32_t PageHome::frame_of(std::uint64_t page, CacheId requester) {
  for (const auto& [node, frame] : entry(page).frames)
    if (node == requester) return frame;
  CORACLE_ASSERT(false, "nobody knows where cache {} wants page {}", requester, page);
  return 0;
}

Task<> PageHome::settle(std::uint64_t page, std::function<void(CacheId)> recall) {
  Entry& first = entry(page);
  ++first.settling;
  const std::uint32_t puts = first.puts;
  const std::uint32_t failed = first.failed_puts;
  while (!tasks_.stopped() && entry(page).puts == puts && entry(page).failed_puts == failed &&
         !entry(page).page.lost()) {
    const CacheId owner = entry(page).page.owner();
    if (owner == kNoCache && entry(page).page.idle()) break;
    if (owner != kNoCache) recall(owner);
    // The owner may change, be busy with the page, or have a writer: ask again after a while.
    co_await sleep_for(std::chrono::microseconds(200));
  }
  Entry& last = entry(page);
  --last.settling;
  const bool failed_since = last.failed_puts != failed;
  const bool lost = last.page.lost();
  forget_if_idle(page);
  if (failed_since) throw Error(last_code_, last_failure_);
  if (lost) throw Error(Errc::page_lost, "a page that was put before is lost with the node that had its only copy");
}

// --- the file ---

void PageHome::transfer_ended() noexcept {
  --transfers_;
  if (!checkpointing_) return;
  gate_.set();
  gate_.reset();
}

Task<PageFailure> PageHome::read(std::uint64_t page, std::byte* target) {
  while (checkpointing_) co_await uninterrupted(gate_);
  ++transfers_;
  PageFailure failure = PageFailure::none;
  const std::uint64_t place = caches_.map().place_of(page);
  const bool from_device = !store_->empty(place);
  try {
    co_await store_->read(place, std::span(target, store_->shape().page_bytes));
    if (from_device) CacheCounters::add(caches_.frames().counters().ssd_reads);
  } catch (const Error& error) {
    failure = note_failure(error);
  }
  transfer_ended();
  co_return failure;
}

Task<PageFailure> PageHome::write(std::uint64_t page, const std::byte* source) {
  while (checkpointing_) co_await uninterrupted(gate_);
  ++transfers_;
  PageFailure failure = PageFailure::none;
  try {
    co_await store_->write(caches_.map().place_of(page), std::span(source, store_->shape().page_bytes));
    CacheCounters::add(caches_.frames().counters().ssd_writes);
  } catch (const Error& error) {
    failure = note_failure(error);
  }
  transfer_ended();
  co_return failure;
}

Task<> PageHome::flush() {
  while (checkpointing_) co_await uninterrupted(gate_);
  ++transfers_;
  const Result<> flushed = co_await as_result(store_->flush());
  transfer_ended();
  if (!flushed.ok()) throw Error(flushed.error());
}

Task<> PageHome::checkpoint(std::string name, std::uint64_t epoch) {
  while (checkpointing_) co_await uninterrupted(gate_);
  checkpointing_ = true;
  while (transfers_ > 0) co_await uninterrupted(gate_);
  const Result<> made = co_await as_result(store_->checkpoint(std::move(name), epoch));
  checkpointing_ = false;
  gate_.set();
  gate_.reset();
  if (!made.ok()) throw Error(made.error());
}

PageFailure PageHome::note_failure(const Error& error) {
  last_failure_ = error.what();
  last_code_ = error.code();
  if (error.code() == make_error_code(Errc::page_damaged)) return PageFailure::damaged;
  if (error.code() == std::errc::no_space_on_device) return PageFailure::no_space;
  return PageFailure::io;
}

Error closed_error() {
  return {std::make_error_code(std::errc::bad_file_descriptor), "the paged segment is closed"};
}

Error PageErrors::of(std::uint64_t page, PageFailure failure) const {
  const std::uint32_t home = caches_.home_of(page);
  const std::string where =
      fmt::format("page {} of the paged segment {}.{} (home: rank {})", page, path_, home, caches_.peer(home).rank);
  // Only who has the home knows more.
  const std::string more = home == caches_.own() && home_ != nullptr ? fmt::format(" ({})", home_->last_failure()) : "";
  switch (failure) {
    case PageFailure::lost:
      return {Errc::page_lost,
              fmt::format("{}: lost with the node that had its only current copy; write the whole page "
                          "anew, or open the last checkpoint",
                          where)};
    case PageFailure::damaged:
      return {Errc::page_damaged,
              fmt::format("{}: does not match its checksum; `coracle pages check` tells which do not{}", where, more)};
    case PageFailure::no_space:
      return {std::make_error_code(std::errc::no_space_on_device),
              fmt::format("{}: no space left on its device; the page is still in the cache: make room there and flush "
                          "again{}",
                          where, more)};
    case PageFailure::closed:
      return {std::make_error_code(std::errc::bad_file_descriptor),
              fmt::format("{}: its home has closed the segment, or could not make it", where)};
    default:
      return {std::make_error_code(std::errc::io_error),
              fmt::format("{}: its file can't be read or written{}", where, more)};
  }
}

Error PageErrors::home_lost(std::uint64_t page) const {
  const std::uint32_t home = caches_.home_of(page);
  return {Errc::peer_lost, fmt::format("page {} of the paged segment {}.{}: its home, rank {}, is lost", page, path_,
                                       home, caches_.peer(home).rank)};
}

}  // namespace coracle::internals::storage
