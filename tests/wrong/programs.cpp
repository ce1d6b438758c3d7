// Programs that must not compile, one for each number for which WRONG(number) may hold; 0 is the one that does. The
// test looks at what the compiler says of each first.
#include <coracle/coracle.hpp>

#include <array>
#include <concepts>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
int of_text(Rank&, const std::string& text, int) {
  return static_cast<int>(text.size());
}
int* address(Rank&, int& object) {
  return &object;
}
int add_to(Rank&, int& object, int value) noexcept {
  return object += value;
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
#if WRONG(40)  // tell or call: the function takes more or fewer arguments, behind its Rank&, than are given
  co_await self.tell(0, note, 1);
#endif
#if WRONG(41)  // tell or call: an argument can't be converted to what the function takes in its place
  co_await self.tell(0, note, std::string("one"), "text");
#endif
#if WRONG(42)  // tell or call: an argument's type can't travel
  co_await self.tell(0, note_pointer, static_cast<const int*>(nullptr));
#endif
#if WRONG(43)  // tell or call: an argument's type can't travel
  co_await self.tell(0, note_view, "text");
#endif
#if WRONG(50)  // tell or call: the function takes its arguments by value or by const reference
  co_await self.tell(0, note_change, std::string("text"));
#endif
#if WRONG(51)  // tell: the function returns nothing (void or Task<>)
  co_await self.tell(0, add, 1, 2);
#endif
#if WRONG(52)  // tell or a call takes a function whose first parameter is Rank&
  co_await self.tell(0, note_without_rank, 1);
#endif
#if WRONG(53)  // tell or a call takes a function whose first parameter is Rank&
  co_await self.tell(
      0, [](Rank&, auto) {}, 1);
#endif
#if WRONG(54)  // tell or a call takes a function or a lambda without captures
  {
    int captured = 1;
    co_await self.tell(0, [captured](Rank&) { static_cast<void>(captured); });
  }
#endif
  co_await self.tell(0, note, 1, "text");
  co_await self.tell(0, note_later, std::vector<int>(2));
  co_await self.tell(
      0, [](Rank&, int) {}, 1);
}

struct Named {
  std::string name;
};
struct Point {
  double x, y;
};

/// All give a T.
template <class T>
void give(const std::same_as<Task<T>> auto&...) {}

/// What has a name goes in place, and so does what is only seen; what has none, or is const, is a value.
void collectives_that_fit(Team& team) {
  constexpr std::plus<> plus;
  const int one = 1;
  std::vector<double> numbers(3);
  const std::vector<double> fixed(3);
  std::array<double, 3> three{};
  double plain[3] = {};
  std::string text = "text";
  const std::string name = "name";
  give<void>(team.broadcast(numbers, 0), team.broadcast(three, 0), team.broadcast(plain, 0), team.broadcast(text, 0),
             team.broadcast(std::span(plain), 0));
  give<std::vector<double>>(team.broadcast(fixed, 0), team.broadcast(std::move(numbers), 0),
                            team.broadcast(std::vector<double>(3), 0));
  give<std::string>(team.broadcast(name, 0), team.broadcast(std::move(text), 0),
                    team.broadcast(std::string("text"), 0));
  give<std::array<double, 3>>(team.broadcast(std::move(three), 0), team.broadcast(std::as_const(three), 0));
  give<int>(team.broadcast(one, 0), team.broadcast(1, 0), team.reduce(one, plus, 0), team.all_reduce(one, plus),
            team.scan(one, plus), team.exclusive_scan(one, plus, 0));
  give<void>(team.reduce(numbers, plus, 0), team.reduce(three, plus, 0), team.reduce(plain, plus, 0),
             team.reduce(std::span(numbers), plus, 0), team.reduce(std::span(plain), plus, 0));
  give<void>(team.all_reduce(numbers, plus), team.all_reduce(three, plus), team.all_reduce(plain, plus),
             team.all_reduce(std::span(numbers), plus), team.all_reduce(std::span(plain), plus));
  give<void>(team.scan(numbers, plus), team.scan(three, plus), team.scan(plain, plus),
             team.scan(std::span(numbers), plus), team.scan(std::span(plain), plus));
  give<void>(team.exclusive_scan(numbers, plus, 0), team.exclusive_scan(three, plus, 0),
             team.exclusive_scan(plain, plus, 0), team.exclusive_scan(std::span(plain), plus, 0));
  give<std::vector<std::vector<double>>>(team.gather_all(numbers), team.gather_all(fixed), team.gather(fixed, 0),
                                         team.gather(std::move(numbers), 0));
  give<std::vector<std::array<double, 3>>>(team.gather_all(three), team.gather(three, 0));
  give<std::vector<std::string>>(team.gather_all(name), team.gather_all(text), team.gather(name, 0));
}

Task<> wrong_collectives(Team& team) {
  std::vector<double> numbers(3);
  const std::vector<double> fixed(3);
  int* pointer = nullptr;
#if WRONG(16)  // broadcast writes to elements that are const here
  co_await team.broadcast(std::span<const double>(fixed), 0);
#endif
#if WRONG(17)  // broadcast writes to elements that are const here
  { const std::string all = co_await team.broadcast("text", 0); }
#endif
#if WRONG(18)  // broadcast: a range with a name is written in place, which takes trivially copyable elements
  {
    std::vector<std::string> names;
    names = co_await team.broadcast(names, 0);
  }
#endif
#if WRONG(19)  // broadcast: a range with a name is written in place, which takes elements in a row
  {
    std::vector<bool> bits;
    bits = co_await team.broadcast(bits, 0);
  }
#endif
#if WRONG(20)  // a value of this type can't travel to another rank
  co_await team.broadcast(Named{"Ada"}, 0);
#endif
#if WRONG(21)  // a value of this type can't travel to another rank
  co_await team.broadcast(pointer, 0);
#endif
#if WRONG(22)  // a value of this type can't travel to another rank
  { const auto all = co_await team.gather_all(Named{"Ada"}); }
#endif
#if WRONG(23)  // a value of this type can't travel to another rank
  { const auto all = co_await team.gather(std::string_view("Ada"), 0); }
#endif
#if WRONG(24)  // a value of this type can't travel to another rank
  { const auto all = co_await team.gather_all(std::ref(numbers[0])); }
#endif
#if WRONG(25)  // a value of this type can't travel to another rank
  { const auto all = co_await team.gather_all(std::array<int*, 2>{}); }
#endif
  static_cast<void>(pointer);
  co_await team.broadcast(numbers, 0);
}

Task<> wrong_reductions(Team& team) {
  const std::vector<double> fixed(3);
  int* pointer = nullptr;
#if WRONG(26)  // reductions and scans combine a range element by element, in place: give it a name
  { const auto most = co_await team.all_reduce(std::array<double, 3>{}, max_of); }
#endif
#if WRONG(27)  // reductions and scans combine a range element by element, in place: give it a name
  { const auto most = co_await team.reduce(fixed, max_of, 0); }
#endif
#if WRONG(28)  // reductions and scans combine a range element by element, in place: give it a name
  { const auto most = co_await team.scan(std::span<const double>(fixed), max_of); }
#endif
#if WRONG(29)  // reductions and scans combine a range element by element, in place: its elements must lie in a row
  {
    std::vector<bool> bits;
    co_await team.all_reduce(bits, std::logical_or<>());
  }
#endif
#if WRONG(30)  // reductions and scans are for trivially copyable elements without pointers
  {
    std::vector<std::string> names;
    co_await team.exclusive_scan(names, std::plus<>(), "");
  }
#endif
#if WRONG(31)  // reductions and scans are for trivially copyable values without pointers
  pointer = co_await team.all_reduce(pointer, max_of);
#endif
#if WRONG(32)  // reductions and scans are for trivially copyable values without pointers
  { const Named sum = co_await team.scan(Named{"Ada"}, std::plus<>()); }
#endif
#if WRONG(33)  // the operation of a reduction or scan takes two elements and gives one
  { const Point sum = co_await team.reduce(Point{1, 2}, std::plus<>(), 0); }
#endif
#if WRONG(34)  // a collective writes to elements that are const here
  co_await team.gather_all(std::span(fixed), std::span(fixed));
#endif
#if WRONG(35)  // only trivially copyable types can be moved between ranks as bytes
  {
    std::vector<std::string> names;
    co_await team.scatter(std::span(names), std::span(names), 0);
  }
#endif
  static_cast<void>(pointer);
  co_await team.barrier();
}

Task<> wrong_values(Rank& self) {
  Team& team = self.world();
  const Remote<int> there;
  const Distributed<int> object(self, "object");
  int* pointer = nullptr;
  std::string text = "text";
#if WRONG(36)  // one value of this type can't travel to another rank
  co_await team.send_value(text, 0);
#endif
#if WRONG(37)  // one value of this type can't travel to another rank
  pointer = co_await team.recv_value<int*>();
#endif
#if WRONG(38)  // one value of this type can't travel to another rank
  co_await self.put_value(pointer, there.as<int*>());
#endif
#if WRONG(39)  // only trivially copyable types can be moved between ranks as bytes
  co_await self.get_value(there.as<Named>());
#endif
#if WRONG(44)  // call: an argument's type can't travel
  co_await self.call(
      0, [](Rank&, Named) {}, Named{"Ada"});
#endif
#if WRONG(45)  // call: the result's type can't travel
  co_await object.call(0, address);
#endif
#if WRONG(46)  // what is called on a distributed object takes (Rank&, T&, arguments...)
  co_await object.call(0, of_text, 1);
#endif
#if WRONG(47)  // call: the function takes more or fewer arguments, behind its Rank&, than are given
  { const int added = co_await object.call(0, add_to); }
#endif
#if WRONG(48)  // a value of this type can't travel to another rank
  {
    const Distributed<Named> person(self, "person");
    const Named person_there = co_await person.fetch(0);
  }
#endif
#if WRONG(49)  // a distributed object is one of each rank's own: no reference
  { const Distributed<int&> reference(self, "reference", *pointer); }
#endif
  static_cast<void>(pointer);
  static_cast<void>(there);
  co_await team.send_value(text.size(), 0);
  const int added = co_await object.call(0, add_to, 1);
  static_cast<void>(added);
}

void collectives_of_temporaries([[maybe_unused]] Team& team) {
#if WRONG(55)  // use of deleted function
  {
    std::vector<int> all(team.size());
    static_cast<void>(start(team.rank(), team.gather(std::vector<int>(1), std::span(all), 0)));
  }
#endif
#if WRONG(56)  // use of deleted function
  {
    std::vector<int> all(team.size());
    static_cast<void>(start(team.rank(), team.gather_all(std::vector<int>(1), std::span(all))));
  }
#endif
#if WRONG(57)  // use of deleted function
  {
    std::vector<int> mine(1);
    static_cast<void>(start(team.rank(), team.scatter(std::vector<int>(team.size()), std::span(mine), 0)));
  }
#endif
#if WRONG(58)  // use of deleted function
  {
    std::vector<int> mine(1);
    static_cast<void>(
        start(team.rank(), team.reduce_scatter(std::vector<int>(team.size()), std::span(mine), std::plus<>())));
  }
#endif
#if WRONG(59)  // use of deleted function
  {
    std::vector<int> all(team.size());
    static_cast<void>(start(team.rank(), team.all_to_all(std::vector<int>(team.size()), std::span(all))));
  }
#endif
#if WRONG(60)  // use of deleted function
  {
    const std::vector<std::size_t> counts(team.size(), 1);
    std::vector<int> all(team.size());
    static_cast<void>(
        start(team.rank(), team.all_to_all_v(std::vector<int>(team.size()), counts, std::span(all), counts)));
  }
#endif
}

Task<> call_others(Rank& self) {
  Team& team = self.world();
  const Remote<int> there;
#if WRONG(0)
  {
    const int sum = co_await self.call(0, add, 1, 2);
    const std::size_t letters = co_await self.call(0, length, "text");
    const std::size_t values = co_await self.call(0, count, std::vector<int>(2));
    const int twice = co_await self.call(
        0, [](Rank&, int value) { return 2 * value; }, sum);
    const std::vector<int> named(static_cast<std::size_t>(twice) + letters + values);
    co_await team.send(named, 0);
    co_await team.send(std::span(named), 0);
    co_await self.put_nb(named, there).done();
  }
#endif
#if WRONG(1)  // call: the function takes more or fewer arguments, behind its Rank&, than are given
  co_await self.call(0, add, 1);
#endif
#if WRONG(2)  // call: an argument can't be converted to what the function takes in its place
  {
    const int sum = co_await self.call(0, add, 1, std::string("two"));
    static_cast<void>(sum);
  }
#endif
#if WRONG(3)  // call: an argument's type can't travel
  co_await self.call(0, first_of, static_cast<const int*>(nullptr));
#endif
#if WRONG(4)  // call: an argument's type can't travel
  co_await self.call(0, of_view, "text");
#endif
#if WRONG(5)  // call: the function takes its arguments by value or by const reference
  co_await self.call(0, change, std::string("text"));
#endif
#if WRONG(6)  // call: the result's type can't travel
  { const std::string text = co_await self.call(0, greet); }
#endif
#if WRONG(7)  // a call takes a function whose first parameter is Rank&
  co_await self.call(0, without_rank, 1);
#endif
#if WRONG(8)  // a call takes a function or a lambda without captures
  {
    int captured = 1;
    co_await self.call(0, [captured](Rank&) { return captured; });
  }
#endif
  static_cast<void>(team);
  static_cast<void>(there);
}

Task<> app(Rank& self) {
  Team& team = self.world();
  const Remote<int> there;
#if WRONG(9)  // use of deleted function
  co_await team.send(std::vector<int>(3), 0);
#endif
#if WRONG(10)  // use of deleted function
  { Handle put = self.put_nb(std::vector<int>(3), there); }
#endif
#if WRONG(11)  // use of deleted function
  self.put_nbi(std::vector<int>(3), there);
#endif
#if WRONG(12)  // fetch_add is for integers and floating-point numbers
  {
    struct Pair {
      std::uint32_t first, second;
    };
    co_await self.fetch_add(there.as<Pair>(), Pair{1, 2});
  }
#endif
#if WRONG(13)  // atomics are for types of 4 or 8 bytes without padding
  co_await self.atomic_load(there.as<std::uint16_t>());
#endif
#if WRONG(14)  // atomics are for types of 4 or 8 bytes without padding that are no pointers
  co_await self.atomic_load(there.as<int*>());
#endif
#if WRONG(15)  // fetch_or is for integers
  co_await self.fetch_or(there.as<double>(), 1.0);
#endif
  co_await wrong_collectives(team);
  co_await wrong_reductions(team);
  co_await wrong_values(self);
  collectives_of_temporaries(team);
  collectives_that_fit(team);
  static_cast<void>(there);
  co_await tell_others(self);
  co_await call_others(self);
}

int main(int argc, char** argv) {
  return run(argc, argv, app);
}
