// What the home makes of a page when a node dies, one case after the other: when it is lost, and when it is not.
#include <doctest/doctest.h>

#include "storage/protocol/protocol.hpp"

namespace coracle::internals::storage::storage_protocol_test {
namespace {

/// A home of a page whose caches are played by the test.
struct Home {
  HomePage page{true};
  HomeActions actions;

  void receive(CacheId from, const PageMessage& message) {
    actions.clear();
    page.on_message(from, message, actions);
  }
  void dies(CacheId node) {
    actions.clear();
    page.on_dead(node, actions);
  }
  void read_from_ssd(PageFailure failure = PageFailure::none) {
    actions.clear();
    page.on_ssd_read(failure, actions);
  }
  const HomeAction& only_action() const {
    REQUIRE(actions.size() == 1);
    return actions[0];
  }
  /// Step of the only message sent.
  std::uint32_t sent(Verb verb, CacheId to) const {
    const HomeAction& action = only_action();
    REQUIRE(action.kind == HomeAction::Kind::send);
    REQUIRE(action.message.verb == verb);
    REQUIRE(action.to == to);
    return action.message.step;
  }
  void sent_failure(PageFailure failure, CacheId to) const {
    sent(Verb::failed, to);
    CHECK(only_action().message.failure == failure);
  }
  /// `node` gets the page, which nobody has, from the SSD.
  void write_by(CacheId node) {
    receive(node, {.verb = Verb::write, .number = 1});
    REQUIRE(actions.size() == 2);
    CHECK(actions[0].kind == HomeAction::Kind::read_ssd);
    CHECK(actions[1].message.verb == Verb::grant);
  }
  void own_by(CacheId node) {
    write_by(node);
    read_from_ssd();
    CHECK(only_action().kind == HomeAction::Kind::send_ssd);
    receive(node, {.verb = Verb::done, .number = 1});
    REQUIRE(page.owner() == node);
  }
  void share_with(CacheId node) {
    receive(node, {.verb = Verb::read, .number = 1});
    sent(Verb::forward_shared, page.owner());
    receive(node, {.verb = Verb::done, .number = 1});
    CHECK(page.sharers().back() == node);
  }
};

}  // namespace

TEST_CASE("protocol: a writer that died with its grant but without data has written nothing") {
  Home home;
  home.write_by(3);
  home.dies(3);
  CHECK_FALSE(home.page.idle());  // the SSD is being read
  home.read_from_ssd();
  CHECK(home.actions.empty());
  CHECK(home.page.forgettable());
}

TEST_CASE("protocol: a writer that died with grant and data may have written") {
  Home home;
  home.write_by(3);
  home.read_from_ssd();
  home.dies(3);
  CHECK(home.page.lost());
  home.receive(4, {.verb = Verb::read, .number = 1});
  home.sent_failure(PageFailure::lost, 4);
  home.receive(4, {.verb = Verb::write, .number = 2});
  home.sent_failure(PageFailure::lost, 4);
  SUBCASE("who writes the whole page ends it") {
    home.receive(4, {.verb = Verb::write, .whole = true, .number = 3});
    home.sent(Verb::grant, 4);
    home.receive(4, {.verb = Verb::done, .number = 3});
    CHECK_FALSE(home.page.lost());
    CHECK(home.page.owner() == 4);
  }
  SUBCASE("unless it dies as well") {
    home.receive(4, {.verb = Verb::write, .whole = true, .number = 3});
    home.dies(4);
    CHECK(home.page.lost());
  }
}

TEST_CASE("protocol: a sharer adopts a dead owner's page") {
  Home home;
  home.own_by(1);
  home.share_with(2);
  home.share_with(3);
  home.dies(1);
  const std::uint32_t first = home.sent(Verb::adopt, 3);
  SUBCASE("the newest that has it") {
    home.receive(3, {.verb = Verb::nack, .step = first});
    const std::uint32_t second = home.sent(Verb::adopt, 2);
    home.receive(2, {.verb = Verb::ack, .step = second});
    CHECK(home.page.owner() == 2);
    CHECK_FALSE(home.page.lost());
  }
  SUBCASE("if one has it still") {
    home.dies(3);
    home.receive(2, {.verb = Verb::nack, .step = home.sent(Verb::adopt, 2)});
    CHECK(home.page.lost());
    CHECK(home.page.idle());
  }
}

TEST_CASE("protocol: a requester whose dirty source died is asked whether it has the data") {
  Home home;
  home.own_by(1);
  home.receive(2, {.verb = Verb::write, .number = 7});
  REQUIRE(home.actions.size() == 2);
  CHECK(home.actions[0].message.verb == Verb::forward_exclusive);
  home.dies(1);
  const std::uint32_t step = home.sent(Verb::source_lost, 2);
  SUBCASE("it has") {
    home.receive(2, {.verb = Verb::done, .number = 7});
    CHECK(home.page.owner() == 2);
  }
  SUBCASE("it has not") {
    home.receive(2, {.verb = Verb::nack, .step = step});
    home.sent_failure(PageFailure::lost, 2);
    CHECK(home.page.lost());
  }
}

TEST_CASE("protocol: a page that the SSD can't give fails those that ask, and is not lost") {
  Home home;
  home.receive(1, {.verb = Verb::read, .number = 1});
  CHECK(home.only_action().kind == HomeAction::Kind::read_ssd);
  home.read_from_ssd(PageFailure::damaged);
  home.sent_failure(PageFailure::damaged, 1);
  CHECK(home.page.forgettable());
}

}  // namespace coracle::internals::storage::storage_protocol_test
