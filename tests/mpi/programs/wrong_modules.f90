! Two processes call different collectives by the module mpi_f08: read by ../wrong_programs.py.
program wrong_modules
  use mpi_f08
  implicit none
  integer :: me, values(12)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  values = me
  if (me == 0) call MPI_Bcast(values, 12, MPI_INTEGER, 0, MPI_COMM_WORLD)
  if (me == 1) call MPI_Allreduce(MPI_IN_PLACE, values, 12, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
end program
