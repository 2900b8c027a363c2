// What libFuzzer calls: any bytes as a lite archive, through the C interface of a small library.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sconce/serialization/file/file_bytes.h"
#include "tests/lite/hostile_lite.h"

namespace sconce {

// Small libraries copy models alone (lite/model_bytes.h); the mutator reads the archives that it changes.
std::shared_ptr<const FileBytes> FileBytes::copy(std::span<const std::byte> bytes, std::string_view) {
  struct Copy final : FileBytes {
    explicit Copy(std::span<std::byte> memory) : FileBytes("archive", memory) {}
    ~Copy() { delete[] bytes().data(); }
  };
  const std::span<std::byte> memory(new std::byte[bytes.size()], bytes.size());
  std::copy(bytes.begin(), bytes.end(), memory.begin());
  return std::make_shared<Copy>(memory);
}

}  // namespace sconce

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sconce::testing::load_and_run({reinterpret_cast<const char*>(data), size});
  return 0;
}
