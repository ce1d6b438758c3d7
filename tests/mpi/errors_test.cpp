// Error handlers, classes, codes and texts.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include <string>

#include "interfaces/mpi/core/error_handler.hpp"
#include "interfaces/mpi/core/process.hpp"
#include "interfaces/mpi/core_functions.hpp"
#include "tests/mpi/error_of.hpp"

namespace mpi_errors_test {

namespace {

using namespace coracle::mpi;
using coracle::mpi::tests::error_of;

class Named final : public Object {
 public:
  std::string label() const override { return "MPI_COMM_WORLD"; }
};

struct Seen {
  Object* object = nullptr;
  int code = 0;
  std::string text;
};

void note(Object& object, int& code, const char* text, void* function) {
  *static_cast<Seen*>(function) = {&object, code, text};
  code = 1234;
}

struct Ending {
  int status;
  std::string text;
};

/// What a child process says and ends with.
template <class Call>
Ending ending_of(Call call) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe[1], STDERR_FILENO);
    call();
    ::_exit(99);
  }
  ::close(pipe[1]);
  std::string text;
  char part[256];
  for (ssize_t bytes = 0; (bytes = ::read(pipe[0], part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(bytes));
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

}  // namespace

TEST_CASE("mpi errors: every class has a text that begins with its name") {
  CHECK(error_text(0) == "MPI_SUCCESS: no error");
  CHECK(error_text(static_cast<int>(ErrorClass::rank)) == "MPI_ERR_RANK: invalid rank");
  for (int code = 1; code <= static_cast<int>(ErrorClass::errhandler); ++code) {
    CHECK(error_text(code).find("MPI_ERR_") == 0);
    CHECK(error_class_of(code) == code);
  }
  for (const int code : {-1, static_cast<int>(ErrorClass::errhandler) + 1, kFirstAddedCode + 100'000})
    CHECK(error_of([&] { error_text(code); }).is(ErrorClass::arg, std::to_string(code)));
}

TEST_CASE("mpi errors: the program adds classes, codes and texts") {
  int error_class_added = 0;
  add_error_class(error_class_added);
  CHECK(error_class_added >= kFirstAddedCode);
  int code = 0;
  add_error_code(error_class_added, code);
  CHECK(code == error_class_added + 1);
  int of = 0;
  error_class(code, of);
  CHECK(of == error_class_added);
  std::string text = "before";
  error_string(code, text);
  CHECK(text.empty());
  add_error_string(code, "out of apples");
  error_string(code, text);
  CHECK(text == "out of apples");
  add_error_code(static_cast<int>(ErrorClass::io), code);
  CHECK(error_class_of(code) == static_cast<int>(ErrorClass::io));
}

TEST_CASE("mpi errors: texts and codes go only where they belong") {
  const auto rank = static_cast<int>(ErrorClass::rank);
  CHECK(error_of([&] { add_error_string(rank, "mine"); }).is(ErrorClass::arg, "6 is MPI's own"));
  CHECK(error_of([&] { add_error_string(999'999, "none"); }).is(ErrorClass::arg, "999999"));
  int code = 0;
  add_error_code(rank, code);
  CHECK(error_of([&] { add_error_code(code, code); }).is(ErrorClass::arg, "give a class"));
}

TEST_CASE("mpi errors: handlers give back codes, or call the program") {
  Named object;
  const MpiError error(ErrorClass::tag, "tag is -7");
  using Kind = ErrorHandler::Kind;
  CHECK(handle_error(predefined_error_handler(Kind::give_back), object, error, "MPI_Send") == error.code());
  Seen seen;
  ErrorHandler* handler = create_error_handler(note, &seen);
  CHECK(handle_error(*handler, object, error, "MPI_Send") == 1234);
  CHECK(seen.object == &object);
  CHECK(seen.code == error.code());
  CHECK(seen.text == "tag is -7");
  errhandler_free(handler);
  CHECK(handler == nullptr);
  CHECK(error_of([&] { errhandler_free(handler); }).is(ErrorClass::errhandler, "MPI_ERRHANDLER_NULL"));
}

TEST_CASE("mpi errors: predefined handlers may be freed as often as they were got") {
  using Kind = ErrorHandler::Kind;
  for (const Kind kind : {Kind::are_fatal, Kind::abort, Kind::give_back}) {
    ErrorHandler& handler = predefined_error_handler(kind);
    CHECK(handler.kind == kind);
    ErrorHandler* got = Ref<ErrorHandler>(&handler).give();
    errhandler_free(got);
    CHECK(&predefined_error_handler(kind) == &handler);
    CHECK(handler.handle()->object == &handler);
  }
}

TEST_CASE("mpi errors: fatal ones say where and what, and end the job") {
  using Kind = ErrorHandler::Kind;
  for (const Kind kind : {Kind::are_fatal, Kind::abort}) {
    const Ending ending = ending_of([&] {
      this_process() = {3, [](int status) { ::_exit(40 + status); }};
      Named object;
      handle_error(predefined_error_handler(kind), object, MpiError(ErrorClass::tag, "tag is -7"), "MPI_Send");
    });
    CHECK(ending.text == "coracle: rank 3: MPI_Send on MPI_COMM_WORLD: tag is -7\n");
    CHECK(ending.status == 44);
  }
}

TEST_CASE("mpi processes: the program's arguments are known without main's help") {
  REQUIRE_FALSE(program_arguments().empty());
  CHECK(std::string(program_arguments().front()) == program_invocation_name);
}

TEST_CASE("mpi errors: without a job the process ends") {
  const Ending ending = ending_of([] { end_by_error(MpiError(ErrorClass::other, "call MPI_Init first"), "MPI_Send"); });
  CHECK(ending.text == "coracle: rank 0: MPI_Send: call MPI_Init first\n");
  CHECK(ending.status == 16);
}

}  // namespace mpi_errors_test
