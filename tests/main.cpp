// doctest's main for the tests.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <signal.h>

int main(int argc, char** argv) {
  // Whoever starts this by nohup means the tests, not the launchers that they start: those leave an ignored SIGHUP so.
  ::signal(SIGHUP, SIG_DFL);
  return doctest::Context(argc, argv).run();
}
