// The C entry points that are written by hand as a whole; and how they are made.
#pragma once

#include "interfaces/mpi/openmpi/abi.hpp"

/// MPI_`name`, weak, over a PMPI_`name` that this file defines.
#define CORACLE_WEAK_TWIN(result, name, ...) \
  extern "C" [[gnu::weak, gnu::alias("PMPI_" #name)]] result MPI_##name(__VA_ARGS__)

namespace coracle::mpi::openmpi {
extern "C" {

int PMPI_Init(int* argc, char*** argv);
int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided);
int PMPI_Finalize();
int PMPI_Abort(MPI_Comm comm, int errorcode);
double PMPI_Wtime();
double PMPI_Wtick();
int PMPI_Pcontrol(int level, ...);

MPI_Fint PMPI_Comm_c2f(MPI_Comm handle);
MPI_Comm PMPI_Comm_f2c(MPI_Fint number);
MPI_Fint PMPI_Group_c2f(MPI_Group handle);
MPI_Group PMPI_Group_f2c(MPI_Fint number);
MPI_Fint PMPI_Type_c2f(MPI_Datatype handle);
MPI_Datatype PMPI_Type_f2c(MPI_Fint number);
MPI_Fint PMPI_Op_c2f(MPI_Op handle);
MPI_Op PMPI_Op_f2c(MPI_Fint number);
MPI_Fint PMPI_Info_c2f(MPI_Info handle);
MPI_Info PMPI_Info_f2c(MPI_Fint number);
MPI_Fint PMPI_Errhandler_c2f(MPI_Errhandler handle);
MPI_Errhandler PMPI_Errhandler_f2c(MPI_Fint number);
MPI_Fint PMPI_Request_c2f(MPI_Request handle);
MPI_Request PMPI_Request_f2c(MPI_Fint number);
MPI_Fint PMPI_Message_c2f(MPI_Message handle);
MPI_Message PMPI_Message_f2c(MPI_Fint number);
MPI_Fint PMPI_Win_c2f(MPI_Win handle);
MPI_Win PMPI_Win_f2c(MPI_Fint number);
MPI_Fint PMPI_File_c2f(MPI_File handle);
MPI_File PMPI_File_f2c(MPI_Fint number);
int PMPI_Status_c2f(const MPI_Status* status, MPI_Fint* fortran);
int PMPI_Status_f2c(const MPI_Fint* fortran, MPI_Status* status);

}  // extern "C"
}  // namespace coracle::mpi::openmpi
