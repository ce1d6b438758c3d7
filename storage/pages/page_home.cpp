#include "storage/pages/page_home.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals::storage {

PageHome::PageHome(const SegmentCaches& caches, Cache& cache, OwnMessages& own_messages,
                   std::unique_ptr<PageStore> store, bool cooperative)
    : caches_(caches),
      cache_(cache),
      own_messages_(own_messages),
      store_(std::move(store)),
      buffers_(store_->shape().page_bytes),
      cooperative_(cooperative) {}
PageHome::~PageHome() = default;

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

void PageHome::receive(const CoherenceMessage& coherence_message) {
  Entry& known = entry(coherence_message.page);
  const PageMessage& message = coherence_message.message;
  if (message.verb == Verb::read || message.verb == Verb::write || message.verb == Verb::put) {
    std::erase_if(known.frames, [&](const auto& each) { return each.first == coherence_message.from; });
    known.frames.emplace_back(coherence_message.from, coherence_message.frame);
  }
  HomeActions actions = std::move(spare_);
  actions.clear();
  known.page.on_message(coherence_message.from, message, actions);
  perform(coherence_message.page, actions);
  spare_ = std::move(actions);
  if (message.verb == Verb::done) forget_if_idle(coherence_message.page);
}

void PageHome::dead(CacheId node) {
  std::vector<std::uint64_t> pages;
  pages.reserve(entries_.size());
  for (const auto& [page, entry] : entries_) pages.push_back(page);
  for (const std::uint64_t page : pages) {
    HomeActions actions;
    entry(page).page.on_dead(node, actions);
    perform(page, actions);
  }
}

void PageHome::refuse_all() {
  for (auto& [page, entry] : entries_) {
    HomeActions actions;
    entry.page.on_closed(actions);
    std::erase_if(actions, [this](const HomeAction& action) { return action.to == caches_.own(); });
    perform(page, actions);
  }
}

void PageHome::perform(std::uint64_t page, const HomeActions& actions, PageBuffers::Buffer* with_message) {
  const OwnMessages::Hold hold(own_messages_);
  for (const HomeAction& action : actions) {
    switch (action.kind) {
      case HomeAction::Kind::send:
      case HomeAction::Kind::send_ssd: {
        CoherenceMessage coherence_message;
        coherence_message.message = action.message;
        coherence_message.page = page;
        coherence_message.from_ssd = action.kind == HomeAction::Kind::send_ssd;
        const bool forwards =
            action.message.verb == Verb::forward_shared || action.message.verb == Verb::forward_exclusive;
        if (forwards) coherence_message.frame = frame_of(page, action.message.requester);
        if (coherence_message.from_ssd && with_message != nullptr)
          cache_.post(action.to, coherence_message, std::move(*std::exchange(with_message, nullptr)));
        else
          cache_.post(action.to, coherence_message);
        break;
      }
      case HomeAction::Kind::read_ssd:
        cache_.spawn(read(page, action.to, frame_of(page, action.to)));
        break;
      case HomeAction::Kind::write_ssd:
        cache_.spawn(write(page, action.to, frame_of(page, action.to)));
        break;
    }
  }
}

std::uint32_t PageHome::frame_of(std::uint64_t page, CacheId requester) {
  for (const auto& [node, frame] : entry(page).frames)
    if (node == requester) return frame;
  CORACLE_ASSERT(false, "nobody knows where cache {} wants page {}", requester, page);
  return 0;
}

/// Straight into the requester's frame, where loads and stores reach it.
Task<> PageHome::read(std::uint64_t page, CacheId requester, std::uint32_t frame) {
  while (checkpointing_) co_await uninterrupted(gate_);
  if (std::byte* target = caches_.reach_frame(requester, frame)) {
    const PageFailure failure = co_await read_to(page, target);
    answer_read(page, failure);
    co_return;
  }
  PageBuffers::Buffer buffer = buffers_.take();
  const PageFailure failure = co_await read_to(page, buffer.data());
  const bool with_message = caches_.goes_with_message(requester, frame);
  if (failure == PageFailure::none && !with_message) {
    const std::span<const std::byte> read(buffer.data(), store_->shape().page_bytes);
    const Result<> sent = co_await as_result(caches_.rank().put(read, caches_.remote_frame(requester, frame)));
    static_cast<void>(sent);  // a requester that is lost: dead() is told of it
  }
  answer_read(page, failure, with_message ? &buffer : nullptr);
}

Task<PageFailure> PageHome::read_to(std::uint64_t page, std::byte* target) {
  PageFailure failure = PageFailure::none;
  const bool from_device = !store_->empty(caches_.map().place_of(page));
  ++transfers_;
  try {
    co_await store_->read(caches_.map().place_of(page), std::span(target, store_->shape().page_bytes));
    if (from_device) CacheCounters::add(caches_.frames().counters().ssd_reads);
  } catch (const Error& error) {
    failure = note_failure(error);
  }
  transfer_ended();
  co_return failure;
}

void PageHome::answer_read(std::uint64_t page, PageFailure failure, PageBuffers::Buffer* with_message) {
  HomeActions actions = std::move(spare_);
  actions.clear();
  entry(page).page.on_ssd_read(failure, actions);
  perform(page, actions, with_message);
  spare_ = std::move(actions);
  cache_.deliver();
}

void PageHome::transfer_ended() noexcept {
  --transfers_;
  if (!checkpointing_) return;
  gate_.set();
  gate_.reset();
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

Task<> PageHome::write(std::uint64_t page, CacheId owner, std::uint32_t frame) {
  while (checkpointing_) co_await uninterrupted(gate_);
  ++transfers_;
  PageFailure failure = PageFailure::none;
  const std::size_t bytes = store_->shape().page_bytes;
  try {
    if (const std::byte* source = caches_.reach_frame(owner, frame)) {
      co_await store_->write(caches_.map().place_of(page), std::span(source, bytes));
    } else {
      const PageBuffers::Buffer buffer = buffers_.take();
      co_await caches_.rank().get(caches_.remote_frame(owner, frame), std::span(buffer.data(), bytes));
      co_await store_->write(caches_.map().place_of(page), std::span<const std::byte>(buffer.data(), bytes));
    }
    CacheCounters::add(caches_.frames().counters().ssd_writes);
  } catch (const Error& error) {
    failure = note_failure(error);
  }
  transfer_ended();
  Entry& known = entry(page);
  ++(failure == PageFailure::none ? known.puts : known.failed_puts);
  HomeActions actions;
  known.page.on_ssd_written(failure, actions);
  perform(page, actions);
  cache_.deliver();
}

PageFailure PageHome::note_failure(const Error& error) {
  last_failure_ = error.what();
  last_code_ = error.code();
  if (error.code() == make_error_code(Errc::page_damaged)) return PageFailure::damaged;
  if (error.code() == std::errc::no_space_on_device) return PageFailure::no_space;
  return PageFailure::io;
}

Task<> PageHome::settle(std::uint64_t page) {
  Entry& first = entry(page);
  ++first.settling;
  const std::uint32_t puts = first.puts;
  const std::uint32_t failed = first.failed_puts;
  while (!cache_.stopped() && entry(page).puts == puts && entry(page).failed_puts == failed &&
         !entry(page).page.lost()) {
    const CacheId owner = entry(page).page.owner();
    if (owner == kNoCache && entry(page).page.idle()) break;
    if (owner != kNoCache) cache_.recall(owner, page);
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

}  // namespace coracle::internals::storage
