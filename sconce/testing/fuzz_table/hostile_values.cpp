#include "sconce/testing/fuzz_table/hostile_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/generator.h"
#include "sconce/tensor/quantized_tensor.h"
#include "sconce/tensor/sparse/sparse_parts.h"
#include "sconce/testing/conformance/case_value.h"

namespace sconce::testing {
namespace {

constexpr int64_t kMostElements = 20'000;

constexpr int64_t kEdges[] = {0,
                              1,
                              -1,
                              2,
                              63,
                              64,
                              65,
                              255,
                              256,
                              1000,
                              65535,
                              65536,
                              1'000'000,
                              INT32_MAX,
                              int64_t{INT32_MAX} + 1,
                              INT32_MIN,
                              int64_t{1} << 32,
                              int64_t{1} << 40,
                              int64_t{1} << 53,
                              (int64_t{1} << 61) + 1,
                              int64_t{1} << 62,
                              (int64_t{1} << 62) + 1,
                              INT64_MAX - 1,
                              INT64_MAX,
                              INT64_MIN,
                              INT64_MIN + 1,
                              -(int64_t{1} << 62)};

constexpr double kRealEdges[] = {0.0,
                                 -0.0,
                                 1.0,
                                 -1.0,
                                 0.5,
                                 2.0,
                                 1e-8,
                                 1e-300,
                                 5e-324,
                                 1e10,
                                 -1e10,
                                 1e18,
                                 -1e18,
                                 9.3e18,
                                 1e38,
                                 1e300,
                                 std::numeric_limits<double>::max(),
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()};

constexpr const char* kTexts[] = {
    "",        "mean",         "sum",      "none",      "reflect",  "constant", "linear",  "nearest",   "bilinear",
    "bicubic", "trunc",        "floor",    "replicate", "circular", "tanh",     "max",     "min",       "prod",
    "amax",    "amin",         "L",        "U",         "fro",      "nuc",      "reduced", "complete",  "r",
    "gelss",   "gelsd",        "gelsy",    "gels",      "ij",       "xy",       "forward", "ortho",     "backward",
    "valid",   "same",         "lower",    "higher",    "midpoint", "left",     "right",   "ij,jk->ik", "i...->...",
    "ii->i",   "bij,bjk->bik", "a->",      "{}{}",      "%d %s",    "{:>20}",   "cpu",     "meta",      "cuda:0",
    "fbgemm",  "qnnpack",      "\xff\xfe", "0",         "-12",      "1e400",    "x y  z",  "\n"};

bool takes_gradient(DType t) { return is_floating(t) || is_complex(t); }

// The elements that a tensor of these sizes and strides needs; nothing when too many.
std::optional<int64_t> extent(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    last += (sizes[d] - 1) * strides[d];
    if (last > 4 * kMostElements) return std::nullopt;
  }
  return last + 1;
}

std::vector<int64_t> dense_strides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

std::vector<int64_t> copied(IntList list) { return {list.begin(), list.end()}; }

// A strided tensor again, against a guard page.
Tensor guarded_copy(const Tensor& t, Placement placement) {
  const std::vector<int64_t> sizes = copied(t.sizes()), strides = copied(t.strides());
  const auto needed = extent(sizes, strides);
  const size_t item = t.item_size();
  if (!needed || t.is_meta()) return t;
  const size_t bytes = static_cast<size_t>(*needed) * item;
  Tensor result = make_tensor(guarded_storage(bytes, t.dtype(), placement), t.dtype(), sizes, strides, 0);
  if (bytes != 0) std::memcpy(result.data(), t.data(), bytes);
  if (t.is_wrapped_number()) result.set_wrapped_number();
  return result;
}

}  // namespace

HostileValues::HostileValues(uint64_t seed) : random_(seed) {
  base_ = shape();
  base_dtype_ = chance(70) ? DType::float32 : dtype();
}

DType HostileValues::dtype() {
  if (chance(60)) {
    constexpr DType common[] = {DType::float32, DType::float32, DType::float64,
                                DType::int64,   DType::int64,   DType::bool_};
    return common[below(std::size(common))];
  }
  return kAllDTypes[below(std::size(kAllDTypes))];
}

int64_t HostileValues::integer() {
  const uint64_t kind = below(100);
  if (kind < 55) return static_cast<int64_t>(below(9)) - 3;
  if (kind < 75 && !base_.empty()) return base_[below(base_.size())] + static_cast<int64_t>(below(3)) - 1;
  if (kind < 85) return static_cast<int64_t>(below(100));
  return kEdges[below(std::size(kEdges))];
}

double HostileValues::real() {
  const uint64_t kind = below(100);
  if (kind < 30) return static_cast<double>(below(2001)) / 1000.0 - 1.0;
  if (kind < 60) return static_cast<double>(below(9)) - 3.0;
  return kRealEdges[below(std::size(kRealEdges))];
}

std::vector<int64_t> HostileValues::shape() {
  constexpr int ranks[] = {0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5, 5, 6};
  size_t rank = static_cast<size_t>(ranks[below(std::size(ranks))]);
  if (chance(1)) rank = 7 + below(4);
  if (below(1000) == 0) rank = 64;
  std::vector<int64_t> sizes;
  int64_t total = 1;
  for (size_t d = 0; d < rank; ++d) {
    constexpr int64_t usual[] = {1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 16, 17, 31, 33, 64, 65, 130};
    int64_t size = usual[below(std::size(usual))];
    if (chance(3)) size = 0;
    if (chance(1)) size = 1000;
    if (total * std::max<int64_t>(size, 1) > kMostElements) size = 1;
    total *= std::max<int64_t>(size, 1);
    sizes.push_back(size);
  }
  return sizes;
}

std::string HostileValues::text() { return kTexts[below(std::size(kTexts))]; }

void HostileValues::fill(const Tensor& t) {
  const auto needed = extent(copied(t.sizes()), copied(t.strides()));
  if (t.is_meta() || !needed || *needed == 0) return;
  const uint64_t style = below(100);
  const size_t item = t.item_size();
  auto* data = static_cast<char*>(t.data());
  const size_t count = static_cast<size_t>(*needed);
  if (style < 4 && t.dtype() != DType::bool_) {  // any bytes at all
    for (size_t i = 0; i < count * item; ++i) data[i] = static_cast<char>(below(256));
    return;
  }
  int64_t most = 2;
  for (const int64_t size : base_) most = std::max(most, size);
  for (size_t i = 0; i < count; ++i) {
    Scalar value(int64_t{0});
    if (style < 40) {
      value = takes_gradient(t.dtype()) ? Scalar(static_cast<double>(below(4001)) / 1000.0 - 2.0)
                                        : Scalar(static_cast<int64_t>(below(3)));
    } else if (style < 60) {
      value = Scalar(static_cast<int64_t>(below(static_cast<uint64_t>(most))));  // an index, likely
    } else if (style < 65) {
      value = Scalar(int64_t{1});
    } else if (style < 70) {
      value = Scalar(int64_t{0});
    } else if (style < 80) {
      value = Scalar(static_cast<int64_t>(i));  // in order: offsets, boundaries
    } else if (style < 85) {
      value = Scalar(static_cast<int64_t>(below(8)) - 4);
    } else {
      value = takes_gradient(t.dtype()) ? Scalar(real()) : Scalar(integer());
    }
    if (t.dtype() == DType::bool_) {
      data[i] = static_cast<char>(below(2));
    } else {
      store_scalar(data + i * item, t.dtype(), value);
    }
  }
}

Tensor HostileValues::strided(const std::vector<int64_t>& sizes, DType dtype) {
  std::vector<int64_t> strides = dense_strides(sizes);
  int64_t offset = 0;
  const uint64_t kind = below(100);
  const size_t rank = sizes.size();
  if (kind >= 55 && rank > 0) {
    if (kind < 65) {  // dimensions in another order
      std::vector<size_t> order(rank);
      for (size_t d = 0; d < rank; ++d) order[d] = d;
      std::shuffle(order.begin(), order.end(), random_);
      std::vector<int64_t> moved(rank);
      for (size_t d = 0; d < rank; ++d) moved[d] = sizes[order[d]];
      const std::vector<int64_t> dense = dense_strides(moved);
      for (size_t d = 0; d < rank; ++d) strides[order[d]] = dense[d];
    } else if (kind < 75) {  // gaps
      for (int64_t& s : strides) s *= 2;
      offset = static_cast<int64_t>(below(3));
    } else if (kind < 85) {  // expanded
      strides[below(rank)] = 0;
    } else if (kind < 90) {  // windows that overlap
      for (int64_t& s : strides) s = static_cast<int64_t>(below(3));
    } else if (kind < 95) {
      offset = 1 + static_cast<int64_t>(below(7));
    } else if (rank == 4) {  // channels last
      strides = {sizes[1] * sizes[2] * sizes[3], 1, sizes[3] * sizes[1], sizes[1]};
    }
  }
  const auto needed = extent(sizes, strides);
  if (!needed) return strided({2, 3}, dtype);
  const Placement placement = chance(70) ? Placement::end : Placement::begin;
  const size_t bytes = static_cast<size_t>(*needed == 0 ? 0 : *needed + offset) * item_size(dtype);
  Tensor t = chance(20) && offset == 0 ? empty_strided_tensor(sizes, strides, dtype)
                                       : make_tensor(guarded_storage(bytes, dtype, placement), dtype, sizes, strides,
                                                     *needed == 0 ? 0 : offset);
  fill(t);
  return t;
}

Tensor HostileValues::sparse() {
  std::vector<int64_t> sizes = chance(70) ? base_ : shape();
  if (sizes.size() < 2 || sizes.size() > 8) sizes = {3, 4};
  const auto coordinates = [&](int64_t size) {
    return size == 0 ? 0 : static_cast<int64_t>(below(static_cast<uint64_t>(size)));
  };
  const DType type = chance(70) ? base_dtype_ : dtype();
  try {
    if (chance(65)) {
      const size_t sparse_dims = 1 + below(sizes.size());
      bool empty = false;
      for (size_t d = 0; d < sparse_dims; ++d) empty |= sizes[d] == 0;
      const int64_t nnz = empty ? 0 : static_cast<int64_t>(below(6));
      Tensor indices = empty_tensor(std::vector<int64_t>{static_cast<int64_t>(sparse_dims), nnz}, DType::int64);
      for (size_t d = 0; d < sparse_dims; ++d) {
        for (int64_t i = 0; i < nnz; ++i)
          indices.data<int64_t>()[static_cast<int64_t>(d) * nnz + i] = coordinates(sizes[d]);
      }
      std::vector<int64_t> value_sizes = {nnz};
      value_sizes.insert(value_sizes.end(), sizes.begin() + static_cast<ptrdiff_t>(sparse_dims), sizes.end());
      return checked_coo_tensor(indices, strided(value_sizes, type), sizes, false);
    }
    sizes.resize(2);
    const Layout layout = chance(50) ? Layout::sparse_csr : Layout::sparse_csc;
    const int64_t lines = layout == Layout::sparse_csr ? sizes[0] : sizes[1];
    const int64_t across = layout == Layout::sparse_csr ? sizes[1] : sizes[0];
    Tensor pointers = empty_tensor(std::vector<int64_t>{lines + 1}, DType::int64);
    std::vector<int64_t> plain;
    pointers.data<int64_t>()[0] = 0;
    for (int64_t i = 0; i < lines; ++i) {
      for (int64_t at = coordinates(across); at < across && chance(60); at += 1 + static_cast<int64_t>(below(3)))
        plain.push_back(at);
      pointers.data<int64_t>()[i + 1] = static_cast<int64_t>(plain.size());
    }
    Tensor columns = empty_tensor(std::vector<int64_t>{static_cast<int64_t>(plain.size())}, DType::int64);
    std::copy(plain.begin(), plain.end(), columns.data<int64_t>());
    return checked_compressed_tensor(layout, pointers, columns, strided({static_cast<int64_t>(plain.size())}, type),
                                     sizes);
  } catch (const Error&) {
    return strided(sizes, type);
  }
}

Tensor HostileValues::quantized(const std::vector<int64_t>& sizes) {
  constexpr DType integers[] = {DType::int8, DType::uint8, DType::uint8, DType::int32};
  const Tensor stored = strided(sizes, integers[below(std::size(integers))]);
  try {
    if (chance(70) || sizes.empty()) {
      constexpr double scales[] = {0.1, 1.0, 1e-10, 1e10, 0.5};
      return make_quantized(stored, per_tensor_quantizer(scales[below(std::size(scales))], chance(50) ? 0 : 10));
    }
    const size_t axis = below(sizes.size());
    const DType kind = chance(80) ? DType::float64 : DType::float32;
    Tensor scales = empty_tensor(std::vector<int64_t>{sizes[axis]}, kind);
    Tensor zeros = empty_tensor(std::vector<int64_t>{sizes[axis]}, kind == DType::float64 ? DType::int64 : kind);
    for (int64_t i = 0; i < sizes[axis]; ++i) {
      store_scalar(static_cast<char*>(scales.data()) + static_cast<size_t>(i) * scales.item_size(), scales.dtype(),
                   0.25);
      store_scalar(static_cast<char*>(zeros.data()) + static_cast<size_t>(i) * zeros.item_size(), zeros.dtype(),
                   int64_t{3});
    }
    return make_quantized(stored, per_channel_quantizer(scales, zeros, static_cast<int64_t>(axis)));
  } catch (const Error&) {
    return stored;
  }
}

Tensor HostileValues::tensor() {
  const uint64_t kind = below(1000);
  std::vector<int64_t> sizes = base_;
  if (kind >= 550) {
    const uint64_t how = below(10);
    if (how < 4 || sizes.empty()) {
      sizes = shape();
    } else if (how < 6) {
      sizes[below(sizes.size())] = chance(50) ? 1 : static_cast<int64_t>(below(6));
    } else if (how < 7) {
      sizes.erase(sizes.begin());
    } else if (how < 8) {
      sizes.pop_back();
    } else if (how < 9) {
      std::reverse(sizes.begin(), sizes.end());
    } else {
      sizes.insert(sizes.begin(), 1 + static_cast<int64_t>(below(3)));
    }
  }
  const uint64_t special = below(1000);
  if (special < 15) return sparse();
  if (special < 30 && sizes.size() <= 64) return quantized(sizes);
  const DType type = chance(75) ? base_dtype_ : dtype();
  if (special < 45 && sizes.size() <= 64) {
    std::vector<int64_t> on_meta = sizes;
    if (chance(20) && !on_meta.empty()) on_meta[0] = int64_t{1} << below(50);
    try {
      return empty_tensor(on_meta, type, Device(DeviceType::meta));
    } catch (const Error&) {
      return empty_tensor(sizes, type, Device(DeviceType::meta));
    }
  }
  if (special < 46 && below(4) == 0) {  // one element, expanded without end
    try {
      return make_tensor(guarded_storage(item_size(type), type, Placement::end), type,
                         std::vector<int64_t>{int64_t{1} << below(62), 3}, std::vector<int64_t>{0, 0}, 0);
    } catch (const Error&) {
    }
  }
  int64_t total = 1;
  for (const int64_t size : sizes) total *= std::max<int64_t>(size, 1);
  if (total > kMostElements || sizes.size() > 64) sizes = {4, 5};
  Tensor t = strided(sizes, type);
  if (takes_gradient(type) && chance(45)) autograd::set_requires_grad(t, true);
  return t;
}

Tensor HostileValues::gradient_for(const Tensor& output) {
  if (output.layout() != Layout::strided || output.is_meta() || is_quantized(output.dtype()) ||
      output.numel() > 4 * kMostElements)
    return {};
  if (chance(3)) return tensor();
  const std::vector<int64_t> sizes = copied(output.sizes());
  if (chance(15)) {  // as sum() gives it
    Tensor one = make_tensor(guarded_storage(output.item_size(), output.dtype(), Placement::end), output.dtype(), sizes,
                             std::vector<int64_t>(sizes.size(), 0), 0);
    store_scalar(one.data(), one.dtype(), int64_t{1});
    return one;
  }
  return strided(sizes, output.dtype());
}

Value HostileValues::list_of(TypePtr element, const Argument* argument) {
  size_t length = below(5);
  if (argument && argument->fixed_size && chance(75))
    length = static_cast<size_t>(*argument->fixed_size);
  else if (!base_.empty() && chance(30))
    length = base_.size();
  if (below(500) == 0) length = 3000;
  auto list = make_ref<List>(element);
  list->reserve(length);
  const int64_t same = integer();
  const bool all_same = chance(25);
  const bool small = chance(60);
  for (size_t i = 0; i < length; ++i) {
    if (element->is(TypeKind::int_) || element->is(TypeKind::sym_int)) {
      list->append(all_same                         ? Value(same)
                   : small                          ? Value(static_cast<int64_t>(below(5)))
                   : i < base_.size() && chance(40) ? Value(base_[i])
                                                    : Value(integer()));
    } else {
      list->append(of_type(element));
    }
  }
  return list;
}

// Packed weights come from the operators that pack them.
Value HostileValues::object_of(TypePtr type) {
  const auto weights = [&](std::vector<int64_t> sizes) {
    const bool per_channel = chance(40);
    Tensor stored = strided({}, DType::int8);
    stored = empty_tensor(sizes, DType::int8);
    fill(stored);
    if (!per_channel) return make_quantized(stored, per_tensor_quantizer(0.1, 0));
    Tensor scales = empty_tensor(std::vector<int64_t>{sizes[0]}, DType::float64);
    Tensor zeros = empty_tensor(std::vector<int64_t>{sizes[0]}, DType::int64);
    for (int64_t i = 0; i < sizes[0]; ++i) {
      scales.data<double>()[i] = 0.25;
      zeros.data<int64_t>()[i] = 0;
    }
    return make_quantized(stored, per_channel_quantizer(scales, zeros, 0));
  };
  const auto small = [&] { return 1 + static_cast<int64_t>(below(5)); };
  const std::string& name = type->name();
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  const auto pair = [&](size_t n, int64_t v) { return Value(IntList(std::vector<int64_t>(n, v))); };
  try {
    Value bias = chance(50) ? Value() : Value(strided({small()}, DType::float32));
    if (has("Linear")) {
      if (chance(20)) {
        Tensor plain = strided({small(), small()}, DType::float32);
        return call_op("quantized::linear_prepack_fp16", {plain, Value()})[0];
      }
      return call_op("quantized::linear_prepack", {weights({small(), small()}), bias})[0];
    }
    if (has("Conv2d")) {
      const char* packer = chance(70) ? "quantized::conv2d_prepack" : "quantized::conv1d_prepack";
      const bool flat = packer[15] == '1';
      const size_t n = flat ? 1 : 2;
      std::vector<int64_t> sizes = {small(), small()};
      for (size_t i = 0; i < n; ++i) sizes.push_back(small());
      return call_op(packer, {weights(sizes), Value(), pair(n, 1), pair(n, static_cast<int64_t>(below(3))), pair(n, 1),
                              Value(int64_t{1})})[0];
    }
    if (has("Conv3d")) {
      return call_op("quantized::conv3d_prepack", {weights({small(), small(), small(), small(), small()}), Value(),
                                                   pair(3, 1), pair(3, 0), pair(3, 1), Value(int64_t{1})})[0];
    }
    if (has("Embedding")) {
      const int64_t rows = small();
      Tensor stored = empty_tensor(std::vector<int64_t>{rows, 4 * small()}, DType::uint8);
      fill(stored);
      Tensor scales = empty_tensor(std::vector<int64_t>{rows}, DType::float32);
      Tensor zeros = empty_tensor(std::vector<int64_t>{rows}, DType::float32);
      for (int64_t i = 0; i < rows; ++i) scales.data<float>()[i] = 0.5f, zeros.data<float>()[i] = 1.0f;
      return call_op("quantized::embedding_bag_prepack",
                     {make_quantized(stored, per_channel_quantizer(scales, zeros, 0))})[0];
    }
  } catch (const Error&) {
  }
  return Value();
}

Value HostileValues::of_type(TypePtr type, const Argument* argument) {
  switch (type->kind()) {
    case TypeKind::optional:
      return chance(35) ? Value() : of_type(type->element(), argument);
    case TypeKind::tensor:
      return tensor();
    case TypeKind::int_:
    case TypeKind::sym_int:
    case TypeKind::device_index:
      return integer();
    case TypeKind::float_:
    case TypeKind::sym_float:
      return real();
    case TypeKind::bool_:
    case TypeKind::sym_bool:
      return chance(50);
    case TypeKind::complex:
      return std::complex<double>(real(), real());
    case TypeKind::number:
      if (chance(10)) return std::complex<double>(real(), real());
      if (chance(5)) return chance(50);
      return chance(50) ? Value(integer()) : Value(real());
    case TypeKind::string:
      return text();
    case TypeKind::scalar_type:
      return chance(90) ? Value(dtype()) : Value(static_cast<int64_t>(below(40)) - 3);
    case TypeKind::layout:
      return static_cast<int64_t>(below(8)) - 1;
    case TypeKind::memory_format:
      return static_cast<int64_t>(below(6)) - 1;
    case TypeKind::qscheme:
      return static_cast<int64_t>(below(7)) - 1;
    case TypeKind::device:
      return chance(85) ? Value(Device()) : Value(Device(DeviceType::meta));
    case TypeKind::generator:
      return make_generator(below(1000));
    case TypeKind::list:
      return list_of(type->element(), argument);
    case TypeKind::tuple: {
      std::vector<Value> items;
      for (TypePtr item : type->contained()) items.push_back(of_type(item));
      return make_ref<Tuple>(std::move(items));
    }
    case TypeKind::dict: {
      auto dict = make_ref<Dict>(type->contained()[0], type->contained()[1]);
      for (uint64_t n = below(4); n > 0; --n) dict->set(of_type(type->contained()[0]), of_type(type->contained()[1]));
      return dict;
    }
    case TypeKind::class_:
      return object_of(type);
    case TypeKind::union_:
      return of_type(type->contained()[below(type->contained().size())]);
    case TypeKind::any_list:
      return list_of(chance(50) ? int_type() : tensor_type(), nullptr);
    case TypeKind::any:
    case TypeKind::variable:
      switch (below(6)) {
        case 0:
          return tensor();
        case 1:
          return integer();
        case 2:
          return real();
        case 3:
          return text();
        case 4:
          return list_of(int_type(), nullptr);
        default:
          return Value();
      }
    default:
      return Value();
  }
}

std::vector<Value> HostileValues::arguments(const Schema& schema) {
  std::vector<Value> args;
  for (const Argument& argument : schema.arguments) {
    if (argument.default_value && chance(35)) {
      args.push_back(*argument.default_value);
    } else {
      args.push_back(of_type(argument.type, &argument));
    }
    // The same tensor twice: what is written may be read, too.
    if (args.back().is_tensor() && args.size() > 1 && chance(4)) {
      const Value& other = args[below(args.size() - 1)];
      if (other.is_tensor()) args.back() = Value(other);
    }
  }
  if (schema.is_vararg) {
    std::vector<Value> rest;
    for (uint64_t n = below(4); n > 0; --n) rest.push_back(of_type(any_type()));
    args.push_back(make_ref<Tuple>(std::move(rest)));
  }
  return args;
}

Tensor HostileValues::changed(const Tensor& t) {
  if (t.layout() != Layout::strided || t.is_meta() || is_quantized(t.dtype())) return tensor();
  std::vector<int64_t> sizes = copied(t.sizes());
  DType type = t.dtype();
  const auto again = [&] {
    int64_t total = 1;
    for (const int64_t size : sizes) total = total > kMostElements ? total : total * std::max<int64_t>(size, 1);
    return total > kMostElements || sizes.size() > 64 ? tensor() : strided(sizes, type);
  };
  switch (below(15)) {
    case 0:
    case 1:
      type = dtype();
      return again();
    case 2:
    case 3:
      if (sizes.empty()) return tensor();
      sizes[below(sizes.size())] += chance(50) ? 1 : -1;
      for (int64_t& size : sizes) size = std::max<int64_t>(size, 0);
      return again();
    case 4:
      if (sizes.empty()) return tensor();
      sizes[below(sizes.size())] = 0;
      return again();
    case 5:
      if (sizes.empty()) return tensor();
      sizes[below(sizes.size())] = 1;
      return again();
    case 6:
      if (sizes.empty()) return tensor();
      sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(below(sizes.size())));
      return again();
    case 7:
      sizes.insert(sizes.begin(), 1 + static_cast<int64_t>(below(2)));
      return again();
    case 8:
      if (sizes.empty()) return tensor();
      std::reverse(sizes.begin(), sizes.end());
      return again();
    case 9:
      sizes = {};
      return again();
    case 10:
      if (sizes.empty()) return tensor();
      sizes[below(sizes.size())] *= 2;
      return again();
    case 11:
    case 12:
      return again();  // the same sizes, other values and strides
    default:
      return tensor();
  }
}

Value HostileValues::changed(const Value& value, TypePtr type, const Argument* argument) {
  if (type->is(TypeKind::optional)) {
    if (chance(15)) return Value();
    type = type->element();
  }
  if (value.is_tensor()) return changed(value.to_tensor());
  if (value.is_list() && chance(75)) {
    const List& list = value.to_list();
    std::vector<Value> items = list.values();
    const TypePtr element = list.element_type();
    switch (below(4)) {
      case 0:
        if (!items.empty()) items.erase(items.begin() + static_cast<ptrdiff_t>(below(items.size())));
        break;
      case 1:
        items.insert(items.begin() + static_cast<ptrdiff_t>(below(items.size() + 1)), of_type(element));
        break;
      default:
        if (!items.empty()) {
          Value& item = items[below(items.size())];
          item = changed(item, element, nullptr);
        }
    }
    auto result = make_ref<List>(element);
    result->reserve(items.size());
    for (Value& item : items) result->append(std::move(item));
    return result;
  }
  if (value.is_int() && type->is(TypeKind::int_) && chance(40)) {
    return static_cast<int64_t>(static_cast<uint64_t>(value.to_int()) + below(5) - 2);
  }
  return of_type(type, argument);
}

void HostileValues::mutate(const Schema& schema, std::vector<Value>& args) {
  if (schema.arguments.empty()) return;
  for (const Value& v : args) {
    if (v.is_tensor() && v.to_tensor().dim() > 0 && v.to_tensor().dim() <= 8) {
      base_ = copied(v.to_tensor().sizes());
      base_dtype_ = is_quantized(v.to_tensor().dtype()) ? DType::float32 : v.to_tensor().dtype();
      break;
    }
  }
  if (chance(3)) {  // all on Meta
    for (Value& v : args) v = to_meta(v);
    return;
  }
  for (uint64_t n = 1 + below(3); n > 0; --n) {
    const size_t i = below(schema.arguments.size());
    const Argument& argument = schema.arguments[i];
    try {
      args[i] = changed(args[i], argument.type, &argument);
    } catch (const Error&) {
      // a list that does not take the value: it stays
    }
    if (args[i].is_tensor() && chance(8)) {
      const Value& other = args[below(schema.arguments.size())];
      if (other.is_tensor()) args[i] = Value(other);
    }
  }
}

void HostileValues::guard(std::vector<Value>& args) {
  const auto again = [&](const Tensor& t) -> Tensor {
    if (t.layout() != Layout::strided || is_quantized(t.dtype()) || t.is_view() || t.requires_grad()) return t;
    Tensor copy = guarded_copy(t, chance(70) ? Placement::end : Placement::begin);
    if (takes_gradient(copy.dtype()) && chance(55)) autograd::set_requires_grad(copy, true);
    return copy;
  };
  for (Value& v : args) {
    if (v.is_tensor()) {
      v = again(v.to_tensor());
    } else if (v.is_list() && v.to_list().is_tensors()) {
      auto list = make_ref<List>(v.to_list().element_type());
      for (const Value& item : v.to_list().values())
        list->append(item.is_tensor() ? Value(again(item.to_tensor())) : item);
      v = list;
    }
  }
}

std::string describe(const Value& value) {
  if (value.is_tensor()) {
    const Tensor& t = value.to_tensor();
    std::string text = fmt::format("{}[{}]", dtype_name(t.dtype()), fmt::join(t.sizes(), ", "));
    if (t.layout() != Layout::strided) return text + " " + std::string(layout_name(t.layout()));
    if (!t.is_contiguous()) text += fmt::format(" strides [{}]", fmt::join(t.strides(), ", "));
    if (t.storage_offset() != 0 && !t.is_meta()) text += fmt::format(" offset {}", t.storage_offset());
    if (t.requires_grad()) text += " requires_grad";
    if (t.is_meta()) return text + " on meta";
    if (is_quantized(t.dtype())) return text;
    if (t.numel() > 0 && t.numel() < 100'000) {
      text += " {";
      visit_item_size(t.dtype(), [&]<class T>() {
        const std::vector<T> all = elements<T>(t);
        for (size_t i = 0; i < std::min<size_t>(all.size(), 10); ++i) {
          if (i > 0) text += ", ";
          try {
            const Scalar v = load_scalar(&all[i], t.dtype());
            text += v.is_real() ? float_repr(v.real())
                    : v.is_integral() || v.is_bool()
                        ? std::to_string(v.integer())
                        : fmt::format("{}+{}j", v.to_complex().real(), v.to_complex().imag());
          } catch (const Error&) {
            text += "?";
          }
        }
        if (all.size() > 10) text += ", ...";
      });
      text += "}";
    }
    return text;
  }
  if (value.is_list() || value.is_tuple()) {
    const std::vector<Value> items = value.is_list() ? value.to_list().values() : value.to_tuple().items;
    std::string text = "[";
    for (size_t i = 0; i < std::min<size_t>(items.size(), 12); ++i) text += (i ? ", " : "") + describe(items[i]);
    return text + (items.size() > 12 ? fmt::format(", ... {} in all]", items.size()) : "]");
  }
  if (value.is_object()) return value.to_object().type()->name();
  if (value.tag() == Tag::generator) return "generator";
  if (value.tag() == Tag::capsule) return "capsule";
  try {
    return value.repr();
  } catch (const std::exception&) {
    return std::string(tag_name(value.tag()));
  }
}

std::optional<Value> simplified(const Value& value, const Argument& argument, int step) {
  const bool may_be_none = argument.type->is(TypeKind::optional);
  if (step == 0) return argument.default_value ? *argument.default_value : may_be_none ? Value() : value;
  --step;
  if (value.is_tensor()) {
    const Tensor& t = value.to_tensor();
    if (t.layout() != Layout::strided || t.is_meta() || is_quantized(t.dtype()) || t.numel() > 100'000)
      return std::nullopt;
    // Dense, with ones; then each size halved, each a 1; then float32.
    std::vector<int64_t> sizes = copied(t.sizes());
    DType type = t.dtype();
    const int rank = static_cast<int>(sizes.size());
    bool ones = true;
    if (step == 0) {
      ones = false;
    } else if (step == 1) {
    } else if (step < 2 + rank) {
      sizes[static_cast<size_t>(step - 2)] = 1;
    } else if (step < 2 + 2 * rank) {
      sizes[static_cast<size_t>(step - 2 - rank)] /= 2;
    } else if (step == 2 + 2 * rank) {
      type = DType::float32;
    } else {
      return std::nullopt;
    }
    Tensor simple = empty_tensor(sizes, type);
    const size_t item = simple.item_size();
    auto* data = static_cast<char*>(simple.data());
    if (ones) {
      for (int64_t i = 0; i < simple.numel(); ++i) store_scalar(data + static_cast<size_t>(i) * item, type, int64_t{1});
    } else {
      visit_item_size(type, [&]<class T>() {
        const std::vector<T> all = elements<T>(t);
        if (!all.empty()) std::memcpy(data, all.data(), all.size() * sizeof(T));
      });
    }
    return guarded_copy(simple, Placement::end);
  }
  if (value.is_int()) {
    constexpr int64_t simple[] = {0, 1, 2};
    return step < 3 && std::abs(static_cast<double>(value.to_int())) > static_cast<double>(simple[step])
               ? std::optional(Value(simple[step]))
               : std::nullopt;
  }
  if (value.is_double()) return step == 0 ? std::optional(Value(1.0)) : std::nullopt;
  if (value.is_list() && step < 3) {
    auto list = make_ref<List>(value.to_list().element_type());
    const size_t keep = step == 0 ? 0 : step == 1 ? 1 : value.to_list().size() / 2;
    if (keep >= value.to_list().size()) return std::nullopt;
    list->reserve(keep);
    for (size_t i = 0; i < keep; ++i) list->append(value.to_list().get(i));
    return list;
  }
  return std::nullopt;
}

}  // namespace sconce::testing
