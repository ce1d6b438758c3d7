// Which means are tried, and which is used in the end.
#include "runtime/messages/experience.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>

using coracle::Experience;
using coracle::MessageKind;

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
  CHECK(used(experience, kind, 2, {30, 10, 20}, 3) == std::array{0, 0, 3});
  // The first is three times as slow as the second: once is enough.
  CHECK(used(experience, kind, 2, {30, 10, 20}, 2) == std::array{1, 1, 0});
  CHECK(used(experience, kind, 2, {30, 10, 20}, 2) == std::array{0, 2, 0});
  CHECK(used(experience, kind, 2, {30, 10, 20}, 100) == std::array{0, 100, 0});
}

TEST_CASE("experience: a means that has become slow is left, and one that has become quick is found") {
  Experience experience;
  const MessageKind kind{1, 5000, nullptr, nullptr};
  used(experience, kind, 0, {30, 10, 20}, 50);
  CHECK(used(experience, kind, 0, {30, 40, 20}, 50)[2] > 30);
  const auto later = used(experience, kind, 0, {5, 40, 20}, 3000);
  CHECK(later[0] > 1500);
}

TEST_CASE("experience: one slow message, such as of a partner that was descheduled, changes nothing") {
  Experience experience;
  const MessageKind kind{1, 5000, nullptr, nullptr};
  used(experience, kind, 0, {30, 10, 40}, 50);
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
