// How libFuzzer changes archives: inside of their records, which are packed again with right checksums.
#include <cstdint>
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/testing/hostile/mutate_archive.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  using namespace sconce::testing;
  Random random(seed);
  if (random() % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  try {
    const std::string changed = ArchiveMutator({reinterpret_cast<const char*>(data), size}).mutate(random);
    if (changed.size() > max_size) return size;
    std::memcpy(data, changed.data(), changed.size());
    return changed.size();
  } catch (const sconce::Error&) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
}
