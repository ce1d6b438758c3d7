// MPI's old interface of C++, whose library is Open MPI's: it calls ours, with functions of its own for the program's.
#include <mpi.h>

#include <cstdio>

namespace {

void require(bool condition, const char* text) {
  if (condition) return;
  std::printf("rank %d: not so: %s\n", MPI::COMM_WORLD.Get_rank(), text);
  MPI::COMM_WORLD.Abort(1);
}

void add_up(const void* in, void* inout, int count, const MPI::Datatype&) {
  for (int i = 0; i < count; ++i) static_cast<int*>(inout)[i] += static_cast<const int*>(in)[i];
}

int copy_attribute(const MPI::Comm&, int, void* extra, void* in, void* out, bool& flag) {
  *static_cast<void**>(out) = static_cast<char*>(in) + *static_cast<int*>(extra);
  flag = true;
  return MPI_SUCCESS;
}

int delete_attribute(MPI::Comm&, int, void*, void*) {
  return MPI_SUCCESS;
}

int handled = 0;

void handle(MPI::Comm&, int* code, ...) {
  handled = MPI::Get_error_class(*code);
}

}  // namespace

int main(int argc, char** argv) {
  MPI::Init(argc, argv);
  const int rank = MPI::COMM_WORLD.Get_rank();
  const int size = MPI::COMM_WORLD.Get_size();
  int sum = -1;
  MPI::COMM_WORLD.Allreduce(&rank, &sum, 1, MPI::INT, MPI::SUM);
  require(sum == size * (size - 1) / 2, "a sum");
  MPI::Op op;
  op.Init(add_up, true);
  sum = -1;
  MPI::COMM_WORLD.Allreduce(&rank, &sum, 1, MPI::INT, op);
  require(sum == size * (size - 1) / 2, "a sum by an operation of the program");
  op.Free();

  int step = 2;
  char values[4];
  void* value = nullptr;
  const int keyval = MPI::Comm::Create_keyval(copy_attribute, delete_attribute, &step);
  MPI::COMM_WORLD.Set_attr(keyval, values);
  MPI::Intracomm comm = MPI::COMM_WORLD.Dup();
  require(comm.Get_attr(keyval, &value) && value == values + 2, "the copy of an attribute");
  comm.Free();
  MPI::COMM_WORLD.Delete_attr(keyval);

  MPI::Errhandler handler = MPI::Comm::Create_errhandler(handle);
  MPI::COMM_WORLD.Set_errhandler(handler);
  MPI::COMM_WORLD.Send(&sum, 1, MPI::INT, size, 0);
  require(handled == MPI_ERR_RANK, "an error handler");
  MPI::COMM_WORLD.Set_errhandler(MPI::ERRORS_ARE_FATAL);
  if (rank == 0) std::printf("cxx: all is well on %d processes\n", size);
  MPI::Finalize();
}
