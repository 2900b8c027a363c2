#include "sconce/api/from_blob.h"

#include <cstddef>
#include <memory>

#include "sconce/base/error.h"
#include "sconce/tensor/backend.h"

namespace sconce {
namespace {

std::vector<int64_t> dense_strides(IntList sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    if (sizes[i] > 1)
      SCONCE_CHECK(!__builtin_mul_overflow(step, sizes[i], &step), "from_blob: the sizes {} are too large", sizes);
  }
  return strides;
}

// From the first element to the end of the last.
size_t bytes_of(IntList sizes, IntList strides, DType dtype) {
  int64_t last = 0, bytes = 0;
  bool empty = false, fits = true;
  for (size_t i = 0; i < sizes.size(); ++i) {
    SCONCE_CHECK(sizes[i] >= 0, "from_blob: there is no size {}: the sizes are {}", sizes[i], sizes);
    SCONCE_CHECK(strides[i] >= 0, "from_blob: strides must not be negative: they are {}", strides);
    empty |= sizes[i] == 0;
  }
  if (empty) return 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t steps = 0;
    fits = fits && !__builtin_mul_overflow(sizes[i] - 1, strides[i], &steps) &&
           !__builtin_add_overflow(last, steps, &last);
  }
  fits = fits && !__builtin_add_overflow(last, int64_t{1}, &last) &&
         !__builtin_mul_overflow(last, static_cast<int64_t>(item_size(dtype)), &bytes);
  SCONCE_CHECK(fits, "from_blob: the sizes {} with strides {} are too large", sizes, strides);
  return static_cast<size_t>(bytes);
}

struct Loan {
  BlobDeleter deleter;
  void* data;
};
void end_loan(void* loan) noexcept {
  const std::unique_ptr<Loan> owned(static_cast<Loan*>(loan));
  owned->deleter(owned->data);
}

}  // namespace

Tensor from_blob(void* data, IntList sizes, IntList strides, BlobDeleter deleter, DType dtype) {
  return from_blob(data, sizes, strides, std::move(deleter), dtype, Device());
}
Tensor from_blob(void* data, IntList sizes, IntList strides, BlobDeleter deleter, DType dtype, Device given) {
  const Device device = resolve_device(given);
  if (device.type != DeviceType::cpu) backend_of(device);  // throws where there is none
  SCONCE_CHECK(sizes.size() == strides.size(), "from_blob: there are {} sizes and {} strides", sizes.size(),
               strides.size());
  const size_t bytes = bytes_of(sizes, strides, dtype);
  SCONCE_CHECK(data || bytes == 0, "from_blob: data is null, and the sizes {} need {} bytes", sizes, bytes);
  SCONCE_CHECK(reinterpret_cast<uintptr_t>(data) % item_size(dtype) % alignof(std::max_align_t) == 0,
               "from_blob: data is not aligned for elements of {} bytes", item_size(dtype));
  auto loan = deleter ? std::make_unique<Loan>(Loan{std::move(deleter), data}) : nullptr;
  // The storage ends the loan from the moment when nothing can fail any more.
  Ref<Storage> storage = wrap_storage(data, bytes, nullptr, nullptr);
  storage->device = device;
  Tensor made = make_tensor(storage, dtype, sizes, strides, 0);
  if (loan) {
    storage->deleter = end_loan;
    storage->context = loan.release();
  }
  return made;
}

Tensor from_blob(void* data, IntList sizes, BlobDeleter deleter, DType dtype) {
  return from_blob(data, sizes, dense_strides(sizes), std::move(deleter), dtype);
}
Tensor from_blob(void* data, IntList sizes, IntList strides, DType dtype) {
  return from_blob(data, sizes, strides, nullptr, dtype);
}
Tensor from_blob(void* data, IntList sizes, DType dtype) { return from_blob(data, sizes, BlobDeleter(), dtype); }

}  // namespace sconce
