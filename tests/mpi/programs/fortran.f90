! MPI from Fortran by mpif.h: numbers for handles, constants that are places, texts padded by blanks, LOGICALs, places
! in arrays from 1 on, and the program's functions.
program fortran
  implicit none
  include 'mpif.h'
  external :: add_up, copy_attribute, delete_attribute, handle_error, query_request, free_request, cancel_request
  integer :: ierr, me, ranks, left, right
  integer :: handled
  common /handling/ handled
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, me, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
  left = mod(me + ranks - 1, ranks)
  right = mod(me + 1, ranks)
  call messages
  call collectives
  call datatypes
  call attributes
  call texts
  call generalized
  call errors
  if (me == 0) print '(a,i0,a)', 'fortran: all is well on ', ranks, ' processes'
  call MPI_FINALIZE(ierr)

contains

  subroutine require(condition, text)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: text
    if (condition) return
    print '(a,i0,2a)', 'rank ', me, ': not so: ', text
    call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
  end subroutine

  subroutine messages
    integer :: status(MPI_STATUS_SIZE), requests(3), statuses(MPI_STATUS_SIZE, 3), places(3)
    integer :: to, from, place, done, number
    logical :: flag
    to = me
    from = -1
    call MPI_SENDRECV(to, 1, MPI_INTEGER, right, 3, from, 1, MPI_INTEGER, left, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
    call require(from == left .and. status(MPI_SOURCE) == left .and. status(MPI_TAG) == 3, 'sent and received')
    call MPI_GET_COUNT(status, MPI_INTEGER, number, ierr)
    call require(number == 1, 'one INTEGER')
    requests(1) = MPI_REQUEST_NULL
    call MPI_IRECV(from, 1, MPI_INTEGER, left, 4, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_ISEND(to, 1, MPI_INTEGER, right, 4, MPI_COMM_WORLD, requests(3), ierr)
    call MPI_WAITANY(3, requests, place, MPI_STATUS_IGNORE, ierr)
    call require(place == 2 .or. place == 3, 'places are from 1 on')
    call require(requests(place) == MPI_REQUEST_NULL, 'the request is gone')
    call MPI_WAITALL(3, requests, MPI_STATUSES_IGNORE, ierr)
    call MPI_WAITANY(3, requests, place, status, ierr)
    call require(place == MPI_UNDEFINED, 'nothing is left')
    call MPI_IRECV(from, 1, MPI_INTEGER, MPI_PROC_NULL, 4, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_WAITSOME(3, requests, done, places, statuses, ierr)
    call require(done == 1 .and. places(1) == 2 .and. statuses(MPI_SOURCE, 1) == MPI_PROC_NULL, 'some')
    call MPI_TEST(requests(2), flag, status, ierr)
    call require(flag, 'a null request has ended')
  end subroutine

  subroutine collectives
    real(8) :: mine, sum
    integer :: op, i, all(1000), none(1)
    none = 0
    mine = me
    call MPI_ALLREDUCE(MPI_IN_PLACE, mine, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    call require(int(mine) == ranks * (ranks - 1) / 2, 'a sum in place')
    call MPI_OP_CREATE(add_up, .true., op, ierr)
    mine = me
    call MPI_ALLREDUCE(mine, sum, 1, MPI_DOUBLE_PRECISION, op, MPI_COMM_WORLD, ierr)
    call require(int(sum) == ranks * (ranks - 1) / 2, 'a sum by an operation of the program')
    call MPI_OP_FREE(op, ierr)
    call require(op == MPI_OP_NULL, 'the operation is gone')
    all(me + 1) = me
    call MPI_ALLGATHER(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call require(all(1) == 0 .and. all(ranks) == ranks - 1, 'gathered in place')
    call MPI_BCAST(all, ranks, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    do i = 1, ranks
      call require(all(i) == i - 1, 'broadcast')
    end do
  end subroutine

  subroutine datatypes
    integer :: type, struct, lengths(2), types(2), comm, source, dest, dims(1), coords(1)
    integer(kind=MPI_ADDRESS_KIND) :: places(2), lower, extent
    integer :: absolute(3)
    logical :: periods(1)
    call MPI_TYPE_VECTOR(2, 1, 3, MPI_REAL8, type, ierr)
    call MPI_TYPE_COMMIT(type, ierr)
    call MPI_TYPE_GET_EXTENT(type, lower, extent, ierr)
    call require(lower == 0 .and. extent == 32, 'the extent of a vector')
    lengths = (/2, 1/)
    types = (/MPI_INTEGER, type/)
    places = (/0_MPI_ADDRESS_KIND, 16_MPI_ADDRESS_KIND/)
    call MPI_TYPE_CREATE_STRUCT(2, lengths, places, types, struct, ierr)
    call MPI_TYPE_SIZE(struct, dims(1), ierr)
    call require(dims(1) == 24, 'the size of a struct')
    call MPI_TYPE_FREE(struct, ierr)
    call MPI_TYPE_FREE(type, ierr)
    call require(type == MPI_DATATYPE_NULL, 'the datatype is gone')
    absolute = me
    call MPI_GET_ADDRESS(absolute, places(1), ierr)
    lengths(1) = 3
    call MPI_TYPE_CREATE_HINDEXED(1, lengths, places, MPI_INTEGER, type, ierr)
    call MPI_TYPE_COMMIT(type, ierr)
    call MPI_BCAST(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD, ierr)
    call require(all(absolute == 0), 'from MPI_BOTTOM on')
    call MPI_TYPE_FREE(type, ierr)
    call MPI_CART_CREATE(MPI_COMM_WORLD, 1, (/ranks/), (/.false./), .false., comm, ierr)
    call MPI_CART_SHIFT(comm, 0, 1, source, dest, ierr)
    call require((me == 0) .eqv. (source == MPI_PROC_NULL), 'who has no neighbour')
    call MPI_CART_GET(comm, 1, dims, periods, coords, ierr)
    call require(dims(1) == ranks .and. .not. periods(1) .and. coords(1) == me, 'a grid')
    call MPI_COMM_FREE(comm, ierr)
  end subroutine

  subroutine attributes
    integer :: keyval, comm
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_COMM_CREATE_KEYVAL(copy_attribute, delete_attribute, keyval, 7_MPI_ADDRESS_KIND, ierr)
    value = 41
    call MPI_COMM_SET_ATTR(MPI_COMM_WORLD, keyval, value, ierr)
    call MPI_COMM_DUP(MPI_COMM_WORLD, comm, ierr)
    call MPI_COMM_GET_ATTR(comm, keyval, value, flag, ierr)
    call require(flag .and. value == 48, 'the copy of an attribute')
    call MPI_COMM_FREE(comm, ierr)
    call MPI_COMM_DELETE_ATTR(MPI_COMM_WORLD, keyval, ierr)
    call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, keyval, value, flag, ierr)
    call require(.not. flag, 'the attribute is gone')
    call MPI_COMM_FREE_KEYVAL(keyval, ierr)
    call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
    call require(flag .and. value >= 32767, 'the largest tag')
  end subroutine

  subroutine texts
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=12) :: value
    integer :: info, length
    logical :: flag
    call MPI_COMM_SET_NAME(MPI_COMM_SELF, 'me   ', ierr)
    call MPI_COMM_GET_NAME(MPI_COMM_SELF, name, length, ierr)
    call require(name == 'me' .and. length == 2, 'a name')
    call MPI_INFO_CREATE(info, ierr)
    call MPI_INFO_SET(info, 'key  ', '  some value  ', ierr)
    call MPI_INFO_GET(info, 'key', len(value), value, flag, ierr)
    call require(flag .and. value == 'some value', 'a value')
    call MPI_INFO_FREE(info, ierr)
    call require(info == MPI_INFO_NULL, 'the info is gone')
  end subroutine

  ! The functions share the variable that the request was made with.
  subroutine generalized
    integer(kind=MPI_ADDRESS_KIND) :: state
    integer :: request, status(MPI_STATUS_SIZE), number
    logical :: flag
    common /requesting/ state  ! so that compilers know that calls may change it
    state = 5
    call MPI_GREQUEST_START(query_request, free_request, cancel_request, state, request, ierr)
    call MPI_TEST(request, flag, status, ierr)
    call require(.not. flag, 'the request has not ended')
    call MPI_CANCEL(request, ierr)
    call require(state == 105, 'the cancel function was called, once')
    call MPI_GREQUEST_COMPLETE(request, ierr)
    call MPI_WAIT(request, status, ierr)
    call MPI_GET_COUNT(status, MPI_INTEGER, number, ierr)
    call require(number == 105 .and. status(MPI_TAG) == 17, 'the query function gave the status')
    call require(state == 1105, 'the free function was called, once')
    call require(request == MPI_REQUEST_NULL, 'the request is gone')
  end subroutine

  subroutine errors
    integer :: handler, code, class, to
    handled = 0
    to = me
    call MPI_COMM_CREATE_ERRHANDLER(handle_error, handler, ierr)
    call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, handler, ierr)
    call MPI_ERRHANDLER_FREE(handler, ierr)
    call MPI_SEND(to, 1, MPI_INTEGER, ranks, 0, MPI_COMM_WORLD, code)
    call MPI_ERROR_CLASS(code, class, ierr)
    call require(class == MPI_ERR_RANK .and. handled == MPI_ERR_RANK, 'the class of an error')
    call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierr)
  end subroutine
end program

subroutine add_up(in, inout, length, type)
  integer :: length, type
  real(8) :: in(length), inout(length)
  inout = in + inout
end subroutine

subroutine copy_attribute(comm, keyval, extra, in, out, flag, ierr)
  include 'mpif.h'
  integer :: comm, keyval, ierr
  integer(kind=MPI_ADDRESS_KIND) :: extra, in, out
  logical :: flag
  out = in + extra
  flag = .true.
  ierr = MPI_SUCCESS
end subroutine

subroutine delete_attribute(comm, keyval, value, extra, ierr)
  include 'mpif.h'
  integer :: comm, keyval, ierr
  integer(kind=MPI_ADDRESS_KIND) :: value, extra
  ierr = MPI_SUCCESS
end subroutine

subroutine handle_error(comm, code)
  include 'mpif.h'
  integer :: comm, code, handled, ierr
  common /handling/ handled
  call MPI_ERROR_CLASS(code, handled, ierr)
end subroutine

subroutine query_request(state, status, ierr)
  implicit none
  include 'mpif.h'
  integer(kind=MPI_ADDRESS_KIND) :: state
  integer :: status(MPI_STATUS_SIZE), ierr
  status(MPI_SOURCE) = MPI_UNDEFINED
  status(MPI_TAG) = 17
  call MPI_STATUS_SET_CANCELLED(status, .false., ierr)
  call MPI_STATUS_SET_ELEMENTS(status, MPI_INTEGER, int(state), ierr)
  ierr = MPI_SUCCESS
end subroutine

subroutine free_request(state, ierr)
  implicit none
  include 'mpif.h'
  integer(kind=MPI_ADDRESS_KIND) :: state
  integer :: ierr
  state = state + 1000
  ierr = MPI_SUCCESS
end subroutine

subroutine cancel_request(state, complete, ierr)
  implicit none
  include 'mpif.h'
  integer(kind=MPI_ADDRESS_KIND) :: state
  logical :: complete
  integer :: ierr
  if (.not. complete) state = state + 100
  ierr = MPI_SUCCESS
end subroutine
