// Which means are tried, and which is used in the end.
#include "runtime/messages/experience.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>

namespace experience_test {

using coracle::internals::Experience;
using coracle::internals::MessageKind;

namespace {

/// How often each means is used for `messages` messages that take so long by each.
std::array<int, Experience::kMeans> used(Experience& experience, const MessageKind& kind, std::size_t expected,
                                         const std::array<double, Experience::kMeans>& ns, int messages) {
  std::array<int, Experience::kMeans> times{};
  for (int message = 0; message < messages; ++message) {
    const std::size_t means = experience.choose(kind, Experience::kMeans, expected);
    REQUIRE(means < Experience::kMeans);
    ++times[means];
    experience.learn(kind, means, ns[means]);
  }
  return times;
}

}  // namespace

TEST_CASE("experience: what is expected comes first, then each other means has its tries, then the quickest is used") {
  Experience experience;
  const MessageKind kind{1, 5000, nullptr, nullptr};
  CHECK(used(experience, kind, 2, {31, 10, 20}, 4) == std::array{0, 0, 4});
  CHECK(used(experience, kind, 2, {31, 10, 20}, 8) == std::array{4, 4, 0});
  CHECK(used(experience, kind, 2, {31, 10, 20}, 7) == std::array{0, 7, 0});
}

TEST_CASE("experience: one message by a means that takes far longer is enough") {
  Experience experience;
  const MessageKind kind{1, 5000, nullptr, nullptr};
  CHECK(used(experience, kind, 1, {100, 10, 20}, 10) == std::array{1, 5, 4});
}

TEST_CASE("experience: the first message by a means finds what another has left, and says nothing of it") {
  Experience experience;
  const MessageKind kind{1, 5000, nullptr, nullptr};
  std::size_t before = Experience::kMeans;
  std::array<int, Experience::kMeans> times{};
  for (int message = 0; message < 200; ++message) {
    const std::size_t means = experience.choose(kind, Experience::kMeans, 0);
    ++times[means];
    const std::array<double, Experience::kMeans> ns{20, 15, 50};
    experience.learn(kind, means, means == before ? ns[means] : 2.5 * ns[means]);
    before = means;
  }
  CHECK(times[1] > 150);
}

TEST_CASE("experience: what varies is not preferred for its best, nor what is only a little quicker") {
  Experience experience;
  const MessageKind kind{1, 5000, nullptr, nullptr};
  std::array<int, Experience::kMeans> times{};
  for (int message = 0; message < 400; ++message) {
    const std::size_t means = experience.choose(kind, Experience::kMeans, 0);
    ++times[means];
    const double varying = message % 3 == 0 ? 10 : 30;
    experience.learn(kind, means, std::array{20.0, 19.0, varying}[means]);
  }
  CHECK(times[0] > 350);
}

TEST_CASE("experience: a means that has become slow is left, and one that has become quick is found") {
  Experience experience;
  const MessageKind kind{1, 5000, nullptr, nullptr};
  used(experience, kind, 0, {30, 10, 20}, 100);
  CHECK(used(experience, kind, 0, {30, 40, 20}, 100)[2] > 50);
  const auto later = used(experience, kind, 0, {5, 40, 20}, 3000);
  CHECK(later[0] > 1500);
}

TEST_CASE("experience: means are tried anew soon after the first messages, which found cold caches") {
  Experience experience;
  const MessageKind kind{1, 5000, nullptr, nullptr};
  used(experience, kind, 0, {20, 30, 30}, 12);
  CHECK(used(experience, kind, 0, {20, 10, 30}, 100)[1] > 40);
}

TEST_CASE("experience: a job may have many messages of a kind under way, some of which never end") {
  Experience experience;
  const MessageKind kind{1, 5000, nullptr, nullptr};
  std::array<int, Experience::kMeans> times{};
  for (int round = 0; round < 200; ++round) {
    std::array<std::size_t, 8> chosen{};
    for (std::size_t& means : chosen) means = experience.choose(kind, Experience::kMeans, 0);
    for (const std::size_t means : chosen) {
      ++times[means];
      if (round % 5 != 0) experience.learn(kind, means, std::array{30.0, 20.0, 10.0}[means]);
    }
  }
  CHECK(times[2] > 1400);
}

TEST_CASE("experience: one slow message, such as of a partner that was descheduled, changes nothing") {
  Experience experience;
  const MessageKind kind{1, 5000, nullptr, nullptr};
  used(experience, kind, 0, {30, 10, 40}, 100);
  const std::size_t means = experience.choose(kind, Experience::kMeans, 0);
  CHECK(means == 1);
  experience.learn(kind, means, 1e6);
  CHECK(used(experience, kind, 0, {30, 10, 40}, 100)[1] >= 99);
}

TEST_CASE("experience: kinds that differ in anything don't share it") {
  Experience experience;
  const int layout = 0;
  used(experience, {1, 5000, nullptr, nullptr}, 0, {30, 10, 20}, 50);
  for (const MessageKind& other : {MessageKind{2, 5000, nullptr, nullptr}, MessageKind{1, 5001, nullptr, nullptr},
                                   MessageKind{1, 5000, &layout, nullptr}, MessageKind{1, 5000, nullptr, &layout}})
    CHECK(experience.choose(other, Experience::kMeans, 2) == 2);
}

}  // namespace experience_test
