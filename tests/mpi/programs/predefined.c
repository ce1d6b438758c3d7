/* Each predefined handle stands for something, has the size of C's type where it is one, and the same number in Fortran
 * as Open MPI gives it; and a handle that is freed becomes the null handle. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include "check.h"

struct named_type {
  MPI_Datatype type;
  int bytes;
  int number;
  const char* name;
};

static void check_types(void) {
  const struct named_type all[] = {
      {MPI_CHAR, 1, 34, "MPI_CHAR"},
      {MPI_SIGNED_CHAR, 1, 36, "MPI_SIGNED_CHAR"},
      {MPI_UNSIGNED_CHAR, 1, 35, "MPI_UNSIGNED_CHAR"},
      {MPI_BYTE, 1, 1, "MPI_BYTE"},
      {MPI_PACKED, 1, 2, "MPI_PACKED"},
      {MPI_WCHAR, sizeof(wchar_t), 33, "MPI_WCHAR"},
      {MPI_SHORT, sizeof(short), 37, "MPI_SHORT"},
      {MPI_UNSIGNED_SHORT, sizeof(short), 38, "MPI_UNSIGNED_SHORT"},
      {MPI_INT, sizeof(int), 39, "MPI_INT"},
      {MPI_UNSIGNED, sizeof(int), 40, "MPI_UNSIGNED"},
      {MPI_LONG, sizeof(long), 41, "MPI_LONG"},
      {MPI_UNSIGNED_LONG, sizeof(long), 42, "MPI_UNSIGNED_LONG"},
      {MPI_LONG_LONG, sizeof(long long), 43, "MPI_LONG_LONG"},
      {MPI_UNSIGNED_LONG_LONG, sizeof(long long), 44, "MPI_UNSIGNED_LONG_LONG"},
      {MPI_FLOAT, sizeof(float), 45, "MPI_FLOAT"},
      {MPI_DOUBLE, sizeof(double), 46, "MPI_DOUBLE"},
      {MPI_LONG_DOUBLE, sizeof(long double), 47, "MPI_LONG_DOUBLE"},
      {MPI_INT8_T, 1, 58, "MPI_INT8_T"},
      {MPI_UINT64_T, 8, 65, "MPI_UINT64_T"},
      {MPI_AINT, sizeof(MPI_Aint), 66, "MPI_AINT"},
      {MPI_OFFSET, sizeof(MPI_Offset), 67, "MPI_OFFSET"},
      {MPI_COUNT, sizeof(MPI_Count), 72, "MPI_COUNT"},
      {MPI_C_BOOL, 1, 68, "MPI_C_BOOL"},
      {MPI_C_FLOAT_COMPLEX, 8, 69, "MPI_C_COMPLEX"},
      {MPI_C_DOUBLE_COMPLEX, 16, 70, "MPI_C_DOUBLE_COMPLEX"},
      {MPI_CXX_BOOL, 1, 54, "MPI_CXX_BOOL"},
      {MPI_CXX_DOUBLE_COMPLEX, 16, 56, "MPI_CXX_DOUBLE_COMPLEX"},
      {MPI_DOUBLE_INT, 12, 49, "MPI_DOUBLE_INT"},
      {MPI_2INT, 8, 52, "MPI_2INT"},
      {MPI_SHORT_INT, 6, 53, "MPI_SHORT_INT"},
      {MPI_LONG_DOUBLE_INT, 20, 50, "MPI_LONG_DOUBLE_INT"},
      {MPI_INTEGER, 4, 7, "MPI_INTEGER"},
      {MPI_INTEGER8, 8, 11, "MPI_INTEGER8"},
      {MPI_REAL, 4, 13, "MPI_REAL"},
      {MPI_REAL16, 16, 16, "MPI_REAL16"},
      {MPI_DOUBLE_PRECISION, 8, 17, "MPI_DOUBLE_PRECISION"},
      {MPI_COMPLEX, 8, 18, "MPI_COMPLEX"},
      {MPI_DOUBLE_COMPLEX, 16, 22, "MPI_DOUBLE_COMPLEX"},
      {MPI_LOGICAL, 4, 6, "MPI_LOGICAL"},
      {MPI_CHARACTER, 1, 5, "MPI_CHARACTER"},
      {MPI_2DOUBLE_PRECISION, 16, 24, "MPI_2DOUBLE_PRECISION"},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    int bytes = -1, length = 0;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Type_size(all[i].type, &bytes);
    REQUIRE(bytes == all[i].bytes, "%s has %d bytes", all[i].name, bytes);
    REQUIRE(MPI_Type_c2f(all[i].type) == all[i].number, "%s is %d", all[i].name, MPI_Type_c2f(all[i].type));
    REQUIRE(MPI_Type_f2c(all[i].number) == all[i].type, "%s", all[i].name);
    MPI_Type_get_name(all[i].type, name, &length);
    REQUIRE(length == (int)strlen(name) && strncmp(name, "MPI_", 4) == 0, "%s is named %s", all[i].name, name);
  }
}

static void check_operations(void) {
  const MPI_Op all[] = {MPI_MAX, MPI_MIN,  MPI_SUM,  MPI_PROD,   MPI_LAND,   MPI_BAND,    MPI_LOR,
                        MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};
  for (int i = 0; i < (int)(sizeof all / sizeof *all); ++i) {
    REQUIRE(MPI_Op_c2f(all[i]) == i + 1 && MPI_Op_f2c(i + 1) == all[i], "operation %d", i + 1);
    int commutes = 0;
    MPI_Op_commutative(all[i], &commutes);
    REQUIRE(commutes || all[i] == MPI_REPLACE || all[i] == MPI_NO_OP, "operation %d", i + 1);
  }
}

static void check_null_handles(void) {
  REQUIRE(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_NULL)) == MPI_COMM_NULL, "the null communicator");
  REQUIRE(MPI_Comm_c2f(MPI_COMM_WORLD) == 0 && MPI_Comm_c2f(MPI_COMM_SELF) == 1, "communicators' numbers");
  REQUIRE(MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL, "the null request");
  REQUIRE(MPI_Group_f2c(MPI_Group_c2f(MPI_GROUP_EMPTY)) == MPI_GROUP_EMPTY, "the empty group");
  REQUIRE(MPI_Info_f2c(MPI_Info_c2f(MPI_INFO_NULL)) == MPI_INFO_NULL, "the null info");
  REQUIRE(MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN, "MPI_ERRORS_RETURN");
  REQUIRE(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL, "the null file");
  REQUIRE(MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)) == MPI_WIN_NULL, "the null window");
}

static void check_freed_handles(void) {
  MPI_Comm comm, stale;
  MPI_Datatype type;
  MPI_Group group;
  MPI_Info info;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  stale = comm;
  const MPI_Fint number = MPI_Comm_c2f(comm);
  REQUIRE(number > 2 && MPI_Comm_f2c(number) == comm, "its number is %d", number);
  MPI_Comm_free(&comm);
  REQUIRE(comm == MPI_COMM_NULL && MPI_Comm_f2c(number) == MPI_COMM_NULL, "a communicator");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int size, class;
  REQUIRE(MPI_Error_class(MPI_Comm_size(stale, &size), &class) == 0 && class == MPI_ERR_COMM, "class %d", class);
  REQUIRE(MPI_Comm_size(NULL, &size) == MPI_ERR_COMM, "a null pointer");
  REQUIRE(MPI_Comm_size(MPI_COMM_NULL, &size) == MPI_ERR_COMM, "the null handle");
  REQUIRE(MPI_Comm_size(MPI_COMM_WORLD, NULL) == MPI_ERR_ARG, "no place");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Type_free(&type);
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Group_free(&group);
  MPI_Info_create(&info);
  MPI_Info_free(&info);
  REQUIRE(type == MPI_DATATYPE_NULL && group == MPI_GROUP_NULL && info == MPI_INFO_NULL, "others");
}

/* Requests that are waited for in C give their numbers back. */
static void check_numbers_of_requests(void) {
  MPI_Fint first = -1;
  for (int round = 0; round < 100; ++round) {
    MPI_Request requests[2];
    int to = round, from = -1;
    MPI_Irecv(&from, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]);
    MPI_Isend(&to, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]);
    const MPI_Fint number = MPI_Request_c2f(requests[0]);
    if (round == 0) first = number;
    REQUIRE(number == first, "%d, and %d at first", number, first);
    if (round % 2 == 0) {
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else {
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    }
    REQUIRE(from == round && requests[0] == MPI_REQUEST_NULL, "received %d", from);
    REQUIRE(MPI_Request_f2c(number) == MPI_REQUEST_NULL, "number %d", number);
  }
}

int main(int argc, char** argv) {
  start_checks(&argc, &argv);
  check_types();
  check_operations();
  check_null_handles();
  check_freed_handles();
  check_numbers_of_requests();
  return end_checks("predefined");
}
