! The same in Fortran, in fixed form, by the module mpi.
      program mpi_user
      use mpi
      implicit none
      integer me, ranks, total, ierr
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, me, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
      call MPI_ALLREDUCE(me, total, 1, MPI_INTEGER, MPI_SUM,
     &  MPI_COMM_WORLD, ierr)
      if (total /= ranks * (ranks - 1) / 2) then
        call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
      end if
      if (me == 0) print '(a,i0,a)', 'MPI: ', ranks, ' processes'
      call MPI_FINALIZE(ierr)
      end
