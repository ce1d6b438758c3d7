/* Reductions and scans: datatypes and operations, in all forms, in place, of all roots; operations that do not commute,
   of the program, on values with gaps and on large ones. */
#include "collective_data.h"

#include <complex.h>
#include <stdbool.h>

static MPI_Comm comm;
static int me, members;
enum { MEMBERS_MAX = 64 };

/* What a value is: how many bytes it has, what a member gives, and how two are combined. */
typedef struct {
  const char* name;
  MPI_Datatype type;
  MPI_Op op;
  size_t bytes;
  void (*give)(void* value, int member, int i);
  void (*combine)(const void* left, void* right); /* right = left op right */
} Case;

typedef enum { OF_REDUCE, OF_ALLREDUCE, OF_SCAN, OF_EXSCAN } Which;

static void give_all(const Case* c, char* values, int member, int first, int count) {
  for (int i = 0; i < count; ++i) c->give(values + (size_t)i * c->bytes, member, first + i);
}

/* Of the members before `end`, from the last one on. */
static void combine_all(const Case* c, char* result, int end, int first, int count) {
  char* left = allocate(c->bytes);
  memset(left, UNTOUCHED, c->bytes);
  for (int i = 0; i < count; ++i) {
    char* right = result + (size_t)i * c->bytes;
    c->give(right, end - 1, first + i);
    for (int member = end - 2; member >= 0; --member) {
      c->give(left, member, first + i);
      c->combine(left, right);
    }
  }
  free(left);
}

static void compare_values(const Case* c, char* found, char* expected, int count, const char* what) {
  ++checks_made;
  for (int i = 0; i < count; ++i)
    if (memcmp(found + (size_t)i * c->bytes, expected + (size_t)i * c->bytes, c->bytes) != 0)
      fail_check(__FILE__, __LINE__, "the result is right", "%s of %s: form %d, %d values: value %d is wrong", what,
                 c->name, form, count, i);
  free(found);
  free(expected);
}

static char* values_of(const Case* c, int count) {
  char* values = allocate((size_t)count * c->bytes);
  memset(values, UNTOUCHED, (size_t)count * c->bytes);
  return values;
}

static void try_reduce(const Case* c, int n, int root, int in_place) {
  char* mine = values_of(c, n);
  char* result = values_of(c, n);
  char* expected = values_of(c, n);
  give_all(c, mine, me, 0, n);
  combine_all(c, expected, members, 0, n);
  if (me == root && in_place) memcpy(result, mine, (size_t)n * c->bytes);
  if (me == root)
    CALL(Reduce, reduce, in_place ? MPI_IN_PLACE : mine, result, n, c->type, c->op, root, comm);
  else
    CALL(Reduce, reduce, mine, NULL, n, c->type, c->op, root, comm);
  if (me == root) {
    compare_values(c, result, expected, n, "reduce");
  } else {
    give_all(c, expected, me, 0, n);
    compare_values(c, mine, expected, n, "reduce, what is sent");
    mine = result;
  }
  free(mine);
}

static void try_allreduce(const Case* c, int n, int in_place) {
  char* mine = values_of(c, n);
  char* result = values_of(c, n);
  char* expected = values_of(c, n);
  give_all(c, mine, me, 0, n);
  combine_all(c, expected, members, 0, n);
  if (in_place) memcpy(result, mine, (size_t)n * c->bytes);
  CALL(Allreduce, allreduce, in_place ? MPI_IN_PLACE : mine, result, n, c->type, c->op, comm);
  compare_values(c, result, expected, n, "allreduce");
  free(mine);
}

static void try_scan(const Case* c, int n, int in_place, int exclusive) {
  char* mine = values_of(c, n);
  char* result = values_of(c, n);
  char* expected = values_of(c, n);
  int const end = exclusive ? me : me + 1;
  give_all(c, mine, me, 0, n);
  if (end > 0) combine_all(c, expected, end, 0, n);
  if (in_place) memcpy(result, mine, (size_t)n * c->bytes);
  if (exclusive)
    CALL(Exscan, exscan, in_place ? MPI_IN_PLACE : mine, result, n, c->type, c->op, comm);
  else
    CALL(Scan, scan, in_place ? MPI_IN_PLACE : mine, result, n, c->type, c->op, comm);
  compare_values(c, result, expected, end > 0 ? n : 0, exclusive ? "exscan" : "scan");
  free(mine);
}

static void try_reduce_scatter(const Case* c, int n, int in_place, int same) {
  int counts[MEMBERS_MAX], total = 0, first = 0;
  for (int i = 0; i < members; ++i) {
    counts[i] = same ? n : elements_between(n, i, 1);
    if (i < me) first += counts[i];
    total += counts[i];
  }
  char* mine = values_of(c, total);
  char* result = values_of(c, total);
  char* expected = values_of(c, total);
  give_all(c, mine, me, 0, total);
  combine_all(c, expected, members, first, counts[me]);
  if (in_place) memcpy(result, mine, (size_t)total * c->bytes);
  if (same)
    CALL(Reduce_scatter_block, reduce_scatter_block, in_place ? MPI_IN_PLACE : mine, result, n, c->type, c->op, comm);
  else
    CALL(Reduce_scatter, reduce_scatter, in_place ? MPI_IN_PLACE : mine, result, counts, c->type, c->op, comm);
  compare_values(c, result, expected, counts[me], same ? "reduce_scatter_block" : "reduce_scatter");
  free(mine);
}

static void try_functions(const Case* c, int n) {
  for (int in_place = 0; in_place < 2; ++in_place) {
    for (int root = 0; root < members; ++root) try_reduce(c, n, root, in_place);
    try_allreduce(c, n, in_place);
    try_scan(c, n, in_place, 0);
    try_scan(c, n, in_place, 1);
    try_reduce_scatter(c, n, in_place, 0);
    try_reduce_scatter(c, n, in_place, 1);
  }
}

/* --- operations of MPI on its datatypes: small numbers, so that all orders give the same bits --- */

#define NUMBER(member, i) ((made_up(5, member, i) % 5) + 1)
#define MAKE_CASE(name, T, op_name, expression)                           \
  static void give_##name##_##op_name(void* value, int member, int i) {   \
    T const given = (T)NUMBER(member, i);                                 \
    memset(value, 0, sizeof(T));                                          \
    *(T*)value = given;                                                   \
  }                                                                       \
  static void combine_##name##_##op_name(const void* left, void* right) { \
    T const a = *(const T*)left, b = *(const T*)right;                    \
    *(T*)right = (T)(expression);                                         \
  }
#define ARITHMETIC(name, T)              \
  MAKE_CASE(name, T, MAX, a > b ? a : b) \
  MAKE_CASE(name, T, MIN, a < b ? a : b) \
  MAKE_CASE(name, T, SUM, a + b)         \
  MAKE_CASE(name, T, PROD, a* b)
#define LOGIC(name, T)            \
  MAKE_CASE(name, T, LAND, a&& b) \
  MAKE_CASE(name, T, LOR, a || b) \
  MAKE_CASE(name, T, LXOR, !a != !b)
#define BITS(name, T)            \
  MAKE_CASE(name, T, BAND, a& b) \
  MAKE_CASE(name, T, BOR, a | b) \
  MAKE_CASE(name, T, BXOR, a ^ b)
#define INTEGER(name, T) ARITHMETIC(name, T) LOGIC(name, T) BITS(name, T)

INTEGER(SIGNED_CHAR, signed char)
INTEGER(UNSIGNED_CHAR, unsigned char)
INTEGER(SHORT, short)
INTEGER(UNSIGNED_SHORT, unsigned short)
INTEGER(INT, int)
INTEGER(UNSIGNED, unsigned)
INTEGER(LONG, long)
INTEGER(UNSIGNED_LONG, unsigned long)
INTEGER(LONG_LONG, long long)
ARITHMETIC(FLOAT, float)
ARITHMETIC(DOUBLE, double)
MAKE_CASE(C_FLOAT_COMPLEX, float complex, SUM, a + b)
MAKE_CASE(C_DOUBLE_COMPLEX, double complex, PROD, a* b)
LOGIC(C_BOOL, bool)

#define LIST(name, T, op) \
  { "MPI_" #name " by MPI_" #op, MPI_##name, MPI_##op, sizeof(T), give_##name##_##op, combine_##name##_##op }
#define LIST_ARITHMETIC(name, T) LIST(name, T, MAX), LIST(name, T, MIN), LIST(name, T, SUM), LIST(name, T, PROD)
#define LIST_LOGIC(name, T) LIST(name, T, LAND), LIST(name, T, LOR), LIST(name, T, LXOR)
#define LIST_INTEGER(name, T) \
  LIST_ARITHMETIC(name, T), LIST_LOGIC(name, T), LIST(name, T, BAND), LIST(name, T, BOR), LIST(name, T, BXOR)

/* Long double's last bytes are any. */
static void try_long_double(int n) {
  long double* mine = allocate((size_t)n * sizeof(long double));
  long double* sum = allocate((size_t)n * sizeof(long double));
  for (int i = 0; i < n; ++i) mine[i] = NUMBER(me, i);
  CALL(Allreduce, allreduce, mine, sum, n, MPI_LONG_DOUBLE, MPI_SUM, comm);
  for (int i = 0; i < n; ++i) {
    long double expected = 0;
    for (int member = 0; member < members; ++member) expected += NUMBER(member, i);
    REQUIRE(sum[i] == expected, "long double, value %d of %d", i, n);
  }
  free(mine);
  free(sum);
}

static void try_datatypes(void) {
  const Case cases[] = {LIST_INTEGER(SIGNED_CHAR, signed char),
                        LIST_INTEGER(UNSIGNED_CHAR, unsigned char),
                        LIST_INTEGER(SHORT, short),
                        LIST_INTEGER(UNSIGNED_SHORT, unsigned short),
                        LIST_INTEGER(INT, int),
                        LIST_INTEGER(UNSIGNED, unsigned),
                        LIST_INTEGER(LONG, long),
                        LIST_INTEGER(UNSIGNED_LONG, unsigned long),
                        LIST_INTEGER(LONG_LONG, long long),
                        LIST_ARITHMETIC(FLOAT, float),
                        LIST_ARITHMETIC(DOUBLE, double),
                        LIST(C_FLOAT_COMPLEX, float complex, SUM),
                        LIST(C_DOUBLE_COMPLEX, double complex, PROD),
                        LIST_LOGIC(C_BOOL, bool)};
  static const int sizes[] = {1, 5, 700};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    for (int s = 0; s < 3; ++s) {
      try_allreduce(&cases[i], sizes[s], s % 2);
      try_reduce(&cases[i], sizes[s], members - 1, s % 2);
      try_scan(&cases[i], sizes[s], s % 2, 0);
    }
  for (int s = 0; s < 3; ++s) try_long_double(sizes[s]);
}

/* --- pairs --- */

#define PAIR(name, T, op_name, better)                                                             \
  typedef struct {                                                                                 \
    T value;                                                                                       \
    int place;                                                                                     \
  } Pair_##name##_##op_name;                                                                       \
  static void try_##name##_##op_name(int n) {                                                      \
    Pair_##name##_##op_name* mine = allocate((size_t)n * sizeof *mine);                            \
    Pair_##name##_##op_name* result = allocate((size_t)n * sizeof *mine);                          \
    for (int i = 0; i < n; ++i) {                                                                  \
      mine[i].value = (T)NUMBER(me, i);                                                            \
      mine[i].place = 100 - me;                                                                    \
    }                                                                                              \
    CALL(Allreduce, allreduce, mine, result, n, MPI_##name, MPI_##op_name, comm);                  \
    for (int i = 0; i < n; ++i) {                                                                  \
      int best = 0;                                                                                \
      for (int m = 1; m < members; ++m)                                                            \
        if (NUMBER(m, i) better## = NUMBER(best, i)) best = m; /* of equal ones the least place */ \
      REQUIRE(result[i].value == (T)NUMBER(best, i) && result[i].place == 100 - best,              \
              #name " by " #op_name ", value %d of %d", i, n);                                     \
    }                                                                                              \
    free(mine);                                                                                    \
    free(result);                                                                                  \
  }
PAIR(2INT, int, MAXLOC, >)
PAIR(2INT, int, MINLOC, <)
PAIR(FLOAT_INT, float, MINLOC, <)
PAIR(DOUBLE_INT, double, MAXLOC, >)
PAIR(LONG_INT, long, MINLOC, <)
PAIR(SHORT_INT, short, MAXLOC, >)
PAIR(LONG_DOUBLE_INT, long double, MAXLOC, >)

static void try_pairs(int n) {
  try_2INT_MAXLOC(n);
  try_2INT_MINLOC(n);
  try_FLOAT_INT_MINLOC(n);
  try_DOUBLE_INT_MAXLOC(n);
  try_LONG_INT_MINLOC(n);
  try_SHORT_INT_MAXLOC(n);
  try_LONG_DOUBLE_INT_MAXLOC(n);
}

/* --- operations of the program --- */

/* Matrices of 2 by 2, modulo 2^32: their product does not commute. */
typedef struct {
  unsigned a, b, c, d;
} Matrix;

static void give_matrix(void* value, int member, int i) {
  Matrix const given = {(unsigned)made_up(1, member, i), (unsigned)made_up(2, member, i),
                        (unsigned)made_up(3, member, i), (unsigned)made_up(4, member, i)};
  memcpy(value, &given, sizeof given);
}
static void multiply(const void* left, void* right) {
  Matrix const x = *(const Matrix*)left, y = *(Matrix*)right;
  Matrix const product = {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
  memcpy(right, &product, sizeof product);
}
static void multiply_all(void* in, void* inout, int* count, MPI_Datatype* datatype) {
  (void)datatype;
  for (int i = 0; i < *count; ++i) multiply((Matrix*)in + i, (Matrix*)inout + i);
}

/* The same with a gap within, and one at the end, which hold something else. */
typedef struct {
  unsigned a, b;
  int gap;
  unsigned c, d;
  int end[3];
} Spread;

static void give_spread(void* value, int member, int i) {
  Matrix m;
  give_matrix(&m, member, i);
  Spread* spread = value;
  spread->a = m.a;
  spread->b = m.b;
  spread->c = m.c;
  spread->d = m.d;
}
static void multiply_spread(const void* left, void* right) {
  const Spread* x = left;
  Spread* y = right;
  Matrix const l = {x->a, x->b, x->c, x->d};
  Matrix r = {y->a, y->b, y->c, y->d};
  multiply(&l, &r);
  y->a = r.a;
  y->b = r.b;
  y->c = r.c;
  y->d = r.d;
}
static void multiply_all_spread(void* in, void* inout, int* count, MPI_Datatype* datatype) {
  (void)datatype;
  for (int i = 0; i < *count; ++i) multiply_spread((Spread*)in + i, (Spread*)inout + i);
}

/* More than the library may combine in parts: a row of matrices is one value. */
enum { LARGE = 2000 };
static void give_large(void* value, int member, int i) {
  for (int k = 0; k < LARGE; ++k) give_matrix((Matrix*)value + k, member, i * LARGE + k);
}
static void multiply_large(const void* left, void* right) {
  for (int k = 0; k < LARGE; ++k) multiply((const Matrix*)left + k, (Matrix*)right + k);
}
static void multiply_all_large(void* in, void* inout, int* count, MPI_Datatype* datatype) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(*datatype, &lower, &extent);
  REQUIRE(lower == 0 && extent == (MPI_Aint)(LARGE * sizeof(Matrix)), "the datatype of the call");
  for (int i = 0; i < *count; ++i) multiply_large((char*)in + i * extent, (char*)inout + i * extent);
}

static void try_own_operations(void) {
  static const int sizes[] = {0, 1, 2, 9, 250, 6250};
  Case matrices = {"matrices", MPI_DATATYPE_NULL, MPI_OP_NULL, sizeof(Matrix), give_matrix, multiply};
  Case spread = {"matrices with gaps", MPI_DATATYPE_NULL, MPI_OP_NULL, sizeof(Spread), give_spread, multiply_spread};
  Case large = {"large values", MPI_DATATYPE_NULL, MPI_OP_NULL, LARGE * sizeof(Matrix), give_large, multiply_large};
  int lengths[2] = {2, 2}, places[2] = {0, 3};
  MPI_Datatype raw;
  MPI_Type_contiguous(4, MPI_UNSIGNED, &matrices.type);
  MPI_Type_indexed(2, lengths, places, MPI_UNSIGNED, &raw);
  MPI_Type_create_resized(raw, 0, sizeof(Spread), &spread.type);
  MPI_Type_contiguous(4 * LARGE, MPI_UNSIGNED, &large.type);
  MPI_Type_free(&raw);
  MPI_Type_commit(&matrices.type);
  MPI_Type_commit(&spread.type);
  MPI_Type_commit(&large.type);
  MPI_Op_create(multiply_all, 0, &matrices.op);
  MPI_Op_create(multiply_all_spread, 0, &spread.op);
  MPI_Op_create(multiply_all_large, 0, &large.op);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    try_functions(&matrices, sizes[s]);
    try_functions(&spread, sizes[s]);
  }
  try_functions(&large, 1);
  try_functions(&large, 3);
  MPI_Type_free(&matrices.type);
  MPI_Type_free(&spread.type);
  MPI_Type_free(&large.type);
  MPI_Op_free(&matrices.op);
  MPI_Op_free(&spread.op);
  MPI_Op_free(&large.op);
}

static void try_all(void) {
  static const int sizes[] = {0, 1, 4, 60, 2000, 25000};
  const Case sums = LIST(INT, int, SUM);
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &members);
  for (form = 0; form < FORMS; ++form) {
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) try_functions(&sums, sizes[s]);
    try_datatypes();
    try_pairs(1);
    try_pairs(40);
    try_pairs(3000);
    try_own_operations();
  }
}

int main(int argc, char** argv) {
  MPI_Comm other;
  start_checks(&argc, &argv);
  REQUIRE(size_of_world <= MEMBERS_MAX, "at most %d processes", MEMBERS_MAX);
  comm = MPI_COMM_WORLD;
  try_all();
  comm = MPI_COMM_SELF;
  try_all();
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_of_world, &other);
  comm = other;
  try_all();
  MPI_Comm_free(&other);
  return end_checks("reductions");
}
