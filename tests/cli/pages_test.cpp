// `coracle pages check` on files that are whole, damaged, or none.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include "tests/cli/command.hpp"
#include "tests/storage/store_image.hpp"
#include "tests/storage/temporary_folder.hpp"

namespace pages_test {

using coracle::internals::test::StoreImage;

TEST_CASE("coracle pages check: tells whole files from damaged ones") {
  const coracle::internals::test::TemporaryFolder folder;
  const std::string whole = folder.file("data.0");
  const std::string damaged = folder.file("data.1");
  {
    coracle::internals::EventLoop loop;
    StoreImage::make(loop, whole);
    StoreImage::make(loop, damaged);
  }
  StoreImage image(damaged);
  image.flip(image.plan.slot_at(image.latest_slot(5)) + 77);
  image.save();

  Command good({"pages", "check", whole});
  CHECK(good.wait() == 0);
  CHECK(good.output().find(whole + ": whole") != std::string::npos);
  CHECK(good.output().find("checkpoint \"second\", epoch 2") != std::string::npos);

  Command bad({"pages", "check", whole, damaged});
  CHECK(bad.wait() == 1);
  CHECK(bad.output().find(whole + ": whole") != std::string::npos);
  CHECK(bad.output().find(damaged + ": DAMAGED, 1 fault\n") != std::string::npos);
  CHECK(bad.output().find("fault: page 5 does not match its checksum in the last flush") != std::string::npos);

  Command none({"pages", "check", damaged, folder.file("data.2")});
  CHECK(none.wait() == 2);
  CHECK(none.output().find("DAMAGED") != std::string::npos);
  CHECK(none.errors().find("No such file or directory") != std::string::npos);
}

TEST_CASE("coracle pages check: what is no file is refused at once") {
  const coracle::internals::test::TemporaryFolder folder;
  const std::string pipe = folder.file("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  Command check({"pages", "check", pipe, folder.file(""), "/dev/zero"});
  CHECK(check.wait() == 2);
  CHECK(check.output().empty());
  for (const std::string& words : {pipe + " is not a file but a pipe", folder.file("") + " is not a file but a folder",
                                   std::string("/dev/zero is not a file but a device")})
    CHECK(check.errors().find(words) != std::string::npos);
}

}  // namespace pages_test
