#include "tests/lite/hostile_lite.h"

#include <cstdlib>
#include <vector>

#include "sconce/lite/sconce_lite.h"

namespace sconce::testing {
namespace {

// Large allocations fail: a file may ask for any number of bytes.
void* take(size_t bytes, size_t alignment, void*) {
  constexpr size_t kMost = size_t{64} << 20;
  return bytes > kMost ? nullptr : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void give(void* memory, void*) { std::free(memory); }

void check(sconce_lite_status status) {
  if (status == SCONCE_LITE_INTERNAL_ERROR || status == SCONCE_LITE_INVALID_ARGUMENT) std::abort();
}

}  // namespace

void load_and_run(std::string_view bytes) {
  static const bool started = [] {
    const sconce_lite_host host{take, give, nullptr, 1, nullptr};
    return sconce_lite_start(&host) == SCONCE_LITE_OK;
  }();
  if (!started) std::abort();
  sconce_lite_model* model = nullptr;
  const sconce_lite_status loaded =
      bytes.empty() ? SCONCE_LITE_BAD_MODEL : sconce_lite_load(bytes.data(), bytes.size(), SCONCE_LITE_COPY, &model);
  if (loaded != SCONCE_LITE_OK) return check(loaded);
  check(sconce_lite_limit(model, 200, uint64_t{16} << 20));
  float numbers[64];
  for (int i = 0; i < 64; ++i) numbers[i] = static_cast<float>(i) / 8 - 4;
  const int64_t sizes[4] = {2, 4, 2, 2};
  const sconce_lite_value tensor = sconce_lite_tensor_of(numbers, SCONCE_LITE_FLOAT32, 2, sizes);
  const sconce_lite_value image = sconce_lite_tensor_of(numbers, SCONCE_LITE_FLOAT32, 4, sizes);
  sconce_lite_value integer{};
  integer.kind = SCONCE_LITE_INTEGER;
  integer.as.integer = 3;
  const sconce_lite_value* const tried[] = {&tensor, &image, &integer};
  for (size_t m = 0; m < sconce_lite_method_count(model) && m < 4; ++m) {
    for (const sconce_lite_value* first : tried) {
      for (size_t count = 0; count <= 2; ++count) {
        const sconce_lite_value args[2] = {*first, *first};
        const sconce_lite_value* result = nullptr;
        sconce_lite_status status = sconce_lite_run(model, m, args, count, &result);
        check(status);
        if (status == SCONCE_LITE_OK) check(sconce_lite_run(model, m, args, count, &result));
      }
    }
  }
  sconce_lite_free(model);
}

}  // namespace sconce::testing
