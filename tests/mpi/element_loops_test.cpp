// The loops of predefined operations against naive ones, over all basic types; what MPI does not define is not there.
#include "interfaces/mpi/core/element_loops.hpp"

#include <doctest/doctest.h>

#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/seeds.hpp"

namespace element_loops_test {

namespace {

using namespace coracle::mpi;
using coracle::internals::test::Seeds;

__extension__ using Wide = __int128;
#if defined(__SIZEOF_FLOAT128__)
__extension__ using Float128 = __float128;
#else
using Float128 = long double;
#endif

constexpr std::size_t kCounts[] = {0, 1, 2, 3, 7, 16, 33, 257};

struct Complex128 {
  Float128 real;
  Float128 imaginary;
  bool operator==(const Complex128&) const = default;
};

template <class Value, class Index>
struct Pair {
  Value value;
  Index index;
  bool operator==(const Pair&) const = default;
};

/// Small whole numbers, so that sums and products of floating-point ones are exact; of integers any.
struct Values {
  std::mt19937_64 random;
  int small() { return static_cast<int>(random() % 17) - 8; }
  template <class T>
  void fill(T& value) {
    if constexpr (std::is_integral_v<T>)
      value = random() % 3 == 0 ? T{0} : static_cast<T>(random());
    else
      value = static_cast<T>(small());
  }
  template <class T>
  void fill(std::complex<T>& value) {
    value = {static_cast<T>(small()), static_cast<T>(small())};
  }
  void fill(Complex128& value) { value = {static_cast<Float128>(small()), static_cast<Float128>(small())}; }
  template <class Value, class Index>
  void fill(Pair<Value, Index>& pair) {
    pair.value = static_cast<Value>(small());
    pair.index = static_cast<Index>(small());
  }
};

/// Goes through the pairs that there are, and keeps them.
struct Check {
  Values values;
  std::set<std::pair<int, int>> defined;

  template <class T, class Naive>
  void of(Combining combining, Basic basic, Naive naive) {
    CAPTURE(static_cast<int>(combining));
    CAPTURE(static_cast<int>(basic));
    defined.emplace(static_cast<int>(combining), static_cast<int>(basic));
    const ElementLoop loop = element_loop(combining, basic);
    REQUIRE((loop.function != nullptr));
    CHECK(loop.element_bytes == sizeof(T));
    for (const std::size_t count : kCounts) of_count<T>(loop, naive, count);
  }

  template <class T, class Naive>
  void of_count(const ElementLoop& loop, Naive naive, std::size_t count) {
    std::vector<T> left(count + 1), right(count + 1);
    for (T& value : left) values.fill(value);
    for (T& value : right) values.fill(value);
    std::vector<T> expected = right;
    for (std::size_t i = 0; i < count; ++i) expected[i] = naive(left[i], right[i]);
    const auto bytes = [](std::vector<T>& of) { return reinterpret_cast<std::byte*>(of.data()); };
    std::vector<T> result = right;
    loop.function(nullptr, bytes(left), bytes(right), bytes(result), count);
    CHECK(result == expected);
    std::vector<T> right_and_result = right;
    loop.function(nullptr, bytes(left), bytes(right_and_result), bytes(right_and_result), count);
    CHECK(right_and_result == expected);
    expected.back() = left.back();
    loop.function(nullptr, bytes(left), bytes(right), bytes(left), count);
    CHECK(left == expected);
  }

  template <class T>
  void order(Basic basic) {
    of<T>(Combining::max, basic, [](T a, T b) { return a > b ? a : b; });
    of<T>(Combining::min, basic, [](T a, T b) { return a < b ? a : b; });
  }
  template <class T>
  void integer(Basic basic) {
    order<T>(basic);
    of<T>(Combining::sum, basic, [](T a, T b) { return static_cast<T>(Wide{a} + Wide{b}); });
    of<T>(Combining::prod, basic,
          [](T a, T b) { return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)); });
    logical<T>(basic);
    of<T>(Combining::band, basic, [](T a, T b) { return static_cast<T>(a & b); });
    of<T>(Combining::bor, basic, [](T a, T b) { return static_cast<T>(a | b); });
    of<T>(Combining::bxor, basic, [](T a, T b) { return static_cast<T>(a ^ b); });
  }
  template <class T>
  void logical(Basic basic) {
    of<T>(Combining::land, basic, [](T a, T b) { return T{a && b}; });
    of<T>(Combining::lor, basic, [](T a, T b) { return T{a || b}; });
    of<T>(Combining::lxor, basic, [](T a, T b) { return T{!a != !b}; });
  }
  template <class T>
  void real(Basic basic) {
    order<T>(basic);
    of<T>(Combining::sum, basic, [](T a, T b) { return a + b; });
    of<T>(Combining::prod, basic, [](T a, T b) { return a * b; });
  }
  template <class T>
  void complex(Basic basic) {
    of<T>(Combining::sum, basic, [](T a, T b) { return a + b; });
    of<T>(Combining::prod, basic, [](T a, T b) { return a * b; });
  }
  void complex128() {
    using T = Complex128;
    of<T>(Combining::sum, Basic::complex128, [](T a, T b) { return T{a.real + b.real, a.imaginary + b.imaginary}; });
    of<T>(Combining::prod, Basic::complex128, [](T a, T b) {
      return T{a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
    });
  }
  template <class Value, class Index>
  void pair(Basic basic) {
    using T = Pair<Value, Index>;
    const auto nearer = [](const T& a, const T& b) { return a.index < b.index ? a : b; };
    of<T>(Combining::minloc, basic, [&](const T& a, const T& b) {
      return a.value < b.value ? a : b.value < a.value ? b : nearer(a, b);
    });
    of<T>(Combining::maxloc, basic, [&](const T& a, const T& b) {
      return a.value > b.value ? a : b.value > a.value ? b : nearer(a, b);
    });
  }

  void all() {
    integer<std::int8_t>(Basic::int8);
    integer<std::int16_t>(Basic::int16);
    integer<std::int32_t>(Basic::int32);
    integer<std::int64_t>(Basic::int64);
    integer<std::uint8_t>(Basic::uint8);
    integer<std::uint16_t>(Basic::uint16);
    integer<std::uint32_t>(Basic::uint32);
    integer<std::uint64_t>(Basic::uint64);
    integer<std::int8_t>(Basic::character);
    integer<std::uint8_t>(Basic::byte);
    real<float>(Basic::float32);
    real<double>(Basic::float64);
    real<long double>(Basic::float80);
    real<Float128>(Basic::float128);
    complex<std::complex<float>>(Basic::complex32);
    complex<std::complex<double>>(Basic::complex64);
    complex<std::complex<long double>>(Basic::complex80);
    complex128();
    logical<std::uint8_t>(Basic::boolean);
    logical<std::uint8_t>(Basic::logical8);
    logical<std::int16_t>(Basic::logical16);
    logical<std::int32_t>(Basic::logical32);
    logical<std::int64_t>(Basic::logical64);
    pair<float, std::int32_t>(Basic::float32_int32);
    pair<double, std::int32_t>(Basic::float64_int32);
    pair<long double, std::int32_t>(Basic::float80_int32);
    pair<std::int64_t, std::int32_t>(Basic::int64_int32);
    pair<std::int32_t, std::int32_t>(Basic::int32_int32);
    pair<std::int16_t, std::int32_t>(Basic::int16_int32);
    pair<float, float>(Basic::float32_float32);
    pair<double, double>(Basic::float64_float64);
  }
};

}  // namespace

TEST_CASE("predefined operations: each does what a naive loop does, and there are no others") {
  for (const std::uint64_t seed : Seeds("CORACLE_MPI_LOOPS_SEEDS", 8)) {
    CAPTURE(seed);
    Check check{{std::mt19937_64(seed)}, {}};
    check.all();
    for (int combining = 0; combining <= static_cast<int>(Combining::user); ++combining) {
      for (int basic = 0; basic <= static_cast<int>(Basic::float64_float64); ++basic) {
        if (check.defined.contains({combining, basic})) continue;
        CAPTURE(combining);
        CAPTURE(basic);
        CHECK_FALSE(bool(element_loop(static_cast<Combining>(combining), static_cast<Basic>(basic)).function));
      }
    }
  }
}

TEST_CASE("predefined operations: the gaps of pairs stay as they are") {
  struct {
    double value;
    std::int32_t index;
    std::int32_t gap;
  } left[3], right[3];
  static_assert(sizeof left[0] == 16);
  for (int i = 0; i < 3; ++i) {
    left[i] = {1.0 * i, i, 77};
    right[i] = {1.0, -i, 88};
  }
  const ElementLoop loop = element_loop(Combining::maxloc, Basic::float64_int32);
  auto* result = reinterpret_cast<std::byte*>(right);
  loop.function(nullptr, reinterpret_cast<const std::byte*>(left), result, result, 3);
  CHECK(loop.element_bytes == 16);
  CHECK(loop.packed_bytes == 12);
  CHECK(right[0].index == 0);
  CHECK(right[1].index == -1);
  CHECK(right[2].index == 2);
  CHECK(right[2].value == 2.0);
  for (const auto& pair : right) CHECK(pair.gap == 88);
}

TEST_CASE("predefined operations: any value but 0 is true, and true becomes 1") {
  const std::int32_t left[] = {0, 2, -1, 0};
  std::int32_t right[] = {4, 4, 0, 0};
  auto* result = reinterpret_cast<std::byte*>(right);
  element_loop(Combining::lor, Basic::logical32)
      .function(nullptr, reinterpret_cast<const std::byte*>(left), result, result, 4);
  CHECK(right[0] == 1);
  CHECK(right[1] == 1);
  CHECK(right[2] == 1);
  CHECK(right[3] == 0);
}

}  // namespace element_loops_test
