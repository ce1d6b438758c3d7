// The home's side: what its directory says is done, and comes to the cache beside it.
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/rank/rank.hpp"
#include "storage/pages/page_coherence.hpp"

namespace coracle::internals::storage {

/// `with_message`: the page that a coherence message with data from the SSD takes along; null: it was put before.
void PageCoherence::perform(std::uint64_t page, HomeActions actions, PageBuffers::Buffer* with_message) {
  const Deferral deferral(*this);
  for (const HomeAction& action : actions) {
    if (action.kind == HomeAction::Kind::read_ssd) {
      tasks_.spawn(read_for(page, action.to, home_->frame_of(page, action.to)));
      continue;
    }
    if (action.kind == HomeAction::Kind::write_ssd) {
      tasks_.spawn(write_from(page, action.to, home_->frame_of(page, action.to)));
      continue;
    }
    CoherenceMessage coherence_message;
    coherence_message.message = action.message;
    coherence_message.page = page;
    coherence_message.from_ssd = action.kind == HomeAction::Kind::send_ssd;
    const bool forwards = action.message.verb == Verb::forward_shared || action.message.verb == Verb::forward_exclusive;
    if (forwards) coherence_message.frame = home_->frame_of(page, action.message.requester);
    if (action.to == caches_.own())
      from_home_.push_back(coherence_message);
    else if (coherence_message.from_ssd && with_message != nullptr)
      sender_.post(action.to, coherence_message, std::move(*std::exchange(with_message, nullptr)));
    else
      sender_.post(action.to, coherence_message);
  }
  home_->recycle(std::move(actions));
}

void PageCoherence::perform_all(PageHome::ActionsOfPages all) {
  for (auto& [page, actions] : all) perform(page, std::move(actions));
}

void PageCoherence::hear_home() {
  if (deferring_) return;
  const Deferral deferral(*this);
  while (!from_home_.empty()) {
    const CoherenceMessage coherence_message = from_home_.front();
    from_home_.pop_front();
    take(coherence_message, {});
  }
}

/// Straight into the requester's frame, where loads and stores reach it.
Task<> PageCoherence::read_for(std::uint64_t page, CacheId requester, std::uint32_t frame) {
  if (std::byte* target = caches_.reach_frame(requester, frame)) {
    const PageFailure failure = co_await home_->read(page, target);
    perform(page, home_->was_read(page, failure));
  } else {
    PageBuffers::Buffer buffer = home_->buffers().take();
    const PageFailure failure = co_await home_->read(page, buffer.data());
    const bool with_message = caches_.goes_with_message(requester, frame);
    if (failure == PageFailure::none && !with_message) {
      const std::span<const std::byte> bytes(buffer.data(), frames_.shape().page_bytes);
      const Result<> put = co_await as_result(caches_.rank().put(bytes, caches_.remote_frame(requester, frame)));
      static_cast<void>(put);  // a requester that is lost: lost() is told of it
    }
    perform(page, home_->was_read(page, failure), with_message ? &buffer : nullptr);
  }
  hear_home();
}

Task<> PageCoherence::write_from(std::uint64_t page, CacheId owner, std::uint32_t frame) {
  PageFailure failure = PageFailure::none;
  if (const std::byte* source = caches_.reach_frame(owner, frame)) {
    failure = co_await home_->write(page, source);
  } else {
    const PageBuffers::Buffer buffer = home_->buffers().take();
    const std::span<std::byte> bytes(buffer.data(), frames_.shape().page_bytes);
    const Result<> got = co_await as_result(caches_.rank().get(caches_.remote_frame(owner, frame), bytes));
    if (got.ok())
      failure = co_await home_->write(page, buffer.data());
    else
      failure = home_->note_failure(got.error());
  }
  perform(page, home_->was_written(page, failure));
  hear_home();
}

}  // namespace coracle::internals::storage
