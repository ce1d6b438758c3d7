// external32 by its bytes; x87's numbers beside the compiler's own conversions.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "interfaces/mpi/core/datatype.hpp"
#include "interfaces/mpi/core_functions.hpp"
#include "tests/mpi/error_of.hpp"
#include "tests/seeds.hpp"

namespace coracle::mpi::tests::external32_test {

namespace {

Datatype* named(const char* name) {
  return predefined_datatype(name);
}

template <class Value>
std::vector<unsigned> packed(const Value& value, const char* name) {
  unsigned char bytes[64] = {};
  Count position = 0;
  pack_external("external32", &value, 1, named(name), bytes, sizeof bytes, position);
  return {bytes, bytes + position};
}

template <class Value>
Value through(const Value& value, const char* name) {
  unsigned char bytes[64] = {};
  Count position = 0;
  pack_external("external32", &value, 1, named(name), bytes, sizeof bytes, position);
  const Count size = position;
  position = 0;
  Value back{};
  unpack_external("external32", bytes, size, position, &back, 1, named(name));
  CHECK(position == size);
  return back;
}

#if __LDBL_MANT_DIG__ == 64
__extension__ using Binary128 = __float128;

Binary128 outside(long double value) {
  unsigned char bytes[16] = {};
  Count position = 0;
  pack_external("external32", &value, 1, named("MPI_LONG_DOUBLE"), bytes, sizeof bytes, position);
  unsigned char native[16];
  for (int i = 0; i < 16; ++i) native[i] = bytes[15 - i];
  Binary128 found;
  std::memcpy(&found, native, sizeof found);
  return found;
}

long double inside(Binary128 value) {
  unsigned char native[16];
  std::memcpy(native, &value, sizeof native);
  unsigned char bytes[16];
  for (int i = 0; i < 16; ++i) bytes[i] = native[15 - i];
  Count position = 0;
  long double found = 0;
  unpack_external("external32", bytes, sizeof bytes, position, &found, 1, named("MPI_LONG_DOUBLE"));
  return found;
}

bool same_bits(long double first, long double second) {
  return std::memcmp(&first, &second, 10) == 0;
}
#endif

}  // namespace

TEST_CASE("external32: numbers are big-endian and of the standard's sizes") {
  using Bytes = std::vector<unsigned>;
  CHECK(packed(0x01020304, "MPI_INT") == Bytes{1, 2, 3, 4});
  CHECK(packed(std::int64_t{-2}, "MPI_LONG") == Bytes{255, 255, 255, 254});
  CHECK(packed(std::int64_t{0x0102030405060708}, "MPI_INT64_T") == Bytes{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(packed(L'\u20ac', "MPI_WCHAR") == Bytes{0x20, 0xac});
  CHECK(packed(1.5, "MPI_DOUBLE") == Bytes{0x3f, 0xf8, 0, 0, 0, 0, 0, 0});
  CHECK(packed(true, "MPI_C_BOOL") == Bytes{1});
  CHECK(packed(1, "MPI_LOGICAL") == Bytes{0, 0, 0, 1});
  CHECK(packed(1.5L, "MPI_LONG_DOUBLE") == Bytes{0x3f, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const struct {
    double value;
    int index;
  } pair{2, 7};
  CHECK(packed(pair, "MPI_DOUBLE_INT") == Bytes{0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7});
  const struct {
    std::int64_t value;
    int index;
  } longs{-5, 7};
  CHECK(packed(longs, "MPI_LONG_INT") == Bytes{255, 255, 255, 251, 0, 0, 0, 7});
  const float complex[2] = {1, -2};
  CHECK(packed(complex, "MPI_COMPLEX") == Bytes{0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0});
}

TEST_CASE("external32: what does not fit a long or a wide character there is refused") {
  const std::int64_t least = std::numeric_limits<std::int32_t>::min();
  CHECK(through(least, "MPI_LONG") == least);
  CHECK(through(std::uint64_t{0xffff'ffff}, "MPI_UNSIGNED_LONG") == 0xffff'ffff);
  CHECK(through(std::uint32_t{0xffff}, "MPI_WCHAR") == 0xffff);
  CHECK(class_of([&] { packed(least - 1, "MPI_LONG"); }) == ErrorClass::conversion);
  CHECK(class_of([&] { packed(std::int64_t{1} << 31, "MPI_LONG"); }) == ErrorClass::conversion);
  CHECK(class_of([&] { packed(std::uint64_t{1} << 32, "MPI_UNSIGNED_LONG"); }) == ErrorClass::conversion);
  CHECK(class_of([&] { packed(std::uint32_t{0x1f600}, "MPI_WCHAR"); }) == ErrorClass::conversion);
  CHECK(class_of([&] {
          Count size = 0;
          pack_external_size("native", 1, named("MPI_INT"), size);
        }) == ErrorClass::arg);
}

TEST_CASE("external32: a long array goes through in pieces") {
  std::vector<double> numbers(5001);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.1 * static_cast<double>(i);
  Datatype* made = nullptr;
  type_vector(1667, 1, 3, named("MPI_DOUBLE"), made);
  const auto type = Ref<Datatype>::adopt(made);
  type->commit();
  Count size = 0;
  pack_external_size("external32", 1, type.get(), size);
  CHECK(size == 1667 * 8);
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  Count position = 0;
  pack_external("external32", numbers.data(), 1, type.get(), bytes.data(), size, position);
  std::vector<double> back(numbers.size());
  position = 0;
  unpack_external("external32", bytes.data(), size, position, back.data(), 1, type.get());
  bool same = true;
  for (std::size_t i = 0; i < numbers.size(); ++i) same = same && back[i] == (i % 3 == 0 ? numbers[i] : 0);
  CHECK(same);
}

#if __LDBL_MANT_DIG__ == 64
TEST_CASE("external32: long double becomes binary128 and back, as the compiler converts") {
  using Limits = std::numeric_limits<long double>;
  for (const long double value : {0.0L, -0.0L, 1.0L, -1.5L, Limits::max(), Limits::min(), Limits::denorm_min(),
                                  -Limits::min() / 2, Limits::infinity(), -Limits::infinity()}) {
    CHECK(outside(value) == static_cast<Binary128>(value));
    CHECK(same_bits(inside(static_cast<Binary128>(value)), value));
  }
  CHECK(std::isnan(inside(static_cast<Binary128>(Limits::quiet_NaN()))));
  CHECK(std::isnan(static_cast<long double>(outside(Limits::quiet_NaN()))));
  // Halfway between two: to the even one.
  for (const int odd : {0, 1}) {
    const Binary128 value = 1 + static_cast<Binary128>(odd) * 0x1p-63 + static_cast<Binary128>(0x1p-64);
    CHECK(same_bits(inside(value), static_cast<long double>(value)));
    CHECK(inside(value) == 1 + 2 * odd * 0x1p-63L);
  }
  const internals::test::Seeds seeds("CORACLE_EXTERNAL32_SEEDS", 200);
  for (const std::uint64_t seed : seeds) {
    const std::string again = seeds.repeat(seed);
    CAPTURE(again);
    std::mt19937_64 random(seed);
    const Binary128 scale = static_cast<Binary128>(std::ldexp(1.0L, static_cast<int>(random() % 32'700) - 16'400));
    Binary128 value = (1 + static_cast<Binary128>(random()) / 7 + static_cast<Binary128>(random()) * 0x1p-70) * scale;
    if (seed % 2 == 0) value = -value;
    CHECK(same_bits(inside(value), static_cast<long double>(value)));
    CHECK(outside(static_cast<long double>(value)) == static_cast<Binary128>(static_cast<long double>(value)));
  }
}
#endif

}  // namespace coracle::mpi::tests::external32_test
