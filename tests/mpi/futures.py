"""A pool of processes by mpi4py.futures: `coracle run -n 4 python3 -m mpi4py.futures futures.py`. It is an inter-communicator
of one process on one side and all others on the other."""
import os
import sys

from mpi4py import MPI
from mpi4py.futures import MPIPoolExecutor


def square(number):
    return number * number


def fail(number):
    raise ValueError(number)


def place(_):
    return MPI.COMM_WORLD.Get_rank(), os.getpid()


def main():
    with MPIPoolExecutor() as pool:
        assert sum(pool.map(square, range(300))) == 8955050
        assert list(pool.starmap(pow, ((2, i) for i in range(20)), chunksize=3)) == [2**i for i in range(20)]
        assert pool.submit(len, bytes(3_000_000)).result(timeout=60) == 3_000_000
        failed = pool.submit(fail, 5)
        assert isinstance(failed.exception(timeout=60), ValueError)
        workers = set(pool.map(place, range(300)))
    assert all(rank > 0 for rank, _ in workers), workers
    print(f"{len(workers)} processes at work")


if __name__ == "__main__":
    sys.exit(main())
