#include "sconce/dispatch/host_lists.h"

#include <algorithm>

#include "sconce/base/budget.h"
#include "sconce/dispatch/glue.h"

namespace sconce {
namespace {

template <class T>
std::vector<T> elements_of(const Tensor& tensor, DType dtype) {
  const Tensor host = empty_tensor(tensor.sizes(), dtype);
  copy_tensor(host, tensor);
  return {host.data<T>(), host.data<T>() + host.numel()};
}

}  // namespace

std::vector<int64_t> integers_of(const Tensor& tensor) { return elements_of<int64_t>(tensor, DType::int64); }
std::vector<double> doubles_of(const Tensor& tensor) { return elements_of<double>(tensor, DType::float64); }

Tensor tensor_of_integers(IntList values, Device device, DType dtype) {
  Tensor host = empty_tensor({static_cast<int64_t>(values.size())}, DType::int64);
  std::copy(values.begin(), values.end(), host.data<int64_t>());
  if (device.type == DeviceType::cpu && dtype == DType::int64) return host;
  const Tensor out = empty_tensor(host.sizes(), dtype, device);
  copy_tensor(out, host);
  return out;
}

Tensor tensor_by_place(int64_t n, FunctionRef<double(double)> f) {
  const Tensor host = empty_tensor({n}, DType::float64);
  auto* at = host.data<double>();
  constexpr int64_t kPiece = 1 << 16;  // under a millisecond of the dearest function, a window's
  for (int64_t from = 0; from < n; from += kPiece) {
    Budget::poll_active();
    for (int64_t i = from; i < std::min(from + kPiece, n); ++i) at[i] = f(static_cast<double>(i));
  }
  return host;
}

}  // namespace sconce
