// libFuzzer's entry to the file of a store; the unit tests take random edits through the same door (store_input_test).
#include <cstddef>
#include <cstdint>

#include "tests/storage/store_input.hpp"
#include "tests/storage/temporary_folder.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace coracle;
  using namespace coracle::internals;
  static const test::TemporaryFolder folder;
  static EventLoop loop;
  static const test::StoreImage image = [] {
    test::StoreImage::make(loop, folder.file("good"));
    return test::StoreImage(folder.file("good"));
  }();
  test::take_store_input(loop, image, folder.file("edited"), {reinterpret_cast<const std::byte*>(data), bytes});
  return 0;
}
