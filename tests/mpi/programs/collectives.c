/* The collectives that move data as it is: on several communicators, in all forms, with datatypes that differ between
   the sides, in place, of all roots, from nothing to 400,000 bytes. */
#include "collective_data.h"

static MPI_Comm comm;
static int me, members;
enum { MEMBERS_MAX = 64 };

static void try_bcast(int kind, int n, int root) {
  Buffer buffer = make_buffer(kind, n);
  Buffer expected = make_buffer(kind, n);
  put_elements(&expected, 0, n, 1, root);
  if (me == root) put_elements(&buffer, 0, n, 1, root);
  CALL(Bcast, bcast, buffer.at, count_in(kind, n), kind_types[kind], root, comm);
  compare_buffers(&buffer, &expected, "bcast");
}

static void try_gather(int sent, int received, int n, int root, int in_place) {
  int const takes = me == root;
  Buffer mine = make_buffer(sent, n);
  Buffer all = make_buffer(received, takes ? n * members : 0);
  Buffer expected = make_buffer(received, takes ? n * members : 0);
  put_elements(&mine, 0, n, 2, me);
  for (int i = 0; takes && i < members; ++i) put_elements(&expected, i * n, n, 2, i);
  if (takes && in_place) put_elements(&all, me * n, n, 2, me);
  if (takes && in_place)
    CALL(Gather, gather, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all.at, count_in(received, n), kind_types[received], root,
         comm);
  else
    CALL(Gather, gather, mine.at, count_in(sent, n), kind_types[sent], all.at, takes ? count_in(received, n) : -7,
         takes ? kind_types[received] : MPI_DATATYPE_NULL, root, comm);
  compare_buffers(&all, &expected, "gather");
  free_buffer(&mine);
}

static void try_gatherv(int sent, int received, int n, int root, int in_place) {
  int const takes = me == root;
  int elements[MEMBERS_MAX], places[MEMBERS_MAX], counts[MEMBERS_MAX], displs[MEMBERS_MAX];
  for (int i = 0; i < members; ++i) elements[i] = elements_between(n, i, root);
  int const end = place_blocks(elements, members, places);
  scale(received, elements, counts, members);
  scale(received, places, displs, members);
  Buffer mine = make_buffer(sent, elements[me]);
  Buffer all = make_buffer(received, takes ? end : 0);
  Buffer expected = make_buffer(received, takes ? end : 0);
  put_elements(&mine, 0, elements[me], 3, me);
  for (int i = 0; takes && i < members; ++i) put_elements(&expected, places[i], elements[i], 3, i);
  if (takes && in_place) {
    put_elements(&all, places[me], elements[me], 3, me);
    CALL(Gatherv, gatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.at, counts, displs, kind_types[received], root,
         comm);
  } else {
    CALL(Gatherv, gatherv, mine.at, count_in(sent, elements[me]), kind_types[sent], all.at, takes ? counts : NULL,
         takes ? displs : NULL, takes ? kind_types[received] : MPI_DATATYPE_NULL, root, comm);
  }
  compare_buffers(&all, &expected, "gatherv");
  free_buffer(&mine);
}

static void try_scatter(int sent, int received, int n, int root, int in_place) {
  int const gives = me == root;
  Buffer all = make_buffer(sent, gives ? n * members : 0);
  for (int i = 0; gives && i < members; ++i) put_elements(&all, i * n, n, 4, i);
  Buffer all_before = copy_buffer(&all);
  Buffer mine = make_buffer(received, n);
  Buffer expected = make_buffer(received, n);
  if (!(gives && in_place)) put_elements(&expected, 0, n, 4, me);
  if (gives && in_place)
    CALL(Scatter, scatter, all.at, count_in(sent, n), kind_types[sent], MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, comm);
  else
    CALL(Scatter, scatter, all.at, gives ? count_in(sent, n) : -7, gives ? kind_types[sent] : MPI_DATATYPE_NULL,
         mine.at, count_in(received, n), kind_types[received], root, comm);
  compare_buffers(&mine, &expected, "scatter");
  compare_buffers(&all, &all_before, "scatter, what is sent");
}

static void try_scatterv(int sent, int received, int n, int root, int in_place) {
  int const gives = me == root;
  int elements[MEMBERS_MAX], places[MEMBERS_MAX], counts[MEMBERS_MAX], displs[MEMBERS_MAX];
  for (int i = 0; i < members; ++i) elements[i] = elements_between(n, root, i);
  int const end = place_blocks(elements, members, places);
  scale(sent, elements, counts, members);
  scale(sent, places, displs, members);
  Buffer all = make_buffer(sent, gives ? end : 0);
  for (int i = 0; gives && i < members; ++i) put_elements(&all, places[i], elements[i], 5, i);
  Buffer mine = make_buffer(received, elements[me]);
  Buffer expected = make_buffer(received, elements[me]);
  if (gives && in_place) {
    CALL(Scatterv, scatterv, all.at, counts, displs, kind_types[sent], MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, comm);
  } else {
    put_elements(&expected, 0, elements[me], 5, me);
    CALL(Scatterv, scatterv, all.at, gives ? counts : NULL, gives ? displs : NULL,
         gives ? kind_types[sent] : MPI_DATATYPE_NULL, mine.at, count_in(received, elements[me]), kind_types[received],
         root, comm);
  }
  compare_buffers(&mine, &expected, "scatterv");
  free_buffer(&all);
}

static void try_allgather(int sent, int received, int n, int in_place) {
  Buffer mine = make_buffer(sent, n);
  Buffer all = make_buffer(received, n * members);
  Buffer expected = make_buffer(received, n * members);
  put_elements(&mine, 0, n, 6, me);
  for (int i = 0; i < members; ++i) put_elements(&expected, i * n, n, 6, i);
  if (in_place) {
    put_elements(&all, me * n, n, 6, me);
    CALL(Allgather, allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.at, count_in(received, n), kind_types[received],
         comm);
  } else {
    CALL(Allgather, allgather, mine.at, count_in(sent, n), kind_types[sent], all.at, count_in(received, n),
         kind_types[received], comm);
  }
  compare_buffers(&all, &expected, "allgather");
  free_buffer(&mine);
}

static void try_allgatherv(int sent, int received, int n, int in_place) {
  int elements[MEMBERS_MAX], places[MEMBERS_MAX], counts[MEMBERS_MAX], displs[MEMBERS_MAX];
  for (int i = 0; i < members; ++i) elements[i] = elements_between(n, i, 0);
  int const end = place_blocks(elements, members, places);
  scale(received, elements, counts, members);
  scale(received, places, displs, members);
  Buffer mine = make_buffer(sent, elements[me]);
  Buffer all = make_buffer(received, end);
  Buffer expected = make_buffer(received, end);
  put_elements(&mine, 0, elements[me], 7, me);
  for (int i = 0; i < members; ++i) put_elements(&expected, places[i], elements[i], 7, i);
  if (in_place) {
    put_elements(&all, places[me], elements[me], 7, me);
    CALL(Allgatherv, allgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.at, counts, displs, kind_types[received],
         comm);
  } else {
    const void* const at = elements[me] == 0 ? NULL : mine.at;
    CALL(Allgatherv, allgatherv, at, count_in(sent, elements[me]), kind_types[sent], all.at, counts, displs,
         kind_types[received], comm);
  }
  compare_buffers(&all, &expected, "allgatherv");
  free_buffer(&mine);
}

static void try_alltoall(int sent, int received, int n, int in_place) {
  Buffer source = make_buffer(sent, n * members);
  Buffer target = make_buffer(received, n * members);
  Buffer expected = make_buffer(received, n * members);
  for (int i = 0; i < members; ++i) {
    put_elements(&source, i * n, n, 100 + me, i);
    put_elements(&expected, i * n, n, 100 + i, me);
    if (in_place) put_elements(&target, i * n, n, 100 + me, i);
  }
  if (in_place)
    CALL(Alltoall, alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, target.at, count_in(received, n), kind_types[received],
         comm);
  else
    CALL(Alltoall, alltoall, source.at, count_in(sent, n), kind_types[sent], target.at, count_in(received, n),
         kind_types[received], comm);
  compare_buffers(&target, &expected, "alltoall");
  free_buffer(&source);
}

/* In place what is sent and received between two is equally long. */
static int exchanged(int n, int from, int to, int in_place) {
  return in_place ? elements_between(n, from + to, from * to) : elements_between(n, from, to);
}

static void try_alltoallv(int sent, int received, int n, int in_place) {
  int to[MEMBERS_MAX], from[MEMBERS_MAX], to_places[MEMBERS_MAX], from_places[MEMBERS_MAX];
  int sendcounts[MEMBERS_MAX], sdispls[MEMBERS_MAX], recvcounts[MEMBERS_MAX], rdispls[MEMBERS_MAX];
  for (int i = 0; i < members; ++i) {
    to[i] = exchanged(n, me, i, in_place);
    from[i] = exchanged(n, i, me, in_place);
  }
  int const sent_end = place_blocks(to, members, to_places);
  int const received_end = place_blocks(from, members, from_places);
  scale(sent, to, sendcounts, members);
  scale(sent, to_places, sdispls, members);
  scale(received, from, recvcounts, members);
  scale(received, from_places, rdispls, members);
  Buffer source = make_buffer(sent, sent_end);
  Buffer target = make_buffer(received, received_end);
  Buffer expected = make_buffer(received, received_end);
  for (int i = 0; i < members; ++i) {
    put_elements(&source, to_places[i], to[i], 200 + me, i);
    put_elements(&expected, from_places[i], from[i], 200 + i, me);
    if (in_place) put_elements(&target, from_places[i], from[i], 200 + me, i);
  }
  if (in_place)
    CALL(Alltoallv, alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, target.at, recvcounts, rdispls,
         kind_types[received], comm);
  else
    CALL(Alltoallv, alltoallv, source.at, sendcounts, sdispls, kind_types[sent], target.at, recvcounts, rdispls,
         kind_types[received], comm);
  compare_buffers(&target, &expected, "alltoallv");
  free_buffer(&source);
}

/* Each block of a kind of its own, in bytes. */
static void try_alltoallw(int n, int in_place) {
  int sendcounts[MEMBERS_MAX], sdispls[MEMBERS_MAX], recvcounts[MEMBERS_MAX], rdispls[MEMBERS_MAX];
  MPI_Datatype sendtypes[MEMBERS_MAX], recvtypes[MEMBERS_MAX];
  int const room = 16 * (n + 8);
  /* Open MPI 4.1 takes a lone process's displacement for one in extents. */
  int const first = members == 1 ? 0 : 32;
  Buffer source = make_buffer(GAPS, (n + 8) * members);
  Buffer target = make_buffer(GAPS, (n + 8) * members);
  Buffer expected = make_buffer(GAPS, (n + 8) * members);
  for (int i = 0; i < members; ++i) {
    int const to = exchanged(n, me, i, in_place), from = exchanged(n, i, me, in_place);
    Buffer out = {(me + i) % KINDS, to, 0, NULL, source.at + (size_t)i * (size_t)room + first};
    Buffer in = {(2 * me + i) % KINDS, from, 0, NULL, expected.at + (size_t)i * (size_t)room + first};
    sendcounts[i] = count_in(out.kind, to);
    recvcounts[i] = count_in(in.kind, from);
    sdispls[i] = (int)(out.at - source.at);
    rdispls[i] = (int)(in.at - expected.at);
    sendtypes[i] = kind_types[out.kind];
    recvtypes[i] = kind_types[in.kind];
    put_elements(&out, 0, to, 300 + me, i);
    put_elements(&in, 0, from, 300 + i, me);
    in.at = target.at + rdispls[i];
    if (in_place) put_elements(&in, 0, from, 300 + me, i);
  }
  if (in_place)
    CALL(Alltoallw, alltoallw, MPI_IN_PLACE, NULL, NULL, NULL, target.at, recvcounts, rdispls, recvtypes, comm);
  else
    CALL(Alltoallw, alltoallw, source.at, sendcounts, sdispls, sendtypes, target.at, recvcounts, rdispls, recvtypes,
         comm);
  compare_buffers(&target, &expected, "alltoallw");
  free_buffer(&source);
}

static void try_kinds(int sent, int received, int n) {
  for (int in_place = 0; in_place < 2; ++in_place) {
    for (int root = 0; root<members; root += n> 100 ? members - 1 + (members == 1) : 1) {
      try_gather(sent, received, n, root, in_place);
      try_gatherv(sent, received, n, root, in_place);
      try_scatter(sent, received, n, root, in_place);
      try_scatterv(sent, received, n, root, in_place);
    }
    try_allgather(sent, received, n, in_place);
    try_allgatherv(sent, received, n, in_place);
    try_alltoall(sent, received, n, in_place);
    try_alltoallv(sent, received, n, in_place);
  }
}

static void try_all(void) {
  static const int sizes[] = {0, 1, 3, 17, 300, 1024, 12500};
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &members);
  for (form = 0; form < FORMS; ++form) {
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
      int const n = sizes[s];
      if (form == BLOCKING) REQUIRE(MPI_Barrier(comm) == MPI_SUCCESS, "barrier");
      for (int kind = 0; kind < KINDS; ++kind)
        for (int root = 0; root < members; ++root) try_bcast(kind, n, root);
      try_kinds(PLAIN, PLAIN, n);
      try_kinds(PAIRED, PLAIN, n);
      try_kinds(GAPS, PLAIN, n);
      try_kinds(PLAIN, GAPS, n);
      try_kinds(GAPS, LOW, n);
      /* Some pack, and others don't. */
      try_kinds(me % 2 == 0 ? PLAIN : LOW, me % 3 == 0 ? PAIRED : GAPS, n);
      try_alltoallw(n, 0);
      try_alltoallw(n, 1);
    }
  }
}

/* Two members exchange what is long in other ways than what is short. */
static void try_long_of_two(void) {
  static const int sizes[] = {20000, 50000};
  if (members != 2) return;
  for (form = 0; form < FORMS; ++form) {
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
      try_kinds(PLAIN, PLAIN, sizes[s]);
      try_kinds(me % 2 == 0 ? PLAIN : LOW, me % 2 == 0 ? PLAIN : GAPS, sizes[s]);
    }
  }
}

int main(int argc, char** argv) {
  MPI_Comm other;
  start_checks(&argc, &argv);
  REQUIRE(size_of_world <= MEMBERS_MAX, "at most %d processes", MEMBERS_MAX);
  make_kinds();
  comm = MPI_COMM_WORLD;
  try_all();
  try_long_of_two();
  comm = MPI_COMM_SELF;
  try_all();
  MPI_Comm_split(MPI_COMM_WORLD, rank_of_world % 2, -rank_of_world, &other);
  comm = other;
  try_all();
  MPI_Comm_free(&other);
  free_kinds();
  return end_checks("collectives");
}
