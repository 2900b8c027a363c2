// take and put: a tensor seen as one row of elements.
#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/indexing_kernels.h"
#include "sconce/kernels/cpu/engine/accumulate.h"
#include "sconce/kernels/cpu/index/scatter_along.h"
#include "sconce/tensor/element.h"

namespace sconce {
namespace {

int64_t checked(int64_t v, int64_t n) {
  SCONCE_CHECK_AS(index, -n <= v && v < n, "out of range: tried to access index {} on a tensor of {} elements", v, n);
  return v < 0 ? v + n : v;
}

}  // namespace

namespace cpu {

void take(const Tensor& self, const Tensor& index, const Tensor& out) {
  SCONCE_CHECK_AS(index, self.numel() > 0 || index.numel() == 0, "take(): tried to take from an empty tensor");
  const Tensor from = contiguous_tensor(self), places = contiguous_tensor(index);
  visit_item_size(self.dtype(), [&]<class T>() {
    const T* source = from.data<T>();
    T* to = out.data<T>();
    parallel_for(out.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = source[checked(places.data<int64_t>()[i], from.numel())];
    });
  });
}

void put_(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  SCONCE_CHECK(index.dtype() == DType::int64, "put_(): Expected a long tensor for index, but got {}",
               dtype_legacy_name(index.dtype()));
  SCONCE_CHECK(self.dtype() == source.dtype(),
               "put_(): self and source expected to have the same dtype, but got self.dtype = {} and source.dtype = {}",
               dtype_legacy_name(self.dtype()), dtype_legacy_name(source.dtype()));
  SCONCE_CHECK(index.numel() == source.numel(),
               "put_(): Expected source and index to have the same number of elements, but got source.numel() = {}, "
               "index.numel() = {}",
               source.numel(), index.numel());
  check_no_internal_overlap(self);
  SCONCE_CHECK(self.storage() != source.storage() || source.numel() == 0,
               "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
               "memory location. "
               "Please clone() the tensor before performing the operation");
  SCONCE_CHECK_AS(index, self.numel() > 0 || index.numel() == 0, "put_(): Tried to put elements into an empty tensor");
  if (!self.is_meta() && index.numel() > 0) {
    const Tensor to = contiguous_tensor(self), places = contiguous_tensor(index), from = contiguous_tensor(source);
    visit_dtype(self.dtype(), [&]<class T>() {
      T* target = to.data<T>();
      const T* values = from.data<T>();
      for (int64_t i = 0; i < places.numel(); ++i) {
        T& element = target[checked(places.data<int64_t>()[i], to.numel())];
        element = accumulate ? add_elements(element, values[i]) : values[i];
      }
    });
    if (!to.is_same(self)) copy_tensor(self, to);
  }
  self.bump_version();
}

}  // namespace cpu
}  // namespace sconce
