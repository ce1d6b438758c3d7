// frame-seeds FOLDER: writes the corpus from which frame-fuzzer starts.
#include <cstdio>
#include <fstream>

#include "tests/transports/frame_seeds.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: frame-seeds FOLDER\n", stderr);
    return 2;
  }
  int number = 0;
  for (const std::string& seed : coracle::internals::test::frame_seeds()) {
    std::ofstream file(std::string(argv[1]) + "/seed-" + std::to_string(number++), std::ios::binary);
    file << seed;
    if (!file) return 1;
  }
  return 0;
}
