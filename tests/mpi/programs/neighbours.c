/* The collectives of neighbours: on grids, graphs and distributed graphs, with neighbours that are there twice, are the
   process itself, or nobody; and collectives of all kinds in flight at once. */
#include "collective_data.h"

static MPI_Comm comm;
static int me, members;
enum { EDGES_MAX = 16 };

/* Of a process: those that send to it, and those that it sends to; MPI_PROC_NULL for nobody. */
typedef struct {
  int sources[EDGES_MAX], destinations[EDGES_MAX];
  int in, out;
} Edges;
static void (*edges_of)(int rank, Edges* edges);
static int in_grid, dims[3], periods[3], dimensions;

/* Which of the sender's edges is what comes along edge `slot` of this process: in a grid the one of the opposite side;
   else, of several between the two, that with the same number. */
static int sender_edge(const Edges* mine, int slot) {
  Edges theirs;
  int before = 0;
  if (in_grid) return slot ^ 1;
  for (int i = 0; i < slot; ++i) before += mine->sources[i] == mine->sources[slot];
  edges_of(mine->sources[slot], &theirs);
  for (int i = 0; i < theirs.out; ++i)
    if (theirs.destinations[i] == me && before-- == 0) return i;
  REQUIRE(0, "no edge from %d to %d", mine->sources[slot], me);
  return -1;
}

static int elements_along(int n, int sender, int edge) {
  return n == 0 ? 0 : (sender * 3 + edge * 2) % 3 * (n / 2) + edge % 2;
}

static void try_allgather(const Edges* edges, int sent, int received, int n) {
  Buffer mine = make_buffer(sent, n);
  Buffer all = make_buffer(received, n * edges->in);
  Buffer expected = make_buffer(received, n * edges->in);
  put_elements(&mine, 0, n, 8, me);
  for (int i = 0; i < edges->in; ++i)
    if (edges->sources[i] != MPI_PROC_NULL) put_elements(&expected, i * n, n, 8, edges->sources[i]);
  CALL(Neighbor_allgather, neighbor_allgather, mine.at, count_in(sent, n), kind_types[sent], all.at,
       count_in(received, n), kind_types[received], comm);
  compare_buffers(&all, &expected, "neighbor_allgather");
  free_buffer(&mine);
}

/* Each gives as many to all its neighbours. */
static void try_allgatherv(const Edges* edges, int sent, int received, int n) {
  int elements[EDGES_MAX], places[EDGES_MAX], counts[EDGES_MAX], displs[EDGES_MAX];
  int const own = elements_along(n, me, 1);
  for (int i = 0; i < edges->in; ++i)
    elements[i] = edges->sources[i] == MPI_PROC_NULL ? 2 : elements_along(n, edges->sources[i], 1);
  int const end = place_blocks(elements, edges->in, places);
  scale(received, elements, counts, edges->in);
  scale(received, places, displs, edges->in);
  Buffer mine = make_buffer(sent, own);
  Buffer all = make_buffer(received, end);
  Buffer expected = make_buffer(received, end);
  put_elements(&mine, 0, own, 9, me);
  for (int i = 0; i < edges->in; ++i)
    if (edges->sources[i] != MPI_PROC_NULL) put_elements(&expected, places[i], elements[i], 9, edges->sources[i]);
  CALL(Neighbor_allgatherv, neighbor_allgatherv, mine.at, count_in(sent, own), kind_types[sent], all.at, counts, displs,
       kind_types[received], comm);
  compare_buffers(&all, &expected, "neighbor_allgatherv");
  free_buffer(&mine);
}

static void try_alltoall(const Edges* edges, int sent, int received, int n) {
  Buffer source = make_buffer(sent, n * edges->out);
  Buffer target = make_buffer(received, n * edges->in);
  Buffer expected = make_buffer(received, n * edges->in);
  for (int i = 0; i < edges->out; ++i) put_elements(&source, i * n, n, 400 + me, i);
  for (int i = 0; i < edges->in; ++i)
    if (edges->sources[i] != MPI_PROC_NULL)
      put_elements(&expected, i * n, n, 400 + edges->sources[i], sender_edge(edges, i));
  CALL(Neighbor_alltoall, neighbor_alltoall, source.at, count_in(sent, n), kind_types[sent], target.at,
       count_in(received, n), kind_types[received], comm);
  compare_buffers(&target, &expected, "neighbor_alltoall");
  free_buffer(&source);
}

static MPI_Aint address_of(const void* memory) {
  MPI_Aint address;
  MPI_Get_address(memory, &address);
  return address;
}

enum BlockForm { IN_EXTENTS, IN_BYTES, BY_ADDRESS, BLOCK_FORMS };

/* Of the v kind; or of the w kind, with displacements in bytes from the buffers, or with addresses from MPI_BOTTOM. */
static void try_blocks(const Edges* edges, int sent, int received, int n, enum BlockForm blocks) {
  int to[EDGES_MAX], from[EDGES_MAX], to_places[EDGES_MAX], from_places[EDGES_MAX];
  int sendcounts[EDGES_MAX], sdispls[EDGES_MAX], recvcounts[EDGES_MAX], rdispls[EDGES_MAX];
  MPI_Aint sent_at[EDGES_MAX], received_at[EDGES_MAX];
  MPI_Datatype sendtypes[EDGES_MAX], recvtypes[EDGES_MAX];
  for (int i = 0; i < edges->out; ++i) to[i] = elements_along(n, me, i);
  for (int i = 0; i < edges->in; ++i)
    from[i] = edges->sources[i] == MPI_PROC_NULL ? 2 : elements_along(n, edges->sources[i], sender_edge(edges, i));
  int const sent_end = place_blocks(to, edges->out, to_places);
  int const received_end = place_blocks(from, edges->in, from_places);
  scale(sent, to, sendcounts, edges->out);
  scale(sent, to_places, sdispls, edges->out);
  scale(received, from, recvcounts, edges->in);
  scale(received, from_places, rdispls, edges->in);
  Buffer source = make_buffer(sent, sent_end);
  Buffer target = make_buffer(received, received_end);
  Buffer expected = make_buffer(received, received_end);
  for (int i = 0; i < edges->out; ++i) {
    put_elements(&source, to_places[i], to[i], 500 + me, i);
    sent_at[i] = (MPI_Aint)to_places[i] * extent_in(sent);
    sendtypes[i] = kind_types[sent];
  }
  for (int i = 0; i < edges->in; ++i) {
    received_at[i] = (MPI_Aint)from_places[i] * extent_in(received);
    recvtypes[i] = kind_types[received];
    if (edges->sources[i] != MPI_PROC_NULL)
      put_elements(&expected, from_places[i], from[i], 500 + edges->sources[i], sender_edge(edges, i));
  }
  if (blocks == BY_ADDRESS) {
    for (int i = 0; i < edges->out; ++i) sent_at[i] += address_of(source.at);
    for (int i = 0; i < edges->in; ++i) received_at[i] += address_of(target.at);
    CALL(Neighbor_alltoallw, neighbor_alltoallw, MPI_BOTTOM, sendcounts, sent_at, sendtypes, MPI_BOTTOM, recvcounts,
         received_at, recvtypes, comm);
  } else if (blocks == IN_BYTES) {
    CALL(Neighbor_alltoallw, neighbor_alltoallw, source.at, sendcounts, sent_at, sendtypes, target.at, recvcounts,
         received_at, recvtypes, comm);
  } else {
    CALL(Neighbor_alltoallv, neighbor_alltoallv, source.at, sendcounts, sdispls, kind_types[sent], target.at,
         recvcounts, rdispls, kind_types[received], comm);
  }
  compare_buffers(&target, &expected, blocks == IN_EXTENTS ? "neighbor_alltoallv" : "neighbor_alltoallw");
  free_buffer(&source);
}

/* Open MPI's collectives that do not block take the neighbours of such grids for each other (as 4.1.4 has it). */
static int mixes_sides_up(void) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length, both = 0;
  MPI_Get_library_version(version, &length);
  for (int d = 0; d < dimensions; ++d) both |= periods[d] && dims[d] <= 2;
  return in_grid && both && strncmp(version, "Open MPI", 8) == 0;
}

static void try_topology(void) {
  static const int sizes[] = {0, 1, 5, 2000};
  Edges edges;
  MPI_Comm_rank(comm, &me);
  edges_of(me, &edges);
  int const forms = mixes_sides_up() ? NONBLOCKING : FORMS;
  for (form = 0; form < forms; ++form)
    for (int s = 0; s < 4; ++s)
      for (int sent = 0; sent < KINDS; ++sent) {
        int const received = (sent + 1 + me % 2) % KINDS;
        try_allgather(&edges, sent, received, sizes[s]);
        try_allgatherv(&edges, sent, received, sizes[s]);
        try_alltoall(&edges, sent, received, sizes[s]);
        for (int blocks = 0; blocks < BLOCK_FORMS; ++blocks)
          try_blocks(&edges, sent, received, sizes[s], (enum BlockForm)blocks);
      }
}

/* --- grids --- */

static void edges_of_grid(int rank, Edges* edges) {
  edges->in = edges->out = 2 * dimensions;
  for (int d = 0; d < dimensions; ++d) {
    int stride = 1;
    for (int later = d + 1; later < dimensions; ++later) stride *= dims[later];
    int const place = rank / stride % dims[d];
    for (int side = 0; side < 2; ++side) {
      int next = place + (side ? 1 : -1);
      if (periods[d]) next = (next + dims[d]) % dims[d];
      int const there = next < 0 || next >= dims[d] ? MPI_PROC_NULL : rank + (next - place) * stride;
      edges->sources[2 * d + side] = edges->destinations[2 * d + side] = there;
    }
  }
}

static void try_grid(int number, int first, int second, int third, int periodic) {
  dimensions = number;
  dims[0] = first;
  dims[1] = second;
  dims[2] = third;
  for (int d = 0; d < 3; ++d) periods[d] = periodic >> d & 1;
  if (third < 1 || first * second * third > size_of_world) return;
  MPI_Cart_create(MPI_COMM_WORLD, number, dims, periods, 0, &comm);
  if (comm == MPI_COMM_NULL) return;
  members = first * second * third;
  edges_of = edges_of_grid;
  in_grid = 1;
  try_topology();
  MPI_Comm_free(&comm);
}

static void try_grids(void) {
  int const n = size_of_world;
  for (int periodic = 0; periodic < 2; ++periodic) {
    try_grid(1, n, 1, 1, periodic);
    try_grid(1, 1, 1, 1, periodic);
    try_grid(1, 2, 1, 1, periodic);
    try_grid(2, 1, n, 1, periodic * 3);
    try_grid(2, n, 1, 1, periodic * 2);
    try_grid(2, 2, 2, 1, periodic * 3);
    try_grid(3, 1, 2, 2, periodic * 7);
    try_grid(3, 2, 1, n / 2, periodic * 5);
  }
}

/* --- graphs: a ring, both ways, and each itself --- */

static void edges_of_ring(int rank, Edges* edges) {
  edges->in = edges->out = 3;
  int const there[3] = {(rank + members - 1) % members, (rank + 1) % members, rank};
  memcpy(edges->sources, there, sizeof there);
  memcpy(edges->destinations, there, sizeof there);
}

static void try_graph(void) {
  int* index = allocate((size_t)size_of_world * sizeof(int));
  int* list = allocate((size_t)size_of_world * 3 * sizeof(int));
  members = size_of_world;
  for (int r = 0; r < members; ++r) {
    Edges edges;
    edges_of_ring(r, &edges);
    index[r] = 3 * (r + 1);
    memcpy(list + 3 * r, edges.sources, 3 * sizeof(int));
  }
  MPI_Graph_create(MPI_COMM_WORLD, members, index, list, 0, &comm);
  edges_of = edges_of_ring;
  in_grid = 0;
  try_topology();
  MPI_Comm_free(&comm);
  free(index);
  free(list);
}

/* --- distributed graphs: twice to the next one, to the one behind that, and to itself; the first sends to nobody more
   than once --- */

static void edges_of_arrows(int rank, Edges* edges) {
  edges->out = 0;
  edges->destinations[edges->out++] = (rank + 1) % members;
  edges->destinations[edges->out++] = rank;
  if (rank != 0) edges->destinations[edges->out++] = (rank + 1) % members;
  edges->destinations[edges->out++] = (rank + 2) % members;
  edges->in = 0;
  int const before = (rank + members - 1) % members;
  edges->sources[edges->in++] = (rank + 2 * members - 2) % members;
  edges->sources[edges->in++] = before;
  if (before != 0) edges->sources[edges->in++] = before;
  edges->sources[edges->in++] = rank;
}

static void try_distributed_graph(void) {
  Edges edges;
  int weights[EDGES_MAX];
  for (int i = 0; i < EDGES_MAX; ++i) weights[i] = 1;
  members = size_of_world;
  edges_of_arrows(rank_of_world, &edges);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, edges.in, edges.sources, weights, edges.out, edges.destinations,
                                 weights, MPI_INFO_NULL, 0, &comm);
  edges_of = edges_of_arrows;
  in_grid = 0;
  try_topology();
  MPI_Comm_free(&comm);
}

/* Who gives no edges may give a null pointer for their weights; the graph is without weights only where that is said.
   Edges need weights. */
static void weights_of_no_edges(void) {
  int const source = 0, degree = 1;
  int weight = 7, to = size_of_world - 1, in = -1, out = -1, weighted = -1, class = MPI_SUCCESS;
  int const gives = rank_of_world == 0;
  int* volatile empty = MPI_WEIGHTS_EMPTY, * volatile unweighted =
                                               MPI_UNWEIGHTED; /* the compiler dislikes the values */
  MPI_Dist_graph_create(MPI_COMM_WORLD, gives, &source, &degree, &to, gives ? &weight : NULL, MPI_INFO_NULL, 0, &comm);
  MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  REQUIRE(weighted == 1 && out == gives && in == (rank_of_world == to), "%d in, %d out, weighted %d", in, out,
          weighted);
  weight = -1;
  MPI_Dist_graph_neighbors(comm, in, &to, in > 0 ? &weight : empty, 0, NULL, empty);
  REQUIRE(weight == (in > 0 ? 7 : -1), "weight %d", weight);
  MPI_Comm_free(&comm);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, NULL, 0, NULL, NULL, MPI_INFO_NULL, 0, &comm);
  MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  REQUIRE(weighted == 1 && in == 0 && out == 0, "weighted %d", weighted);
  MPI_Comm_free(&comm);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, unweighted, 0, NULL, unweighted, MPI_INFO_NULL, 0, &comm);
  MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  REQUIRE(weighted == 0, "weighted %d", weighted);
  MPI_Comm_free(&comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int const error =
      MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &source, empty, 0, NULL, empty, MPI_INFO_NULL, 0, &comm);
  MPI_Error_class(error, &class);
  REQUIRE(class == MPI_ERR_ARG, "class %d", class);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* --- several at once --- */

enum { FLYING = 8 };

static void start_flight(MPI_Comm on, int round, int* data, MPI_Request* requests) {
  int const n = members, root = round % n;
  int* next = data;
  for (int i = 0; i < FLYING * n; ++i) data[i] = 0;
  next[0] = me == root ? 77 + round : 0;
  MPI_Ibcast(next, 1, MPI_INT, root, on, &requests[0]);
  next += n;
  next[0] = me + round;
  MPI_Iallreduce(MPI_IN_PLACE, next, 1, MPI_INT, MPI_SUM, on, &requests[1]);
  next += n;
  MPI_Ibarrier(on, &requests[2]);
  next[me] = me * 3 + round;
  MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, next, 1, MPI_INT, on, &requests[3]);
  next += n;
  for (int i = 0; i < n; ++i) next[i] = me * 100 + i + round;
  MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, next, 1, MPI_INT, on, &requests[4]);
  next += n;
  next[0] = me + 1;
  MPI_Iscan(MPI_IN_PLACE, next, 1, MPI_INT, MPI_SUM, on, &requests[5]);
  next += n;
  next[me == root ? me : 0] = me + 5;
  MPI_Igather(me == root ? MPI_IN_PLACE : next, 1, MPI_INT, next + (me == root ? 0 : n), 1, MPI_INT, root, on,
              &requests[6]);
  next += 2 * n;
  next[0] = round;
  MPI_Ireduce(me == root ? MPI_IN_PLACE : next, next, 1, MPI_INT, MPI_MAX, root, on, &requests[7]);
}

static void check_flight(int round, const int* data) {
  int const n = members, root = round % n;
  REQUIRE(data[0] == 77 + round, "ibcast");
  REQUIRE(data[n] == n * round + n * (n - 1) / 2, "iallreduce");
  for (int i = 0; i < n; ++i) {
    REQUIRE(data[2 * n + i] == i * 3 + round, "iallgather");
    REQUIRE(data[3 * n + i] == i * 100 + me + round, "ialltoall");
  }
  REQUIRE(data[4 * n] == (me + 1) * (me + 2) / 2, "iscan");
  for (int i = 0; me == root && i < n; ++i) REQUIRE(data[5 * n + i] == i + 5, "igather");
  if (me == root) REQUIRE(data[7 * n] == round, "ireduce");
}

/* On two communicators; they are waited for from the last to the first, in one call, or by testing. */
static void try_flights(void) {
  enum { ROUNDS = 12 };
  MPI_Request requests[ROUNDS][FLYING];
  MPI_Comm twice, turned;
  int* data[ROUNDS];
  MPI_Comm_dup(MPI_COMM_WORLD, &twice);
  MPI_Comm_split(MPI_COMM_WORLD, 0, rank_of_world, &turned);
  me = rank_of_world;
  members = size_of_world;
  for (int r = 0; r < ROUNDS; ++r) {
    data[r] = allocate((size_t)(FLYING * members) * sizeof(int));
    start_flight(r % 2 ? twice : turned, r, data[r], requests[r]);
  }
  for (int r = ROUNDS - 1; r >= 0; --r) {
    int done = 0;
    if (r % 3 == 0) MPI_Waitall(FLYING, requests[r], MPI_STATUSES_IGNORE);
    while (r % 3 == 1 && !done) MPI_Testall(FLYING, requests[r], &done, MPI_STATUSES_IGNORE);
    for (int i = FLYING - 1; r % 3 == 2 && i >= 0; --i) MPI_Wait(&requests[r][i], MPI_STATUS_IGNORE);
    check_flight(r, data[r]);
    free(data[r]);
  }
  MPI_Comm_free(&twice);
  MPI_Comm_free(&turned);
}

/* What is persistent is started again and again, with other values. */
static void try_restarts(void) {
  MPI_Request requests[3];
  int mine = 0, sum = 0, given = 0;
  int* all = allocate((size_t)size_of_world * sizeof(int));
  MPIX_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPIX_Bcast_init(&given, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  MPIX_Allgather_init(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
  for (int round = 0; round < 20; ++round) {
    mine = rank_of_world + round;
    given = rank_of_world == 0 ? round : -1;
    MPI_Startall(3, requests);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    REQUIRE(sum == size_of_world * round + size_of_world * (size_of_world - 1) / 2, "round %d", round);
    REQUIRE(given == round, "round %d", round);
    for (int i = 0; i < size_of_world; ++i) REQUIRE(all[i] == i + round, "round %d", round);
  }
  for (int i = 0; i < 3; ++i) MPI_Request_free(&requests[i]);
  free(all);
}

int main(int argc, char** argv) {
  start_checks(&argc, &argv);
  make_kinds();
  try_grids();
  try_graph();
  try_distributed_graph();
  weights_of_no_edges();
  try_flights();
  try_restarts();
  free_kinds();
  return end_checks("neighbours");
}
