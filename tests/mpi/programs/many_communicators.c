/* Communicators in the making several at once, in any order; thousands that live at once; and ten thousand one after
 * another. */
#include "check.h"

enum { kHeld = 1500, kMade = 10000, kRounds = 20 };

static int sum_over(MPI_Comm comm, int mine) {
  int sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum;
}

static int sum_of_ranks(void) {
  return size_of_world * (size_of_world - 1) / 2;
}

/* Each has messages of its own: `count` communicators of all, one message on each, received in the opposite order. */
static void tell_apart(const MPI_Comm* comms, int count) {
  const int to = (rank_of_world + 1) % size_of_world, from = (rank_of_world + size_of_world - 1) % size_of_world;
  MPI_Request* sends = allocate((size_t)count * sizeof *sends);
  int* values = allocate((size_t)count * sizeof *values);
  for (int i = 0; i < count; ++i) {
    values[i] = made_up(rank_of_world, i, 0);
    MPI_Isend(&values[i], 1, MPI_INT, to, 0, comms[i], &sends[i]);
  }
  for (int i = count - 1; i >= 0; --i) {
    int value = -1;
    MPI_Recv(&value, 1, MPI_INT, from, 0, comms[i], MPI_STATUS_IGNORE);
    REQUIRE(value == made_up(from, i, 0), "communicator %d of %d", i, count);
  }
  MPI_Waitall(count, sends, MPI_STATUSES_IGNORE);
  free(values);
  free(sends);
}

/* Duplicates of two communicators, asked for in another order at every other rank. */
static void cross_orders(MPI_Comm one, MPI_Comm other) {
  for (int round = 0; round < kRounds; ++round) {
    const int turned = (rank_of_world + round) % 2;
    MPI_Comm copies[2];
    MPI_Request requests[2];
    for (int i = 0; i < 2; ++i) {
      const int which = turned ? 1 - i : i;
      MPI_Comm_idup(which == 0 ? one : other, &copies[which], &requests[i]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    tell_apart(copies, 2);
    for (int i = 0; i < 2; ++i) {
      REQUIRE(sum_over(copies[i], rank_of_world) == sum_of_ranks(), "copy %d, round %d", i, round);
      MPI_Comm_free(&copies[i]);
    }
  }
}

/* A duplicate may be under way while the same communicator is used for other collectives, and for more duplicates. */
static void beside_collectives(MPI_Comm comm) {
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm copies[3];
    MPI_Request requests[5];
    int mine = rank_of_world, sum = 0, root = round % size_of_world, told = rank_of_world == root ? round : -1;
    MPI_Comm_idup(comm, &copies[0], &requests[0]);
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[1]);
    MPI_Comm_idup(comm, &copies[1], &requests[2]);
    MPI_Ibcast(&told, 1, MPI_INT, root, comm, &requests[3]);
    MPI_Comm_idup(comm, &copies[2], &requests[4]);
    MPI_Barrier(comm);
    for (int i = 4; i >= 0; --i) MPI_Wait(&requests[(i + rank_of_world) % 5], MPI_STATUS_IGNORE);
    REQUIRE(sum == sum_of_ranks() && told == round, "sum %d, told %d", sum, told);
    tell_apart(copies, 3);
    for (int i = 0; i < 3; ++i) MPI_Comm_free(&copies[i]);
  }
}

/* Others are made while a duplicate is under way: by all, and by some alone. */
static void beside_others(MPI_Comm comm) {
  MPI_Group all, some;
  int evens[256], count = 0;
  for (int rank = 0; rank < size_of_world; rank += 2) evens[count++] = rank;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, count, evens, &some);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm copy, half, made = MPI_COMM_NULL, copy_of_made;
    MPI_Request request, another;
    MPI_Comm_idup(comm, &copy, &request);
    if (rank_of_world % 2 == 0) {
      MPI_Comm_create_group(MPI_COMM_WORLD, some, round, &made);
      MPI_Comm_idup(made, &copy_of_made, &another);
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank_of_world % 2, -rank_of_world, &half);
    if (made != MPI_COMM_NULL) {
      MPI_Wait(&another, MPI_STATUS_IGNORE);
      REQUIRE(sum_over(copy_of_made, 1) == count && sum_over(made, 1) == count, "round %d", round);
      MPI_Comm_free(&copy_of_made);
      MPI_Comm_free(&made);
    }
    REQUIRE(sum_over(half, 1) == (size_of_world + 1 - rank_of_world % 2) / 2, "round %d", round);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    REQUIRE(sum_over(copy, rank_of_world) == sum_of_ranks(), "round %d", round);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
  }
  MPI_Group_free(&some);
  MPI_Group_free(&all);
}

static void hold_many(void) {
  MPI_Comm* comms = allocate(kHeld * sizeof *comms);
  for (int i = 0; i < kHeld; ++i) {
    if (i % 3 == 0)
      MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    else
      MPI_Comm_split(MPI_COMM_WORLD, 0, i % 3 == 1 ? rank_of_world : -rank_of_world, &comms[i]);
  }
  for (int i = 0; i < kHeld; ++i) REQUIRE(sum_over(comms[i], made_up(i, 0, 0) % 1000) >= 0, "communicator %d", i);
  for (int i = 0; i < kHeld; ++i) {
    double values[3000], sums[3000];
    if (i % 100 != 0) continue;
    for (int k = 0; k < 3000; ++k) values[k] = i + k;
    MPI_Allreduce(values, sums, 3000, MPI_DOUBLE, MPI_SUM, comms[i]);
    for (int k = 0; k < 3000; ++k) REQUIRE(sums[k] == size_of_world * values[k], "element %d of communicator %d", k, i);
  }
  /* Half of them go, in another order, and new ones take their place. */
  for (int i = kHeld - 2; i >= 0; i -= 2) MPI_Comm_free(&comms[i]);
  for (int i = 0; i < kHeld; i += 2) MPI_Comm_dup(comms[1], &comms[i]);
  for (int i = 0; i < kHeld; ++i) REQUIRE(sum_over(comms[i], 1) == size_of_world, "communicator %d", i);
  for (int i = 0; i < kHeld; ++i) MPI_Comm_free(&comms[i]);
  free(comms);
}

static void make_and_free(void) {
  for (int i = 0; i < kMade; ++i) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (i % 64 == 0) REQUIRE(sum_over(comm, 1) == size_of_world, "communicator %d", i);
    MPI_Comm_free(&comm);
  }
}

int main(int argc, char** argv) {
  MPI_Comm one, other;
  start_checks(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &one);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  cross_orders(one, other);
  beside_collectives(one);
  beside_others(other);
  MPI_Comm_free(&one);
  MPI_Comm_free(&other);
  hold_many();
  make_and_free();
  return end_checks("many_communicators");
}
