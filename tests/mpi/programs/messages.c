/* Messages in all modes, with all forms of waiting; checked by what arrives. */
#include <string.h>

#include "check.h"

#define CHECK(condition) REQUIRE(condition, "see there")

enum { kSizes = 7 };
static const int kBytes[kSizes] = {0, 1, 24, 300, 5000, 70000, 3000000};

static unsigned char byte_at(int i, int salt) {
  return (unsigned char)(i * 7 + salt * 31 + (i >> 8));
}

static void fill(unsigned char* data, int bytes, int salt) {
  for (int i = 0; i < bytes; ++i) data[i] = byte_at(i, salt);
}

static int is_filled(const unsigned char* data, int bytes, int salt) {
  for (int i = 0; i < bytes; ++i)
    if (data[i] != byte_at(i, salt)) return 0;
  return 1;
}

static void check_status(const MPI_Status* status, int source, int tag, int bytes) {
  int count = -1;
  MPI_Get_count(status, MPI_BYTE, &count);
  CHECK(status->MPI_SOURCE == source);
  CHECK(status->MPI_TAG == tag);
  CHECK(count == bytes);
}

typedef int Send(const void*, int, MPI_Datatype, int, int, MPI_Comm);
typedef int Start(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

/* A ring by each blocking mode, received by each rank as the one on its left has sent. */
static void rings(void) {
  static Send* const modes[] = {MPI_Send, MPI_Ssend, MPI_Bsend};
  const int right = (rank_of_world + 1) % size_of_world, left = (rank_of_world + size_of_world - 1) % size_of_world;
  for (int mode = 0; mode < 3; ++mode) {
    for (int size = 0; size < kSizes; ++size) {
      const int bytes = kBytes[size];
      unsigned char* out = malloc((size_t)bytes + 1);
      unsigned char* in = calloc((size_t)bytes + 2, 1);
      void* room = malloc((size_t)bytes + MPI_BSEND_OVERHEAD);
      MPI_Request request;
      MPI_Status status;
      if (mode == 2) MPI_Buffer_attach(room, bytes + MPI_BSEND_OVERHEAD);
      fill(out, bytes, rank_of_world + mode);
      MPI_Irecv(in, bytes + 1, MPI_BYTE, left, mode, MPI_COMM_WORLD, &request);
      modes[mode](out, bytes, MPI_BYTE, right, mode, MPI_COMM_WORLD);
      if (mode == 2) memset(out, 0xff, (size_t)bytes);
      MPI_Wait(&request, &status);
      CHECK(request == MPI_REQUEST_NULL);
      check_status(&status, left, mode, bytes);
      CHECK(is_filled(in, bytes, left + mode));
      CHECK(in[bytes] == 0);
      if (mode == 2) {
        void* back = NULL;
        int held = 0;
        MPI_Buffer_detach(&back, &held);
        CHECK(back == room && held == bytes + MPI_BSEND_OVERHEAD);
      }
      free(out);
      free(in);
      free(room);
    }
  }
}

/* Until all of two requests for each rank have ended, by the form of waiting with this number. */
static void wait_for_all(int form, MPI_Request* requests, MPI_Status* statuses, int* indices) {
  int left = 2 * size_of_world;
  switch (form) {
    case 0:
      MPI_Waitall(left, requests, statuses);
      break;
    case 1:
      for (int flag = 0; !flag;) MPI_Testall(left, requests, &flag, statuses);
      break;
    case 2:
      for (int i = 0; i < 2 * size_of_world; ++i) {
        int index = -1;
        MPI_Status status;
        MPI_Waitany(2 * size_of_world, requests, &index, &status);
        CHECK(index >= 0 && index < 2 * size_of_world && requests[index] == MPI_REQUEST_NULL);
        statuses[index] = status;
      }
      break;
    case 3:
      while (left > 0) {
        int index = -1, flag = 0;
        MPI_Status status;
        MPI_Testany(2 * size_of_world, requests, &index, &flag, &status);
        if (!flag) continue;
        statuses[index] = status;
        --left;
      }
      break;
    case 4:
    case 5: {
      MPI_Status* some = malloc(sizeof(MPI_Status) * 2 * (size_t)size_of_world);
      while (left > 0) {
        int done = 0;
        (form == 4 ? MPI_Waitsome : MPI_Testsome)(2 * size_of_world, requests, &done, indices, some);
        CHECK(form == 5 || done > 0);
        for (int i = 0; i < done; ++i) statuses[indices[i]] = some[i];
        left -= done;
      }
      free(some);
      break;
    }
    default:
      break;
  }
}

/* Each rank sends to each, begun by several modes; received in another order, by each form of waiting. */
static void everybody(void) {
  static Start* const modes[] = {MPI_Isend, MPI_Issend, MPI_Isend};
  enum { kMessage = 20000, kForms = 6 };
  for (int form = 0; form < kForms; ++form) {
    unsigned char* out = malloc((size_t)size_of_world * kMessage);
    unsigned char* in = calloc((size_t)size_of_world, kMessage);
    MPI_Request* requests = malloc(sizeof(MPI_Request) * 2 * (size_t)size_of_world);
    MPI_Status* statuses = malloc(sizeof(MPI_Status) * 2 * (size_t)size_of_world);
    int* indices = malloc(sizeof(int) * 2 * (size_t)size_of_world);
    for (int peer = 0; peer < size_of_world; ++peer) {
      const int bytes = form % 2 == 0 ? kMessage - peer : 16;
      MPI_Irecv(in + peer * kMessage, kMessage, MPI_BYTE, size_of_world - 1 - peer, form, MPI_COMM_WORLD,
                &requests[peer]);
      fill(out + peer * kMessage, bytes, rank_of_world * 3 + peer);
    }
    for (int peer = 0; peer < size_of_world; ++peer)
      modes[(peer + form) % 3](out + peer * kMessage, form % 2 == 0 ? kMessage - peer : 16, MPI_BYTE, peer, form,
                               MPI_COMM_WORLD, &requests[size_of_world + peer]);
    wait_for_all(form, requests, statuses, indices);
    int index = 0, flag = 0, done = 0;
    MPI_Status empty;
    MPI_Waitany(2 * size_of_world, requests, &index, &empty);
    CHECK(index == MPI_UNDEFINED && empty.MPI_SOURCE == MPI_ANY_SOURCE && empty.MPI_TAG == MPI_ANY_TAG);
    MPI_Testany(2 * size_of_world, requests, &index, &flag, &empty);
    CHECK(flag && index == MPI_UNDEFINED);
    MPI_Waitsome(2 * size_of_world, requests, &done, indices, MPI_STATUSES_IGNORE);
    CHECK(done == MPI_UNDEFINED);
    for (int peer = 0; peer < size_of_world; ++peer) {
      const int from = size_of_world - 1 - peer;
      const int bytes = form % 2 == 0 ? kMessage - rank_of_world : 16;
      check_status(&statuses[peer], from, form, bytes);
      CHECK(is_filled(in + peer * kMessage, bytes, from * 3 + rank_of_world));
    }
    free(out);
    free(in);
    free(requests);
    free(statuses);
    free(indices);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* Probes of all kinds, any source and any tag, in the order of sending. */
static void probes(void) {
  enum { kEach = 4 };
  if (rank_of_world == 0) {
    int* next = calloc((size_t)size_of_world, sizeof(int));
    for (int i = 0; i < kEach * (size_of_world - 1); ++i) {
      int value[3] = {-1, -1, -1}, count = 0, flag = 0;
      MPI_Status status, got;
      MPI_Message message = MPI_MESSAGE_NULL;
      MPI_Request request;
      switch (i % 4) {
        case 0:
          MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
          break;
        case 1:
          while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
          break;
        case 2:
          MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
          break;
        default:
          while (!flag) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
      }
      MPI_Get_count(&status, MPI_INT, &count);
      CHECK(count == 3);
      if (i % 4 == 2) {
        MPI_Mrecv(value, 3, MPI_INT, &message, &got);
      } else if (i % 4 == 3) {
        MPI_Imrecv(value, 3, MPI_INT, &message, &request);
        MPI_Wait(&request, &got);
      } else {
        MPI_Recv(value, 3, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &got);
      }
      CHECK(message == MPI_MESSAGE_NULL);
      CHECK(got.MPI_SOURCE == status.MPI_SOURCE && got.MPI_TAG == status.MPI_TAG);
      CHECK(value[0] == got.MPI_SOURCE && value[1] == got.MPI_TAG);
      CHECK(value[2] == next[got.MPI_SOURCE]++);
    }
    free(next);
  } else {
    for (int i = 0; i < kEach; ++i) {
      const int value[3] = {rank_of_world, 100 + i % 2, i};
      MPI_Send(value, 3, MPI_INT, 0, 100 + i % 2, MPI_COMM_WORLD);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void nobody(void) {
  int value = 5;
  MPI_Status status;
  MPI_Request request;
  MPI_Message message;
  int flag = 0;
  MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
  MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
  CHECK(value == 5 && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
  MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
  MPI_Improbe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &message, &status);
  CHECK(flag && message == MPI_MESSAGE_NO_PROC);
  MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
  CHECK(message == MPI_MESSAGE_NULL && status.MPI_SOURCE == MPI_PROC_NULL);
  MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, &value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
}

static void exchanges(void) {
  const int right = (rank_of_world + 1) % size_of_world, left = (rank_of_world + size_of_world - 1) % size_of_world;
  for (int size = 1; size < kSizes; ++size) {
    const int bytes = kBytes[size];
    unsigned char* out = malloc((size_t)bytes);
    unsigned char* in = malloc((size_t)bytes);
    MPI_Status status;
    fill(out, bytes, rank_of_world);
    MPI_Sendrecv(out, bytes, MPI_BYTE, right, 7, in, bytes, MPI_BYTE, left, 7, MPI_COMM_WORLD, &status);
    check_status(&status, left, 7, bytes);
    CHECK(is_filled(in, bytes, left));
    MPI_Sendrecv_replace(out, bytes, MPI_BYTE, right, 8, left, 8, MPI_COMM_WORLD, &status);
    check_status(&status, left, 8, bytes);
    CHECK(is_filled(out, bytes, left));
    free(out);
    free(in);
  }
}

static void persistent(void) {
  const int right = (rank_of_world + 1) % size_of_world, left = (rank_of_world + size_of_world - 1) % size_of_world;
  int out[2] = {0, 0}, in[2];
  MPI_Request requests[4];
  MPI_Status statuses[4];
  MPI_Send_init(&out[0], 1, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Ssend_init(&out[1], 1, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Recv_init(&in[0], 1, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[2]);
  MPI_Recv_init(&in[1], 1, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE); /* inactive: at once */
  for (int round = 0; round < 50; ++round) {
    out[0] = rank_of_world * 1000 + round;
    out[1] = -out[0];
    in[0] = in[1] = 0;
    MPI_Startall(4, requests);
    MPI_Waitall(4, requests, statuses);
    for (int i = 0; i < 4; ++i) CHECK(requests[i] != MPI_REQUEST_NULL);
    CHECK(in[0] == left * 1000 + round && in[1] == -in[0]);
    CHECK(statuses[2].MPI_SOURCE == left && statuses[3].MPI_TAG == 2);
  }
  for (int i = 0; i < 4; ++i) {
    MPI_Request_free(&requests[i]);
    CHECK(requests[i] == MPI_REQUEST_NULL);
  }
}

static void cancelled(void) {
  int value = 0, flag = 0;
  MPI_Request request;
  MPI_Status status;
  MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 999, MPI_COMM_WORLD, &request);
  MPI_Request_get_status(request, &flag, &status);
  CHECK(!flag);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag && request == MPI_REQUEST_NULL);
  /* What is received is not cancelled. */
  MPI_Irecv(&value, 1, MPI_INT, rank_of_world, 998, MPI_COMM_WORLD, &request);
  flag = 41;
  MPI_Send(&flag, 1, MPI_INT, rank_of_world, 998, MPI_COMM_WORLD);
  for (flag = 0; !flag;) MPI_Request_get_status(request, &flag, &status);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(!flag && value == 41);
}

/* Of receives that all accept the same messages one is cancelled: the others get them in their order. A persistent one
 * that has been cancelled can be started again. */
static void cancelled_among_others(void) {
  enum { kReceives = 5, kCancelled = 2 };
  int in[kReceives], out[kReceives], flag = 0;
  MPI_Request requests[kReceives];
  MPI_Status statuses[kReceives];
  for (int persistent = 0; persistent < 2; ++persistent) {
    for (int i = 0; i < kReceives; ++i) {
      if (persistent)
        MPI_Recv_init(&in[i], 1, MPI_INT, rank_of_world, 997, MPI_COMM_WORLD, &requests[i]);
      else
        MPI_Irecv(&in[i], 1, MPI_INT, rank_of_world, 997, MPI_COMM_WORLD, &requests[i]);
      in[i] = -1;
    }
    for (int round = 0; round < 1 + persistent; ++round) {
      if (persistent) MPI_Startall(kReceives, requests);
      MPI_Cancel(&requests[kCancelled]);
      for (int i = 0; i + 1 < kReceives; ++i) {
        out[i] = made_up(rank_of_world, round, i);
        MPI_Send(&out[i], 1, MPI_INT, rank_of_world, 997, MPI_COMM_WORLD);
      }
      MPI_Waitall(kReceives, requests, statuses);
      for (int i = 0; i < kReceives; ++i) {
        MPI_Test_cancelled(&statuses[i], &flag);
        CHECK(flag == (i == kCancelled));
        CHECK(in[i] == (i == kCancelled ? -1 : out[i < kCancelled ? i : i - 1]));
        CHECK((requests[i] != MPI_REQUEST_NULL) == persistent);
      }
    }
    if (!persistent) continue;
    MPI_Start(&requests[kCancelled]);
    MPI_Send(&out[0], 1, MPI_INT, rank_of_world, 997, MPI_COMM_WORLD);
    MPI_Wait(&requests[kCancelled], &statuses[0]);
    MPI_Test_cancelled(&statuses[0], &flag);
    CHECK(!flag && in[kCancelled] == out[0]);
    for (int i = 0; i < kReceives; ++i) MPI_Request_free(&requests[i]);
  }
}

/* Lists of requests of all kinds, of which some end with their call, and some are no more than a receive. */
static void mixed_lists(void) {
  enum { kLongest = 70, kKinds = 6 };
  static int in[kLongest], out[kLongest];
  MPI_Request requests[kLongest];
  MPI_Status statuses[kLongest];
  for (int round = 0; round < 200; ++round) {
    /* Kinds beyond the first few only in some lists; without statuses in some. */
    const int length = round % kLongest + 1, kinds = 2 + round % (kKinds - 1), ignored = round % 3 == 0;
    int kind[kLongest], wanted[kLongest];
    for (int i = 0; i < length; ++i) {
      kind[i] = (round + i * 7 + i / 3) % kinds;
      out[i] = made_up(rank_of_world, round, i);
      in[i] = -1;
      requests[i] = MPI_REQUEST_NULL;
      statuses[i].MPI_ERROR = 77;
      wanted[i] = 0;
    }
    for (int i = 0; i < length; ++i) {
      if (kind[i] == 0 || kind[i] == 4) {
        if (kind[i] == 0)
          MPI_Irecv(&in[i], 1, MPI_INT, rank_of_world, 500 + i, MPI_COMM_WORLD, &requests[i]);
        else
          MPI_Recv_init(&in[i], 1, MPI_INT, rank_of_world, 500 + i, MPI_COMM_WORLD, &requests[i]);
        if (kind[i] == 4) MPI_Start(&requests[i]);
        if (i % 2 == 0) MPI_Send(&out[i], 1, MPI_INT, rank_of_world, 500 + i, MPI_COMM_WORLD);
        wanted[i] = 1;
      } else if (kind[i] == 1) {
        MPI_Isend(&out[i], 1, MPI_INT, rank_of_world, 900 + i, MPI_COMM_WORLD, &requests[i]);
      } else if (kind[i] == 3) {
        MPI_Irecv(&in[i], 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[i]);
      } else if (kind[i] == 5) {
        MPI_Ibarrier(MPI_COMM_SELF, &requests[i]);
      }
    }
    for (int i = 0; i < length; ++i)
      if (wanted[i] && i % 2 != 0) MPI_Send(&out[i], 1, MPI_INT, rank_of_world, 500 + i, MPI_COMM_WORLD);
    CHECK(MPI_Waitall(length, requests, ignored ? MPI_STATUSES_IGNORE : statuses) == MPI_SUCCESS);
    for (int i = 0; i < length; ++i) {
      CHECK(in[i] == (wanted[i] ? out[i] : -1));
      CHECK((requests[i] != MPI_REQUEST_NULL) == (kind[i] == 4));
      if (kind[i] == 4) MPI_Request_free(&requests[i]);
      if (kind[i] == 1) MPI_Recv(&in[i], 1, MPI_INT, rank_of_world, 900 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (ignored) {
        CHECK(statuses[i].MPI_ERROR == 77);
        continue;
      }
      int count = -1;
      MPI_Get_count(&statuses[i], MPI_INT, &count);
      CHECK(count == wanted[i] || kind[i] == 5);
      if (wanted[i]) CHECK(statuses[i].MPI_SOURCE == rank_of_world && statuses[i].MPI_TAG == 500 + i);
      if (kind[i] == 2) CHECK(statuses[i].MPI_SOURCE == MPI_ANY_SOURCE && statuses[i].MPI_TAG == MPI_ANY_TAG);
      if (kind[i] == 3) CHECK(statuses[i].MPI_SOURCE == MPI_PROC_NULL && statuses[i].MPI_TAG == MPI_ANY_TAG);
    }
  }
}

/* Sends to oneself that are cancelled are withdrawn at once, or, with Open MPI, never: then they are received. */
static void cancelled_sends(int bytes) {
  enum { kSends = 3 };
  unsigned char* data = allocate((size_t)bytes);
  MPI_Request requests[kSends];
  MPI_Status status;
  int withdrawn = 0;
  fill(data, bytes, 1);
  for (int i = 0; i < kSends; ++i) MPI_Issend(data, bytes, MPI_BYTE, rank_of_world, 900, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < kSends; ++i) MPI_Cancel(&requests[i]);
  for (int i = 0; i < kSends; ++i) {
    int done = 0, cancelled = 0;
    MPI_Request_get_status(requests[i], &done, &status);
    if (done) MPI_Test_cancelled(&status, &cancelled);
    withdrawn += cancelled;
  }
  REQUIRE(withdrawn == 0 || withdrawn == kSends, "%d of %d sends of %d bytes are withdrawn", withdrawn, kSends, bytes);
  for (int i = withdrawn; i < kSends; ++i)
    MPI_Recv(data, bytes, MPI_BYTE, rank_of_world, 900, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Waitall(kSends, requests, MPI_STATUSES_IGNORE);
  free(data);
}

/* Where nobody else is needed, few tests of all do, however many there are: each looks through all of them. */
static void many_at_once(void) {
  enum { kMany = 20000 };
  int* values = allocate(2 * kMany * sizeof(int));
  MPI_Request* requests = allocate(2 * kMany * sizeof(MPI_Request));
  int done = 0, tests = 0;
  for (int i = 0; i < kMany; ++i) {
    values[i] = made_up(rank_of_world, i, 0);
    MPI_Isend(&values[i], 1, MPI_INT, rank_of_world, 3, MPI_COMM_WORLD, &requests[i]);
    MPI_Irecv(&values[kMany + i], 1, MPI_INT, rank_of_world, 3, MPI_COMM_WORLD, &requests[kMany + i]);
  }
  for (; !done; ++tests) MPI_Testall(2 * kMany, requests, &done, MPI_STATUSES_IGNORE);
  REQUIRE(tests < 20, "%d tests for %d requests", tests, 2 * kMany);
  for (int i = 0; i < kMany; ++i) CHECK(values[kMany + i] == values[i]);
  free(requests);
  free(values);
}

/* Short scattered messages that are under way, more than a rank packs at a time, keep nobody from getting a long one.
 */
static void packed_beside_pieces(void) {
  enum { kShort = 400, kLong = 50000, kMany = 40 };
  const int right = (rank_of_world + 1) % size_of_world, left = (rank_of_world + size_of_world - 1) % size_of_world;
  int* out = allocate(2 * kLong * sizeof(int));
  int* in = allocate(kLong * sizeof(int));
  MPI_Datatype short_type, long_type;
  MPI_Request requests[kMany + 1];
  MPI_Type_vector(kShort, 1, 2, MPI_INT, &short_type);
  MPI_Type_vector(kLong, 1, 2, MPI_INT, &long_type);
  MPI_Type_commit(&short_type);
  MPI_Type_commit(&long_type);
  for (int i = 0; i < 2 * kLong; ++i) out[i] = made_up(rank_of_world, i, 1);
  for (int i = 0; i < kMany; ++i) MPI_Isend(out + i, 1, short_type, right, 1, MPI_COMM_WORLD, &requests[i]);
  MPI_Isend(out, 1, long_type, right, 2, MPI_COMM_WORLD, &requests[kMany]);
  MPI_Recv(in, kLong, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < kLong; ++i) CHECK(in[i] == made_up(left, 2 * i, 1));
  for (int message = 0; message < kMany; ++message) {
    MPI_Recv(in, kShort, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < kShort; ++i) CHECK(in[i] == made_up(left, message + 2 * i, 1));
  }
  MPI_Waitall(kMany + 1, requests, MPI_STATUSES_IGNORE);
  MPI_Type_free(&short_type);
  MPI_Type_free(&long_type);
  free(in);
  free(out);
}

/* Requests that are freed while they are under way go on. */
static void let_go(void) {
  const int right = (rank_of_world + 1) % size_of_world, left = (rank_of_world + size_of_world - 1) % size_of_world;
  static int big[200000];
  int* in = calloc(200000, sizeof(int));
  MPI_Request request;
  for (int i = 0; i < 200000; ++i) big[i] = rank_of_world + i;
  MPI_Isend(big, 200000, MPI_INT, right, 5, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  CHECK(request == MPI_REQUEST_NULL);
  MPI_Recv(in, 200000, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < 200000; i += 777) CHECK(in[i] == left + i);
  MPI_Barrier(MPI_COMM_WORLD);
  free(in);
}

/* Rank 0 calls nothing but short collectives, and must go on all the same with what rank 2 waits for. */
static void beside_collectives(void) {
  int in = 0, out = 42, done = 0, all_done = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, rank_of_world == 2, 0, &comm);
  if (rank_of_world == 2) {
    MPI_Ssend(&out, 1, MPI_INT, 0, 77, MPI_COMM_WORLD);
    MPI_Send(&out, 1, MPI_INT, 1, 78, MPI_COMM_WORLD);
    all_done = 1;
  }
  if (rank_of_world == 0) MPI_Irecv(&in, 1, MPI_INT, 2, 77, MPI_COMM_WORLD, &request);
  while (!all_done) {
    if (rank_of_world == 1 && !done) MPI_Iprobe(2, 78, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE);
    MPI_Allreduce(&done, &all_done, 1, MPI_INT, MPI_MAX, comm);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank_of_world == 1) MPI_Recv(&in, 1, MPI_INT, 2, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in == (rank_of_world == 2 ? 0 : out));
  MPI_Comm_free(&comm);
}

/* All send before anybody receives: short messages, more than travel ahead, and one that must not end before its
   receive. Then they probe for, and receive, what is there. */
static void sends_before_receives(void) {
  enum { kMessages = 12000 };
  const int right = (rank_of_world + 1) % size_of_world, left = (rank_of_world + size_of_world - 1) % size_of_world;
  int in = -1, done = 0;
  MPI_Request request;
  MPI_Status status;
  for (int i = 0; i < kMessages; ++i) MPI_Send(&i, i % 5 != 0, MPI_INT, right, 80 + i % 2, MPI_COMM_WORLD);
  MPI_Issend(&right, 1, MPI_INT, right, 82, MPI_COMM_WORLD, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  for (double begin = MPI_Wtime(); MPI_Wtime() < begin + 0.01 && !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  CHECK(!done);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int tag = 0; tag < 2; ++tag) {
    for (int i = tag; i < kMessages; i += 2) {
      const int count = i % 5 != 0;
      MPI_Probe(left, 80 + tag, MPI_COMM_WORLD, &status);
      check_status(&status, left, 80 + tag, count * (int)sizeof in);
      MPI_Recv(&in, 1, MPI_INT, i % 3 == 0 ? MPI_ANY_SOURCE : left, 80 + tag, MPI_COMM_WORLD, &status);
      check_status(&status, left, 80 + tag, count * (int)sizeof in);
      CHECK(count == 0 || in == i);
    }
  }
  MPI_Recv(&in, 1, MPI_INT, left, 82, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in == rank_of_world);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Receives that nobody answers, and nobody waits for: MPI_Finalize withdraws them. */
static void left_behind(void) {
  static int values[2];
  MPI_Comm copy;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Irecv(&values[0], 1, MPI_INT, MPI_ANY_SOURCE, 997, MPI_COMM_WORLD, &request);
  MPI_Irecv(&values[1], 1, MPI_INT, rank_of_world, 997, copy, &request);
  MPI_Comm_free(&copy);
}

static void errors(void) {
  int value[4] = {1, 2, 3, 4}, class = 0;
  MPI_Status status;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Error_class(MPI_Send(value, 1, MPI_INT, size_of_world, 0, MPI_COMM_WORLD), &class);
  CHECK(class == MPI_ERR_RANK);
  MPI_Error_class(MPI_Send(value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), &class);
  CHECK(class == MPI_ERR_COUNT);
  MPI_Error_class(MPI_Send(value, 1, MPI_INT, 0, -5, MPI_COMM_WORLD), &class);
  CHECK(class == MPI_ERR_TAG);
  MPI_Error_class(MPI_Send(value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), &class);
  CHECK(class == MPI_ERR_TYPE);
  MPI_Error_class(MPI_Send(value, 1, MPI_INT, 0, 0, MPI_COMM_NULL), &class);
  CHECK(class == MPI_ERR_COMM);
  MPI_Request request;
  MPI_Isend(value, 4, MPI_INT, rank_of_world, 3, MPI_COMM_WORLD, &request);
  MPI_Error_class(MPI_Recv(value, 2, MPI_INT, rank_of_world, 3, MPI_COMM_WORLD, &status), &class);
  CHECK(class == MPI_ERR_TRUNCATE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  /* A request that has failed says so as often as it is looked at. */
  MPI_Irecv(value, 2, MPI_INT, rank_of_world, 3, MPI_COMM_WORLD, &request);
  MPI_Send(value, 4, MPI_INT, rank_of_world, 3, MPI_COMM_WORLD);
  for (int look = 0; look < 2; ++look) {
    int done = 0;
    do MPI_Error_class(MPI_Request_get_status(request, &done, &status), &class);
    while (!done && class == MPI_SUCCESS);
    CHECK(class == MPI_ERR_TRUNCATE);
  }
  MPI_Error_class(MPI_Wait(&request, &status), &class);
  CHECK(class == MPI_ERR_TRUNCATE && request == MPI_REQUEST_NULL && status.MPI_TAG == 3);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  start_checks(&argc, &argv);
  rings();
  everybody();
  probes();
  nobody();
  exchanges();
  persistent();
  cancelled();
  cancelled_among_others();
  mixed_lists();
  for (int size = 0; size < kSizes; ++size) cancelled_sends(kBytes[size]);
  many_at_once();
  packed_beside_pieces();
  let_go();
  beside_collectives();
  sends_before_receives();
  errors();
  left_behind();
  return end_checks("messages");
}
