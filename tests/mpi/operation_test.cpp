// Operations on datatypes: in their own layout, as reductions of the collectives, and what is refused.
#include "interfaces/mpi/core/operation.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "interfaces/mpi/core_functions.hpp"
#include "tests/mpi/error_of.hpp"

namespace mpi_operation_test {

namespace {

using namespace coracle::mpi;
using coracle::internals::Reduction;
using coracle::mpi::tests::error_of;

Datatype& type(const char* name) {
  Datatype* found = predefined_datatype(name);
  REQUIRE(found != nullptr);
  return *found;
}

Op& operation(const char* name) {
  Op* found = predefined_op(name);
  REQUIRE(found != nullptr);
  return *found;
}

/// A committed derived datatype, freed at the end.
template <class Function, class... Arguments>
Ref<Datatype> derived(Function function, Arguments... arguments) {
  Datatype* made = nullptr;
  function(arguments..., made);
  type_commit(made);
  return Ref<Datatype>::adopt(made);
}

std::vector<int> numbers(std::size_t count, int first) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// Two-by-two matrices of int: their product is associative, but not commutative.
struct Matrix {
  int entries[4];
  bool operator==(const Matrix&) const = default;
};

Matrix product(const Matrix& a, const Matrix& b) {
  const int* x = a.entries;
  const int* y = b.entries;
  return {{x[0] * y[0] + x[1] * y[2], x[0] * y[1] + x[1] * y[3], x[2] * y[0] + x[3] * y[2], x[2] * y[1] + x[3] * y[3]}};
}

/// The program's function; `function` counts its calls.
void multiply(const void* in, void* inout, Count count, Datatype& datatype, void* function) {
  ++*static_cast<int*>(function);
  for (Count i = 0; i < count; ++i) {
    const auto* left = static_cast<const std::byte*>(in) + i * datatype.extent();
    auto* right = static_cast<std::byte*>(inout) + i * datatype.extent();
    Matrix a, b;
    std::memcpy(&a, left, sizeof a);
    std::memcpy(&b, right, sizeof b);
    b = product(a, b);
    std::memcpy(right, &b, sizeof b);
  }
}

Matrix matrix(int i) {
  return {{1, i, 2 - i, 3}};
}

/// result = left op right, in each way in which they may be the same memory.
template <class T>
void check_aliases(const Reduction& reduction, const std::vector<T>& left, const std::vector<T>& right,
                   const std::vector<T>& expected) {
  const auto bytes = [](std::vector<T>& of) { return reinterpret_cast<std::byte*>(of.data()); };
  const std::size_t length = left.size() * sizeof(T);
  std::vector<T> a = left, b = right, c(left.size());
  reduction.combine(bytes(a), bytes(b), bytes(c), length);
  CHECK(c == expected);
  reduction.combine(bytes(a), bytes(b), bytes(b), length);
  CHECK(b == expected);
  b = right;
  reduction.combine(bytes(a), bytes(b), bytes(a), length);
  CHECK(a == expected);
}

}  // namespace

TEST_CASE("mpi operations: predefined ones are found by name, and say whether they commute") {
  CHECK(predefined_op("MPI_SUM") == predefined_op("MPI_SUM"));
  CHECK(predefined_op("MPI_NONE") == nullptr);
  for (const char* name : {"MPI_MAX", "MPI_MIN", "MPI_SUM", "MPI_PROD", "MPI_LAND", "MPI_BAND", "MPI_LOR", "MPI_BOR",
                           "MPI_LXOR", "MPI_BXOR", "MPI_MINLOC", "MPI_MAXLOC", "MPI_REPLACE", "MPI_NO_OP"}) {
    CHECK(operation(name).name() == std::string(name));
    bool commutes = false;
    op_commutative(&operation(name), commutes);
    CHECK(commutes == (std::string(name) != "MPI_REPLACE" && std::string(name) != "MPI_NO_OP"));
    Op* op = &operation(name);
    CHECK(error_of([&] { op_free(op); }).is(ErrorClass::op, std::string(name) + " is predefined"));
  }
}

TEST_CASE("mpi operations: what MPI does not define is refused with both names") {
  const auto refused = [](const char* op, const char* datatype) {
    long double in[8] = {}, inout[8] = {};
    const auto caught = error_of([&] { reduce_local(in, inout, 1, &type(datatype), &operation(op)); });
    CHECK_MESSAGE(caught.is(ErrorClass::op, std::string(op) + " is not defined for " + datatype), caught.text);
    CHECK(error_of([&] { PreparedReduction(operation(op), type(datatype)); }).code == caught.code);
  };
  refused("MPI_BAND", "MPI_DOUBLE");
  refused("MPI_LAND", "MPI_FLOAT");
  refused("MPI_MAX", "MPI_C_DOUBLE_COMPLEX");
  refused("MPI_SUM", "MPI_C_BOOL");
  refused("MPI_SUM", "MPI_LOGICAL");
  refused("MPI_SUM", "MPI_DOUBLE_INT");
  refused("MPI_MINLOC", "MPI_DOUBLE");
  refused("MPI_SUM", "MPI_PACKED");
  refused("MPI_MAX", "MPI_WCHAR");
}

TEST_CASE("mpi operations: MPI_Reduce_local combines in the order in, inout") {
  const std::vector<int> in = numbers(5, 1);
  std::vector<int> inout = numbers(5, 10);
  reduce_local(in.data(), inout.data(), 4, &type("MPI_INT"), &operation("MPI_SUM"));
  CHECK(inout == std::vector<int>{11, 13, 15, 17, 14});
  reduce_local(nullptr, nullptr, 0, &type("MPI_INT"), &operation("MPI_SUM"));
}

TEST_CASE("mpi operations: wrong arguments of MPI_Reduce_local are told") {
  int in = 1, inout = 2;
  Datatype* integer = &type("MPI_INT");
  Op* sum = &operation("MPI_SUM");
  const auto code = [](auto call) { return static_cast<ErrorClass>(error_of(call).code); };
  CHECK(error_of([&] { reduce_local(&in, &inout, -3, integer, sum); }).is(ErrorClass::count, "-3"));
  CHECK(code([&] { reduce_local(&in, &inout, 1, nullptr, sum); }) == ErrorClass::type);
  CHECK(code([&] { reduce_local(&in, &inout, 1, integer, nullptr); }) == ErrorClass::op);
  CHECK(code([&] { reduce_local(kInPlace, &inout, 1, integer, sum); }) == ErrorClass::buffer);
  CHECK(code([&] { reduce_local(&inout, &inout, 1, integer, sum); }) == ErrorClass::buffer);
  CHECK(code([&] { reduce_local(&in, &inout, 1, integer, &operation("MPI_REPLACE")); }) == ErrorClass::op);
  CHECK(inout == 2);
}

TEST_CASE("mpi operations: derived datatypes of one basic type, with and without gaps") {
  const Ref<Datatype> three = derived(type_contiguous, 3, &type("MPI_INT"));
  std::vector<int> inout = numbers(6, 0);
  const std::vector<int> in(6, 100);
  operation("MPI_SUM").apply(in.data(), inout.data(), 2, *three);
  CHECK(inout == numbers(6, 100));

  const Ref<Datatype> column = derived(type_vector, 3, 1, 2, &type("MPI_INT"));
  inout = numbers(6, 0);
  operation("MPI_SUM").apply(in.data(), inout.data(), 1, *column);
  CHECK(inout == std::vector<int>{100, 1, 102, 3, 104, 5});
  operation("MPI_REPLACE").apply(in.data(), inout.data(), 1, *column);
  CHECK(inout == std::vector<int>{100, 1, 100, 3, 100, 5});
  operation("MPI_NO_OP").apply(in.data(), inout.data(), 1, *column);
  CHECK(inout == std::vector<int>{100, 1, 100, 3, 100, 5});
}

TEST_CASE("mpi operations: scattered values are combined by pieces") {
  constexpr std::size_t kValues = 5000;
  const Ref<Datatype> even = derived(type_vector, Count{kValues}, 1, 2, &type("MPI_INT"));
  std::vector<int> inout = numbers(2 * kValues, 0);
  const std::vector<int> in = numbers(2 * kValues, 1000);
  operation("MPI_SUM").apply(in.data(), inout.data(), 1, *even);
  for (std::size_t i = 0; i < 2 * kValues; ++i) {
    const int value = static_cast<int>(i);
    REQUIRE(inout[i] == (i % 2 == 0 ? 2 * value + 1000 : value));
  }
}

TEST_CASE("mpi reductions: of a basic type the program's buffer is combined as it is") {
  PreparedReduction prepared(operation("MPI_SUM"), type("MPI_INT"));
  CHECK(prepared.works_in_place());
  CHECK(prepared.element_bytes() == 4);
  CHECK(prepared.reduction().commutative);
  std::vector<int> sums(100);
  for (int i = 0; i < 100; ++i) sums[static_cast<std::size_t>(i)] = 7 + 2 * i;
  check_aliases(prepared.reduction(), numbers(100, 0), numbers(100, 7), sums);
}

TEST_CASE("mpi reductions: of a contiguous datatype all elements of a value are combined") {
  const Ref<Datatype> two = derived(type_contiguous, 2, &type("MPI_INT"));
  PreparedReduction prepared(operation("MPI_MAX"), *two);
  CHECK(prepared.works_in_place());
  CHECK(prepared.element_bytes() == 8);
  using Values = std::vector<int>;
  check_aliases(prepared.reduction(), Values{1, 9, 3, 9}, Values{5, 2, 7, 2}, Values{5, 9, 7, 9});
}

TEST_CASE("mpi reductions: the program's function keeps the order, whichever memory is the result's") {
  int calls = 0;
  const Ref<Op> op = Ref<Op>::adopt(create_op(multiply, &calls, false));
  const Ref<Datatype> four = derived(type_contiguous, 4, &type("MPI_INT"));
  PreparedReduction prepared(*op, *four);
  CHECK(prepared.works_in_place());
  CHECK_FALSE(prepared.reduction().commutative);
  std::vector<Matrix> left, right, expected;
  for (int i = 0; i < 1000; ++i) {
    left.push_back(matrix(i));
    right.push_back(matrix(i / 3 + 1));
    expected.push_back(product(left.back(), right.back()));
  }
  check_aliases(prepared.reduction(), left, right, expected);
  // Into the left argument, by pieces of 4 KiB; the others at once.
  CHECK(calls == 2 + 4);
}

TEST_CASE("mpi reductions: an element larger than a piece goes alone") {
  int calls = 0;
  const Ref<Op> op = Ref<Op>::adopt(create_op(
      [](const void* in, void* inout, Count count, Datatype& datatype, void* function) {
        ++*static_cast<int*>(function);
        const Count values = count * datatype.size() / 4;
        for (Count i = 0; i < values; ++i)
          static_cast<int*>(inout)[i] = static_cast<const int*>(in)[i] - static_cast<int*>(inout)[i];
      },
      &calls, false));
  const Ref<Datatype> large = derived(type_contiguous, 3000, &type("MPI_INT"));
  PreparedReduction prepared(*op, *large);
  check_aliases(prepared.reduction(), numbers(6000, 5), numbers(6000, 2), std::vector<int>(6000, 3));
  CHECK(calls == 2 + 2);
}

TEST_CASE("mpi reductions: pairs with gaps go by scratch memory, and the gaps stay") {
  struct Pair {
    double value;
    std::int32_t index;
    std::int32_t gap;
    bool operator==(const Pair&) const = default;
  };
  PreparedReduction prepared(operation("MPI_MINLOC"), type("MPI_DOUBLE_INT"));
  CHECK_FALSE(prepared.works_in_place());
  CHECK(prepared.element_bytes() == 16);
  std::vector<Pair> mine = {{3, 1, 70}, {5, 1, 71}};
  const std::vector<Pair> others = {{3, 0, 80}, {9, 0, 81}};
  alignas(16) std::byte sum[32], other[32];
  prepared.load(mine.data(), 2, sum);
  prepared.load(others.data(), 2, other);
  prepared.reduction().combine(sum, other, sum, sizeof sum);
  prepared.store(sum, 2, mine.data());
  CHECK(mine == std::vector<Pair>{{3, 0, 70}, {5, 1, 71}});
}

TEST_CASE("mpi reductions: values that lie in each other are taken apart") {
  // Columns of a matrix of 3 rows and 2 columns: resized, so that the next begins beside.
  const Ref<Datatype> column = derived(type_vector, 3, 1, 2, &type("MPI_INT"));
  const Ref<Datatype> columns = derived(type_create_resized, column.get(), 0, 4);
  PreparedReduction prepared(operation("MPI_SUM"), *columns);
  CHECK_FALSE(prepared.works_in_place());
  const auto bytes = static_cast<std::size_t>(2 * prepared.element_bytes());
  std::vector<std::byte> sum(bytes), other(bytes);
  std::vector<int> mine = numbers(6, 0);
  const std::vector<int> others = numbers(6, 50);
  prepared.load(mine.data(), 2, sum.data());
  prepared.load(others.data(), 2, other.data());
  prepared.reduction().combine(sum.data(), other.data(), sum.data(), bytes);
  prepared.store(sum.data(), 2, mine.data());
  CHECK(mine == std::vector<int>{50, 52, 54, 56, 58, 60});
}

TEST_CASE("mpi reductions: a lower bound that is not 0 is not the program's to care for") {
  const int length = 1;
  const int displacement = 2;
  const Ref<Datatype> third = derived(type_indexed, 1, Numbers(&length), Numbers(&displacement), &type("MPI_INT"));
  PreparedReduction prepared(operation("MPI_SUM"), *third);
  CHECK(prepared.element_bytes() == 4);
  std::vector<int> mine = numbers(5, 0);
  std::vector<int> others(5, 100);
  int sum[3], other[3];
  prepared.load(mine.data(), 3, reinterpret_cast<std::byte*>(sum));
  prepared.load(others.data(), 3, reinterpret_cast<std::byte*>(other));
  auto* result = reinterpret_cast<std::byte*>(sum);
  prepared.reduction().combine(reinterpret_cast<std::byte*>(other), result, result, sizeof sum);
  prepared.store(result, 3, mine.data());
  CHECK(mine == std::vector<int>{0, 1, 102, 103, 104});
}

TEST_CASE("mpi reductions: operation and datatype live until the reduction has ended") {
  int calls = 0;
  Op* op = create_op(multiply, &calls, false);
  Ref<Datatype> four = derived(type_contiguous, 4, &type("MPI_INT"));
  PreparedReduction prepared(*op, *four);
  op_free(op);
  CHECK(op == nullptr);
  four = Ref<Datatype>();
  check_aliases(prepared.reduction(), std::vector<Matrix>{matrix(2)}, std::vector<Matrix>{matrix(5)},
                std::vector<Matrix>{product(matrix(2), matrix(5))});
  CHECK(calls == 3);
}

}  // namespace mpi_operation_test
