// A program outside the tree, as a user would begin one: installed headers compile, installed libraries link.
#include <coracle/coracle.hpp>
#include <cstdio>

int main() {
  const coracle::Error error = coracle::Error::of_operation(coracle::Errc::out_of_segment, "put", 2, 5, "");
  std::puts(error.what());
}
