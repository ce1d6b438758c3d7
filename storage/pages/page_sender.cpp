#include "storage/pages/page_sender.hpp"

#include <optional>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals::storage {
namespace {

Task<> send_answer(Rank& rank, std::uint32_t to, Handler receiver, std::uint32_t segment, PageLetter letter) {
  const PageLetter::Words words = letter.words(segment);
  co_await rank.request(to, receiver, {}, words.kind, letter.page, words.frame, words.numbers, letter.from);
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

void PageSender::post(Node to, const PageLetter& letter) {
  if (!tasks_.stopped()) tasks_.spawn(send(to, letter));
}

void PageSender::post(Node to, const PageLetter& letter, PageBuffers::Buffer page) {
  if (!tasks_.stopped()) tasks_.spawn(send_buffer(to, letter, std::move(page)));
}

Task<> PageSender::send_buffer(Node to, PageLetter letter, PageBuffers::Buffer page) {
  co_await send(to, letter, std::span(page.data(), caches_.frames().shape().page_bytes));
}

Task<> PageSender::send(Node to, PageLetter letter, std::span<const std::byte> page) {
  letter.from = caches_.own();
  const PageLetter::Words words = letter.words(caches_.segment());
  try {
    co_await caches_.rank().request(caches_.peer(to).rank, receiver_, page, words.kind, letter.page, words.frame,
                                    words.numbers, letter.from);
  } catch (const Error&) {
    // The peer is lost, or this rank ends.
  }
}

void answer_for_closed(Rank& rank, const Message& message, Node own, Handler receiver) {
  PageLetter letter = PageLetter::of(message);
  const std::optional<PageMessage> answer = answer_of_closed(letter.message);
  if (!answer) return;
  letter.message = *answer;
  letter.from = own;
  rank.service().spawn(send_answer(rank, message.source(), receiver, PageLetter::segment_of(message), letter));
}

}  // namespace coracle::internals::storage
