! MPI from Fortran by the module mpi: explicit interfaces that take any buffer, constants, handle types, MPI_Sizeof.
program module
  use, intrinsic :: iso_c_binding
  use mpi
  implicit none
  integer :: me, ranks, left, right, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  left = mod(me + ranks - 1, ranks)
  right = mod(me + 1, ranks)
  call any_buffers
  call places
  call attributes
  call memory
  if (me == 0) print '(a,i0,a)', 'module: all is well on ', ranks, ' processes'
  call MPI_Finalize(ierr)

contains

  subroutine require(condition, text)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: text
    if (condition) return
    print '(a,i0,2a)', 'rank ', me, ': not so: ', text
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine

  ! A scalar, a matrix, a section of it that lies scattered, a text.
  subroutine any_buffers
    integer :: status(MPI_STATUS_SIZE), number
    real(kind(1d0)) :: table(4, 6), from(4, 6)
    character(len=5) :: word
    number = me
    call MPI_Allreduce(MPI_IN_PLACE, number, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call require(number == ranks * (ranks - 1) / 2, 'a scalar')
    table = me
    call MPI_Sendrecv(table, 24, MPI_DOUBLE_PRECISION, right, 3, from, 24, MPI_DOUBLE_PRECISION, left, MPI_ANY_TAG, &
      MPI_COMM_WORLD, status, ierr)
    call require(all(from == left) .and. status(MPI_SOURCE) == left .and. status(MPI_TAG) == 3, 'a matrix')
    table(2, :) = -1
    call MPI_Bcast(table(1:3:2, :), 12, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
    call require(all(table(1:3:2, :) == 0) .and. all(table(2, :) == -1) .and. all(table(4, :) == me), 'a section')
    word = merge('first', 'other', me == 0)
    call MPI_Bcast(word, len(word), MPI_CHARACTER, 0, MPI_COMM_WORLD, ierr)
    call require(word == 'first', 'a text')
  end subroutine

  ! What the library knows by its address.
  subroutine places
    integer :: requests(2), to, from
    to = me
    from = -1
    call MPI_Irecv(from, 1, MPI_INTEGER, left, 4, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Isend(to, 1, MPI_INTEGER, right, 4, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    call require(from == left .and. all(requests == MPI_REQUEST_NULL), 'statuses that are ignored')
    call MPI_Recv(from, 1, MPI_INTEGER, MPI_PROC_NULL, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call at_bottom
  end subroutine

  subroutine at_bottom
    integer :: datatype
    integer, target :: value
    integer(MPI_ADDRESS_KIND) :: address
    value = me
    call MPI_Get_address(value, address, ierr)
    call MPI_Type_create_hindexed(1, [1], [address], MPI_INTEGER, datatype, ierr)
    call MPI_Type_commit(datatype, ierr)
    call MPI_Bcast(MPI_BOTTOM, 1, datatype, ranks - 1, MPI_COMM_WORLD, ierr)
    call MPI_F_sync_reg(value)
    call require(value == ranks - 1, 'MPI_BOTTOM')
    call MPI_Type_free(datatype, ierr)
  end subroutine

  subroutine attributes
    integer :: keyval, comm
    integer(MPI_ADDRESS_KIND) :: extra, value
    logical :: flag
    type(MPI_Comm) :: typed
    extra = 0
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, extra, ierr)
    value = 5000000000_MPI_ADDRESS_KIND
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, value, ierr)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    typed%MPI_VAL = comm
    value = 0
    call MPI_Comm_get_attr(typed%MPI_VAL, keyval, value, flag, ierr)
    call require(flag .and. value == 5000000000_MPI_ADDRESS_KIND, 'an attribute')
    call MPI_Comm_free(comm, ierr)
  end subroutine

  subroutine memory
    type(C_PTR) :: place
    integer, pointer :: numbers(:)
    integer :: bytes
    call MPI_Sizeof(me, bytes, ierr)
    call require(bytes == 4, 'the size of an INTEGER')
    call MPI_Sizeof([1d0, 2d0], bytes, ierr)
    call require(bytes == 8, 'the size of a DOUBLE PRECISION')
    call MPI_Alloc_mem(int(10 * bytes, MPI_ADDRESS_KIND), MPI_INFO_NULL, place, ierr)
    call c_f_pointer(place, numbers, [20])
    numbers = me
    call require(sum(numbers) == 20 * me, 'memory')
    call MPI_Free_mem(numbers, ierr)
    call require(MPI_Wtime() > 0 .and. MPI_AINT_ADD(1_MPI_ADDRESS_KIND, 2_MPI_ADDRESS_KIND) == 3, 'functions')
  end subroutine
end program
