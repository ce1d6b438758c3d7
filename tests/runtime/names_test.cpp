// Names of a program's own beside `using namespace coracle`.
#include <doctest/doctest.h>
#include <coracle/coracle.hpp>

#include <chrono>
#include <type_traits>

// What programs like to call theirs, at global scope. Each of these is a name of the library's own parts, too.
using Clock = std::chrono::steady_clock;
struct Min {};
struct Max {};
struct Flag {};
struct Timer {};
struct Waiter {};
struct Peers {};
struct Operation {};
struct Transport {};
struct Endpoint {};
struct NodeArea {};
struct Blocks {};
struct Matcher {};
struct BounceBuffers {};
struct Transfer {};
struct Atomic {};
struct Request {};
struct Stored {};
struct Directory {};
namespace detail {
struct Own {};
}  // namespace detail
namespace sim {
struct Own {};
}  // namespace sim
namespace storage {
struct Own {};
}  // namespace storage

using namespace coracle;  // NOLINT(google-build-using-namespace): as programs do

// Public names, too, may be a program's own in its own namespace.
namespace program {
struct Layout {
  int own = 1;
};
struct Message {
  int own = 2;
};
struct Event {
  int own = 3;
};
struct Io {
  int own = 4;
};

int sum() {
  return Layout().own + Message().own + Event().own + Io().own;
}

}  // namespace program

TEST_CASE("names: a program's own do not collide with the library's inner ones") {
  static_assert(std::is_same_v<Clock, std::chrono::steady_clock>);
  static_assert(std::is_empty_v<Min> && std::is_empty_v<Max> && std::is_empty_v<Flag> && std::is_empty_v<Timer>);
  static_assert(std::is_empty_v<Waiter> && std::is_empty_v<Peers> && std::is_empty_v<Operation>);
  static_assert(std::is_empty_v<Transport> && std::is_empty_v<Endpoint> && std::is_empty_v<NodeArea>);
  static_assert(std::is_empty_v<Blocks> && std::is_empty_v<Matcher> && std::is_empty_v<BounceBuffers>);
  static_assert(std::is_empty_v<Transfer> && std::is_empty_v<Atomic> && std::is_empty_v<Request>);
  static_assert(std::is_empty_v<Stored> && std::is_empty_v<Directory>);
  static_assert(std::is_empty_v<detail::Own> && std::is_empty_v<sim::Own> && std::is_empty_v<storage::Own>);
  static_assert(!std::is_empty_v<Task<>> && !std::is_empty_v<Remote<int>>);  // the public ones are there
  CHECK(program::sum() == 10);
}
