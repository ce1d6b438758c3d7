// The usual program, which is a function: what the compiler need not make anew in each program.
#include "runtime/rank/app.hpp"

namespace coracle::internals {

App::App(Task<> (*function)(Rank&)) : program_(std::make_shared<ProgramOf<Task<> (*)(Rank&)>>(function)) {}

}  // namespace coracle::internals
