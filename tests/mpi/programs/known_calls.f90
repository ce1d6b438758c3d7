! Rank 0 waits for rank 1 at lines that are known, for call_sites.py.
program known_calls
  use mpi_f08
  implicit none
  integer :: rank, word
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  word = 0
  if (rank == 0) then
    call MPI_Recv(word, 1, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ! the receive
  else if (rank == 1) then
    call sleep(1)
    word = 5
    call MPI_Send(word, 1, MPI_INTEGER, 0, 7, MPI_COMM_WORLD)
  end if
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_Finalize()
end program known_calls
