#include "sconce/dispatch/host_lists.h"

#include <algorithm>

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

Tensor tensor_of_doubles(const std::vector<double>& values) {
  const Tensor host = empty_tensor({static_cast<int64_t>(values.size())}, DType::float64);
  std::copy(values.begin(), values.end(), host.data<double>());
  return host;
}

}  // namespace sconce
