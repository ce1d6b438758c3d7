// Programs that must not compile, one for each number that WRONG can have; 0 is the one that does. The test looks at
// what the compiler says first.
#include <coracle/coracle.hpp>

#include <string>
#include <string_view>
#include <vector>

using namespace coracle;
using namespace coracle::internals;

int add(Rank&, int left, int right) {
  return left + right;
}
std::size_t length(Rank&, std::string text) {
  return text.size();
}
std::size_t count(Rank&, std::vector<int> values) noexcept {
  return values.size();
}
int first_of(Rank&, const int* values) {
  return *values;
}
int of_view(Rank&, std::string_view text) {
  return static_cast<int>(text.size());
}
int change(Rank&, std::string& text) {
  return static_cast<int>(text.size());
}
const char* greet(Rank&) {
  return "hello";
}
int without_rank(int value) {
  return value;
}
void note(Rank&, int, const std::string&) {}
Task<> note_later(Rank&, std::vector<int>) noexcept {
  co_return;
}
void note_pointer(Rank&, const int*) {}
void note_view(Rank&, std::string_view) {}
void note_change(Rank&, std::string&) {}
void note_without_rank(int) {}

Task<> tell_others(Rank& self) {
#if WRONG < 14
  co_await self.tell(0, note, 1, "text");
  co_await self.tell(0, note_later, std::vector<int>(2));
  co_await self.tell(
      0, [](Rank&, int) {}, 1);
#elif WRONG == 14  // tell: the function takes more or fewer arguments, behind its Rank&, than are given
  co_await self.tell(0, note, 1);
#elif WRONG == 15  // tell: an argument can't be converted to what the function takes in its place
  co_await self.tell(0, note, std::string("one"), "text");
#elif WRONG == 16  // tell: an argument's type can't travel
  co_await self.tell(0, note_pointer, static_cast<const int*>(nullptr));
#elif WRONG == 17  // tell: an argument's type can't travel
  co_await self.tell(0, note_view, "text");
#elif WRONG == 18  // tell: the function takes its arguments by value or by const reference
  co_await self.tell(0, note_change, std::string("text"));
#elif WRONG == 19  // tell: the function returns nothing (void or Task<>)
  co_await self.tell(0, add, 1, 2);
#elif WRONG == 20  // tell takes a function whose first parameter is Rank&
  co_await self.tell(0, note_without_rank, 1);
#elif WRONG == 21  // tell takes a function whose first parameter is Rank&
  co_await self.tell(
      0, [](Rank&, auto) {}, 1);
#elif WRONG == 22  // tell takes a function or a lambda without captures
  int captured = 1;
  co_await self.tell(0, [captured](Rank&) { static_cast<void>(captured); });
#endif
}

Task<> app(Rank& self) {
  Team& team = self.world();
  const Remote<int> there;
#if WRONG == 0
  const int sum = co_await self.call(0, add, 1, 2);
  const std::size_t letters = co_await self.call(0, length, "text");
  const std::size_t values = co_await self.call(0, count, std::vector<int>(2));
  const int twice = co_await self.call(
      0, [](Rank&, int value) { return 2 * value; }, sum);
  const std::vector<int> named(static_cast<std::size_t>(twice) + letters + values);
  co_await team.send(named, 0);
  co_await team.send(std::span(named), 0);
  co_await self.put_nb(named, there).done();
#elif WRONG == 1   // call: the function takes more or fewer arguments, behind its Rank&, than are given
  co_await self.call(0, add, 1);
#elif WRONG == 2   // call: an argument can't be converted to what the function takes in its place
  const int sum = co_await self.call(0, add, 1, std::string("two"));
  static_cast<void>(sum);
#elif WRONG == 3   // call: an argument's type can't travel
  co_await self.call(0, first_of, static_cast<const int*>(nullptr));
#elif WRONG == 4   // call: an argument's type can't travel
  co_await self.call(0, of_view, "text");
#elif WRONG == 5   // call: the function takes its arguments by value or by const reference
  co_await self.call(0, change, std::string("text"));
#elif WRONG == 6   // call: the result's type can't travel
  const std::string text = co_await self.call(0, greet);
#elif WRONG == 7   // a call takes a function whose first parameter is Rank&
  co_await self.call(0, without_rank, 1);
#elif WRONG == 8   // a call takes a function or a lambda without captures
  int captured = 1;
  co_await self.call(0, [captured](Rank&) { return captured; });
#elif WRONG == 9   // use of deleted function
  co_await team.send(std::vector<int>(3), 0);
#elif WRONG == 10  // use of deleted function
  Handle put = self.put_nb(std::vector<int>(3), there);
#elif WRONG == 11  // use of deleted function
  self.put_nbi(std::vector<int>(3), there);
#elif WRONG == 12  // fetch_add is for integers and floating-point numbers
  struct Pair {
    std::uint32_t first, second;
  };
  co_await self.fetch_add(there.as<Pair>(), Pair{1, 2});
#elif WRONG == 13  // atomics are for types of 4 or 8 bytes without padding
  co_await self.atomic_load(there.as<std::uint16_t>());
#endif
  static_cast<void>(team);
  static_cast<void>(there);
  co_await tell_others(self);
}

int main(int argc, char** argv) {
  return run(argc, argv, app);
}
