#include "storage/pages/page_sender.hpp"

#include <optional>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals::storage {
namespace {

Task<> send_answer(Rank& rank, std::uint32_t to, Handler receiver, std::uint32_t segment,
                   CoherenceMessage coherence_message) {
  const CoherenceMessage::Words words = coherence_message.words(segment);
  co_await rank.request(to, receiver, {}, words.kind, coherence_message.page, words.frame, words.numbers,
                        coherence_message.from);
}

/// A closed home fails what it is asked; a closed cache has no pages. Nothing where it need not say anything.
std::optional<PageMessage> answer_of_closed(const PageMessage& asked) {
  PageMessage answer;
  switch (asked.verb) {
    case Verb::read:
    case Verb::write:
    case Verb::put:
      answer.verb = asked.verb == Verb::put ? Verb::put_ack : Verb::failed;
      answer.number = asked.number;
      answer.keep = asked.keep;
      answer.failure = PageFailure::closed;
      return answer;
    default:
      break;
  }
  CachePage unknown;
  if (is_for_home(asked.verb) || !unknown.expects(asked)) return std::nullopt;
  const CacheActions actions = unknown.on_message(asked);
  if (actions.count == 0) return std::nullopt;
  return actions.begin()->message;
}

}  // namespace

void PageSender::post(CacheId to, const CoherenceMessage& coherence_message) {
  if (!tasks_.stopped()) tasks_.spawn(send(to, coherence_message));
}

void PageSender::post(CacheId to, const CoherenceMessage& coherence_message, PageBuffers::Buffer page) {
  if (!tasks_.stopped()) tasks_.spawn(send_buffer(to, coherence_message, std::move(page)));
}

Task<> PageSender::send_buffer(CacheId to, CoherenceMessage coherence_message, PageBuffers::Buffer page) {
  co_await send(to, coherence_message, std::span(page.data(), caches_.frames().shape().page_bytes));
}

Task<> PageSender::send(CacheId to, CoherenceMessage coherence_message, std::span<const std::byte> page) {
  coherence_message.from = caches_.own();
  const CoherenceMessage::Words words = coherence_message.words(caches_.segment());
  try {
    co_await caches_.rank().request(caches_.peer(to).rank, receiver_, page, words.kind, coherence_message.page,
                                    words.frame, words.numbers, coherence_message.from);
  } catch (const Error&) {
    // The peer is lost, or this rank ends.
  }
}

void answer_for_closed(Rank& rank, const Message& message, CacheId own, Handler receiver) {
  CoherenceMessage coherence_message = CoherenceMessage::of(message);
  const std::optional<PageMessage> answer = answer_of_closed(coherence_message.message);
  if (!answer) return;
  coherence_message.message = *answer;
  coherence_message.from = own;
  rank.service().spawn(
      send_answer(rank, message.source(), receiver, CoherenceMessage::segment_of(message), coherence_message));
}

}  // namespace coracle::internals::storage
