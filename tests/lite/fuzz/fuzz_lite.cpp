// What libFuzzer calls: any bytes as a lite archive, through the C interface of a small library.
#include <cstddef>
#include <cstdint>

#include "tests/lite/hostile_lite.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sconce::testing::load_and_run({reinterpret_cast<const char*>(data), size});
  return 0;
}
