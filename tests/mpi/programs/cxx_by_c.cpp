// MPI from C++ by the functions of C: handles in containers and as constants, functions of C++ handed over.
#include <mpi.h>

#include <cstdio>
#include <map>
#include <vector>

namespace {

template <class T>
struct DatatypeOf;
template <>
struct DatatypeOf<int> {
  static MPI_Datatype value() { return MPI_INT; }
};
template <>
struct DatatypeOf<double> {
  static MPI_Datatype value() { return MPI_DOUBLE; }
};

// Before main: addresses of the library's objects.
const MPI_Op kSum = MPI_SUM;
const std::map<int, MPI_Datatype> kBySize{{4, MPI_FLOAT}, {8, MPI_DOUBLE}};

void require(bool condition, const char* text) {
  if (condition) return;
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::printf("rank %d: not so: %s\n", rank, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

template <class T>
T sum_of_all(T mine, MPI_Op op) {
  T all{};
  MPI_Allreduce(&mine, &all, 1, DatatypeOf<T>::value(), op, MPI_COMM_WORLD);
  return all;
}

extern "C" void add_up(void* in, void* inout, int* count, MPI_Datatype* datatype) {
  if (*datatype != MPI_DOUBLE) return;
  for (int i = 0; i < *count; ++i) static_cast<double*>(inout)[i] += static_cast<double*>(in)[i];
}

void pass_around(int rank, int size) {
  const std::vector<double> mine(100, rank);
  std::vector<double> left(100);
  MPI_Status status;
  MPI_Sendrecv(mine.data(), 100, kBySize.at(8), (rank + 1) % size, 5, left.data(), 100, kBySize.at(8),
               (rank + size - 1) % size, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  int count = 0;
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  require(status.MPI_TAG == 5 && count == 100 && left[99] == (rank + size - 1) % size, "a message");
}

void count_copies() {
  static int copies;
  const auto copy = [](MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
    ++copies;
    return MPI_COMM_DUP_FN(comm, keyval, extra, in, out, flag);
  };
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &keyval, nullptr);
  MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &copies);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  void* value = nullptr;
  int flag = 0;
  MPI_Comm_get_attr(comm, keyval, &value, &flag);
  require(copies == 1 && flag != 0 && value == &copies, "the copy of an attribute");
  MPI_Comm_free(&comm);
  MPI_Comm_free_keyval(&keyval);
  require(comm == MPI_COMM_NULL && keyval == MPI_KEYVAL_INVALID, "what is freed is null");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = -1;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  require(sum_of_all(rank, kSum) == size * (size - 1) / 2, "a sum");
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(add_up, 1, &op);
  require(sum_of_all(1.5, op) == 1.5 * size, "a sum by an operation of the program");
  MPI_Op_free(&op);
  pass_around(rank, size);
  count_copies();
  if (rank == 0) std::printf("cxx_by_c: all is well on %d processes\n", size);
  MPI_Finalize();
}
