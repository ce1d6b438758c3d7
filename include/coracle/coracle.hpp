// Everything a program needs: include this one header.
#pragma once

#include "runtime/assert.hpp"
#include "runtime/error.hpp"
