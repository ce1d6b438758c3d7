// Which schemes are tried, and which is used in the end.
#include "runtime/messages/scheme_tuner.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>

namespace scheme_tuner_test {

using coracle::internals::MessageClass;
using coracle::internals::SchemeTuner;

namespace {

/// How often each scheme is used for `messages` messages that take so long by each.
std::array<int, SchemeTuner::kSchemes> used(SchemeTuner& tuner, const MessageClass& message_class, std::size_t expected,
                                            const std::array<double, SchemeTuner::kSchemes>& ns, int messages) {
  std::array<int, SchemeTuner::kSchemes> times{};
  for (int message = 0; message < messages; ++message) {
    const std::size_t scheme = tuner.choose(message_class, SchemeTuner::kSchemes, expected);
    REQUIRE(scheme < SchemeTuner::kSchemes);
    ++times[scheme];
    tuner.learn(message_class, scheme, ns[scheme]);
  }
  return times;
}

}  // namespace

TEST_CASE(
    "scheme tuner: what is expected comes first, then each other scheme has its tries, then the quickest is used") {
  SchemeTuner tuner;
  const MessageClass message_class{1, 5000, nullptr, nullptr};
  CHECK(used(tuner, message_class, 2, {31, 10, 20}, 4) == std::array{0, 0, 4});
  CHECK(used(tuner, message_class, 2, {31, 10, 20}, 8) == std::array{4, 4, 0});
  CHECK(used(tuner, message_class, 2, {31, 10, 20}, 7) == std::array{0, 7, 0});
}

TEST_CASE("scheme tuner: one message by a scheme that takes far longer is enough") {
  SchemeTuner tuner;
  const MessageClass message_class{1, 5000, nullptr, nullptr};
  CHECK(used(tuner, message_class, 1, {100, 10, 20}, 10) == std::array{1, 5, 4});
}

TEST_CASE("scheme tuner: the first message by a scheme finds what another has left, and says nothing of it") {
  SchemeTuner tuner;
  const MessageClass message_class{1, 5000, nullptr, nullptr};
  std::size_t before = SchemeTuner::kSchemes;
  std::array<int, SchemeTuner::kSchemes> times{};
  for (int message = 0; message < 200; ++message) {
    const std::size_t scheme = tuner.choose(message_class, SchemeTuner::kSchemes, 0);
    ++times[scheme];
    const std::array<double, SchemeTuner::kSchemes> ns{20, 15, 50};
    tuner.learn(message_class, scheme, scheme == before ? ns[scheme] : 2.5 * ns[scheme]);
    before = scheme;
  }
  CHECK(times[1] > 150);
}

TEST_CASE("scheme tuner: what varies is not preferred for its best, nor what is only a little quicker") {
  SchemeTuner tuner;
  const MessageClass message_class{1, 5000, nullptr, nullptr};
  std::array<int, SchemeTuner::kSchemes> times{};
  for (int message = 0; message < 400; ++message) {
    const std::size_t scheme = tuner.choose(message_class, SchemeTuner::kSchemes, 0);
    ++times[scheme];
    const double varying = message % 3 == 0 ? 10 : 30;
    tuner.learn(message_class, scheme, std::array{20.0, 19.0, varying}[scheme]);
  }
  CHECK(times[0] > 350);
}

TEST_CASE("scheme tuner: a scheme that has become slow is left, and one that has become quick is found") {
  SchemeTuner tuner;
  const MessageClass message_class{1, 5000, nullptr, nullptr};
  used(tuner, message_class, 0, {30, 10, 20}, 100);
  CHECK(used(tuner, message_class, 0, {30, 40, 20}, 100)[2] > 50);
  const auto later = used(tuner, message_class, 0, {5, 40, 20}, 3000);
  CHECK(later[0] > 1500);
}

TEST_CASE("scheme tuner: schemes are tried anew soon after the first messages, which found cold caches") {
  SchemeTuner tuner;
  const MessageClass message_class{1, 5000, nullptr, nullptr};
  used(tuner, message_class, 0, {20, 30, 30}, 12);
  CHECK(used(tuner, message_class, 0, {20, 10, 30}, 100)[1] > 40);
}

TEST_CASE("scheme tuner: a job may have many messages of a class under way, some of which never end") {
  SchemeTuner tuner;
  const MessageClass message_class{1, 5000, nullptr, nullptr};
  std::array<int, SchemeTuner::kSchemes> times{};
  for (int round = 0; round < 200; ++round) {
    std::array<std::size_t, 8> chosen{};
    for (std::size_t& scheme : chosen) scheme = tuner.choose(message_class, SchemeTuner::kSchemes, 0);
    for (const std::size_t scheme : chosen) {
      ++times[scheme];
      if (round % 5 != 0) tuner.learn(message_class, scheme, std::array{30.0, 20.0, 10.0}[scheme]);
    }
  }
  CHECK(times[2] > 1400);
}

TEST_CASE("scheme tuner: one slow message, such as of a partner that was descheduled, changes nothing") {
  SchemeTuner tuner;
  const MessageClass message_class{1, 5000, nullptr, nullptr};
  used(tuner, message_class, 0, {30, 10, 40}, 100);
  const std::size_t scheme = tuner.choose(message_class, SchemeTuner::kSchemes, 0);
  CHECK(scheme == 1);
  tuner.learn(message_class, scheme, 1e6);
  CHECK(used(tuner, message_class, 0, {30, 10, 40}, 100)[1] >= 99);
}

TEST_CASE("scheme tuner: classes that differ in anything don't share it") {
  SchemeTuner tuner;
  const int layout = 0;
  used(tuner, {1, 5000, nullptr, nullptr}, 0, {30, 10, 20}, 50);
  for (const MessageClass& other : {MessageClass{2, 5000, nullptr, nullptr}, MessageClass{1, 5001, nullptr, nullptr},
                                    MessageClass{1, 5000, &layout, nullptr}, MessageClass{1, 5000, nullptr, &layout}})
    CHECK(tuner.choose(other, SchemeTuner::kSchemes, 2) == 2);
}

}  // namespace scheme_tuner_test
