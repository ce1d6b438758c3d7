// Create, spawn, wait, destroy with programs every machine has.
#include <doctest/doctest.h>

#include <ostream>

#include "runtime/error.hpp"
#include "runtime/pvas/address_space.hpp"

using coracle::SpawnOptions;
using coracle::pvas::AddressSpace;

namespace {

SpawnOptions command(std::vector<std::string> arguments) {
  SpawnOptions options;
  options.program = arguments.front();
  options.arguments = std::move(arguments);
  options.environment = {"PATH=/usr/bin:/bin"};
  return options;
}

}  // namespace

TEST_CASE("pvas: a task's exit status reaches the root") {
  const auto support = coracle::pvas::probe();
  if (!support.available) {
    MESSAGE("skipped: " << support.reason);
    return;
  }
  AddressSpace space = AddressSpace::create();
  CHECK(space.wait(space.spawn(command({"/bin/true"}))).code == 0);
  CHECK(space.wait(space.spawn(command({"/bin/false"}))).code == 1);
  CHECK(space.wait(space.spawn(command({"/bin/sh", "-c", "exit 7"}))).code == 7);
  CHECK(space.wait(space.spawn(command({"sh", "-c", "kill -9 $$"}))).signal == 9);
}
