// Coracle: everything that is elsewhere is one co_await. This header is all that most programs need; of its parts each
// is a header of its own. Not in it: <coracle/gpu.hpp>, <coracle/mapped.hpp>, <coracle/mpi.hpp>, <coracle/round.hpp>.
//
// What a program may name is in namespace coracle, and no more than that, so that a program's own Clock or Flag does
// not collide with one of the library's. All else is in coracle::internals and may change from day to day.
#pragma once

#include <coracle/calls.hpp>
#include <coracle/error.hpp>
#include <coracle/io.hpp>
#include <coracle/layout.hpp>
#include <coracle/messages.hpp>
#include <coracle/pages.hpp>
#include <coracle/rank.hpp>
#include <coracle/run.hpp>
#include <coracle/sync.hpp>
#include <coracle/task.hpp>
#include <coracle/team.hpp>
