// Programs that start others: told by their names, and by what they import.
#pragma once

#include <string>

namespace coracle::internals {

/// Whether it is named as one whose trade it is to start another program, in its own place or as a child: either is
/// outside the address space that it is in.
bool is_named_as_starter(const std::string& path);
/// Whether that is so, of a program that is not one of MPI; or whether it gives its place to another, as far as what it
/// imports tells. Of a file that can't be read the name alone counts.
bool starts_others(const std::string& path);

}  // namespace coracle::internals
