// Objects: who uses them, and what a stale handle shows.
#include "interfaces/mpi/core/object.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace mpi_object_test {

namespace {

using namespace coracle::mpi;

class Thing final : public Object {
 public:
  explicit Thing(int& alive) : alive_(alive) { ++alive_; }

 private:
  ~Thing() override { --alive_; }
  int& alive_;
};

}  // namespace

TEST_CASE("mpi objects: the last use ends one, whoever has it") {
  int alive = 0;
  auto* thing = new Thing(alive);
  Ref<Thing> under_way(thing);
  CHECK(thing->uses() == 2);
  free_handle(thing);
  CHECK(thing == nullptr);
  CHECK(alive == 1);
  under_way = Ref<Thing>();
  CHECK(alive == 0);
}

TEST_CASE("mpi objects: a stale handle has no object, while some more come and go") {
  int alive = 0;
  std::vector<HandleWord*> stale;
  for (int i = 0; i < 100; ++i) {
    auto* thing = new Thing(alive);
    stale.push_back(thing->handle());
    CHECK(stale.back()->object == thing);
    free_handle(thing);
  }
  CHECK(alive == 0);
  for (const HandleWord* handle : stale) CHECK(handle->object == nullptr);
  for (int i = 0; i < 5000; ++i) {
    auto* thing = new Thing(alive);
    free_handle(thing);
  }
  CHECK(alive == 0);
}

TEST_CASE("mpi objects: a handle of the ABI is told that its object has gone") {
  int alive = 0;
  HandleWord exported;
  auto* thing = new Thing(alive);
  thing->set_handle(&exported);
  CHECK(exported.object == thing);
  CHECK(thing->handle() == &exported);
  free_handle(thing);
  CHECK(exported.object == nullptr);
}

TEST_CASE("mpi objects: predefined ones stay, however often they are freed") {
  int alive = 0;
  auto* thing = new Thing(alive);
  thing->set_predefined();
  for (int i = 0; i < 3; ++i) thing->release();
  CHECK(alive == 1);
  CHECK(thing->handle()->object == thing);
  HandleWord exported;
  thing->set_handle(&exported);
  thing->clear_predefined();
  free_handle(thing);
  CHECK(alive == 0);
  CHECK(exported.object == nullptr);
}

}  // namespace mpi_object_test
