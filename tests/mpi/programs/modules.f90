! MPI from Fortran by the module mpi_f08, whose library is Open MPI's: it calls ours.
program modules
  use mpi_f08
  implicit none
  type(MPI_Request) :: requests(2)
  type(MPI_Comm) :: comm
  type(MPI_Status) :: status
  integer :: me, ranks, left, right, to, from, length, count
  character(len=MPI_MAX_OBJECT_NAME) :: name
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  left = mod(me + ranks - 1, ranks)
  right = mod(me + 1, ranks)
  to = me
  call MPI_Irecv(from, 1, MPI_INTEGER, left, 4, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(to, 1, MPI_INTEGER, right, 4, MPI_COMM_WORLD, requests(2))
  call MPI_Wait(requests(1), status)
  call require(status%MPI_SOURCE == left .and. status%MPI_TAG == 4, 'a status')
  call MPI_Get_count(status, MPI_INTEGER, count)
  call require(count == 1 .and. from == left, 'a message')
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  call require(requests(2) == MPI_REQUEST_NULL, 'the requests are gone')
  call MPI_Allreduce(MPI_IN_PLACE, to, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call require(to == ranks * (ranks - 1) / 2, 'a sum')
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_set_name(comm, 'another world')
  call MPI_Comm_get_name(comm, name, length)
  call require(name == 'another world' .and. length == 13, 'a name')
  call MPI_Comm_free(comm)
  call require(comm == MPI_COMM_NULL, 'the communicator is gone')
  call MPI_Sizeof(me, length)
  call require(length == 4, 'a size')
  if (me == 0) print '(a,i0,a)', 'modules: all is well on ', ranks, ' processes'
  call MPI_Finalize()

contains

  subroutine require(condition, text)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: text
    if (condition) return
    print '(a,i0,2a)', 'rank ', me, ': not so: ', text
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine
end program
