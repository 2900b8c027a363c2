// Which elements occur in a set. A few test elements are compared one by one; many become a table of bits where they
// are integers close together, or sorted keys.
#include <algorithm>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/searching_kernels.h"
#include "sconce/kernels/cpu/order/sort_keys.h"
#include "sconce/tensor/promotion.h"

namespace sconce {
namespace {

SCONCE_VARIANT(few, "isin.few", "16 test elements or fewer");
SCONCE_VARIANT(bit_set, "isin.bits", "integers within 16,777,216 of each other");

constexpr int64_t kFew = 16;                      // so few test elements are compared one by one
constexpr uint64_t kMaxBits = uint64_t{1} << 24;  // of a bit set: 2 MB

void check_dtype(DType t) {
  SCONCE_CHECK(!is_complex(t) && t != DType::bool_, "Unsupported input type encountered for isin(): {}",
               dtype_legacy_name(t));
}

template <class T>
void find_few(const T* x, int64_t n, const T* test, int64_t count, bool invert, bool* out) {
  for (int64_t i = 0; i < n; ++i) {
    bool found = false;
    for (int64_t k = 0; k < count; ++k) found = found | (x[i] == test[k]);
    out[i] = found != invert;
  }
}

// The set of keys of `test`, as bits or sorted. NaN is in no set.
template <class T>
class KeySetOf {
 public:
  using K = cpu::Key<T>;
  KeySetOf(const T* test, int64_t count) {
    keys_.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      if (!K::is_nan(test[i])) keys_.push_back(K::of(test[i]));
    }
    if (keys_.empty()) return;
    const auto [low, high] = std::minmax_element(keys_.begin(), keys_.end());
    low_ = *low;
    span_ = static_cast<uint64_t>(*high) - low_;
    if (bit_set(span_ < kMaxBits && !K::floating)) {
      bits_.assign(static_cast<size_t>(span_ / 64 + 1), 0);
      for (const auto key : keys_) bits_[static_cast<size_t>((key - low_) / 64)] |= uint64_t{1} << ((key - low_) % 64);
    } else {
      std::sort(keys_.begin(), keys_.end());
      keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
    }
  }
  bool contains(T x) const {
    if (keys_.empty() || K::is_nan(x)) return false;
    const auto key = K::of(x);
    if (!bits_.empty()) {
      const uint64_t at = static_cast<uint64_t>(key) - low_;
      return at <= span_ && (bits_[static_cast<size_t>(at / 64)] >> (at % 64) & 1);
    }
    const auto* first = keys_.data();
    for (size_t n = keys_.size(); n > 1; n -= n / 2) first += first[n / 2 - 1] < key ? n / 2 : 0;
    return *first == key;
  }

 private:
  std::vector<typename K::Bits> keys_;
  std::vector<uint64_t> bits_;
  uint64_t low_ = 0, span_ = 0;
};

template <class T>
void find_all(const Tensor& x, const Tensor& test, bool invert, bool* out) {
  const int64_t count = test.numel();
  if (few(count <= kFew)) {
    parallel_for(x.numel(), 8192, [&](int64_t begin, int64_t end) {
      find_few(x.data<T>() + begin, end - begin, test.data<T>(), count, invert, out + begin);
    });
    return;
  }
  const KeySetOf<T> set(test.data<T>(), count);
  parallel_for(x.numel(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = set.contains(x.data<T>()[i]) != invert;
  });
}

void find(const Tensor& elements, const Tensor& test, bool invert, const Tensor& out) {
  if (elements.numel() == 0) return;
  const DType dtype = result_type(elements, test);
  const DType compute = dtype == DType::float64 ? dtype : is_floating(dtype) ? DType::float32 : DType::int64;
  const auto as = [&](const Tensor& t) { return contiguous_tensor(to_dtype(to_dtype(t, dtype), compute)); };
  const Tensor x = as(elements), y = as(test);
  const auto run = compute == DType::float64   ? find_all<double>
                   : compute == DType::float32 ? find_all<float>
                                               : find_all<int64_t>;
  run(x, y, invert, out.data<bool>());
}

}  // namespace

namespace cpu {

void isin_Tensor_Tensor(const Tensor& elements, const Tensor& test_elements, bool, bool invert, const Tensor& out) {
  find(elements, test_elements, invert, out);
}
void isin_Tensor_Scalar(const Tensor& elements, const Scalar& test_element, bool, bool invert, const Tensor& out) {
  find(elements, wrapped_number(test_element), invert, out);
}
void isin_Scalar_Tensor(const Scalar& element, const Tensor& test_elements, bool, bool invert, const Tensor& out) {
  find(wrapped_number(element), test_elements, invert, out);
}

}  // namespace cpu

namespace any_device {

OutSpec isin_Tensor_Tensor_spec(const Tensor& elements, const Tensor& test_elements, bool, bool) {
  check_dtype(elements.dtype());
  check_dtype(test_elements.dtype());
  return {Dims(elements.sizes()), DType::bool_};
}
OutSpec isin_Tensor_Scalar_spec(const Tensor& elements, const Scalar& test_element, bool, bool) {
  check_dtype(elements.dtype());
  check_dtype(wrapped_number(test_element).dtype());
  return {Dims(elements.sizes()), DType::bool_};
}
OutSpec isin_Scalar_Tensor_spec(const Scalar& element, const Tensor& test_elements, bool, bool) {
  check_dtype(wrapped_number(element).dtype());
  check_dtype(test_elements.dtype());
  return {Dims{}, DType::bool_};
}

}  // namespace any_device
}  // namespace sconce
