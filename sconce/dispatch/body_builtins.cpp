#include "sconce/dispatch/body_builtins.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "sconce/base/numbers.h"
#include "sconce/dispatch/body_numbers.h"
#include "sconce/tensor/promotion.h"
#include "sconce/tensor/strides.h"

namespace sconce::body {
namespace {

using Args = std::vector<Value>;

bool is_run(const Value& v) { return v.is_list() || v.is_tuple(); }
bool is_real(const Value& v) { return v.is_number() && !v.is_complex(); }
DType dtype_of(const Value& v) { return v.is_tensor() ? v.to_tensor().dtype() : dtype_from_number(v.to_int()); }

void check_count(std::string_view name, const Args& args, size_t least, size_t most) {
  SCONCE_CHECK_AS(type, args.size() >= least && args.size() <= most, "{} takes {} arguments, got {}", name,
                  least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most),
                  args.size());
}

Value len(const Args& args) {
  check_count("len", args, 1, 1);
  const Value& v = args[0];
  if (v.is_string()) return static_cast<int64_t>(v.to_string_ref().size());
  if (v.is_dict()) return static_cast<int64_t>(v.to_dict().size());
  if (v.is_tuple()) return static_cast<int64_t>(v.to_tuple().items.size());
  if (v.is_tensor()) return v.to_tensor().size(0);
  return static_cast<int64_t>(v.to_list().size());
}

Value range(const Args& args) {
  check_count("range", args, 1, 3);
  const int64_t from = args.size() > 1 ? args[0].to_int() : 0;
  const int64_t to = args[args.size() > 1 ? 1 : 0].to_int();
  const int64_t step = args.size() > 2 ? args[2].to_int() : 1;
  SCONCE_CHECK_AS(value, step != 0, "range: the step must not be 0");
  Ref<List> list = make_ref<List>(int_type());
  for (int64_t i = from; step > 0 ? i < to : i > to; i += step) list->append(i);
  return list;
}

Value extreme(std::string_view name, Operator better, const Args& args) {
  const Args items = args.size() == 1 && is_run(args[0]) ? items_of(args[0]) : args;
  SCONCE_CHECK_AS(value, !items.empty(), "{} of no values", name);
  Value best = items[0];
  for (const Value& v : items) {
    if (plain_compare(better, v, best)) best = v;
  }
  return best;
}

Value folded(Operator op, Value start, const Value& list) {
  for (const Value& v : items_of(list)) start = plain_binary(op, start, v);
  return start;
}

Value to_int(const Value& v) {
  const Scalar s = v.is_tensor() ? item_of(v.to_tensor()) : v.to_scalar();
  SCONCE_CHECK_AS(value, !s.is_real() || std::isfinite(s.to_double()), "cannot convert float {} to int", s.to_string());
  return s.to_int();
}

Value to_float(const Value& v) {
  if (v.is_string()) {
    const std::string& text = v.to_string_ref();
    if (text == "inf" || text == "-inf") return text[0] == '-' ? -INFINITY : INFINITY;
    SCONCE_CHECK_AS(value, text == "nan", "cannot convert '{}' to float", text);
    return std::nan("");
  }
  return (v.is_tensor() ? item_of(v.to_tensor()) : v.to_scalar()).to_double();
}

Value promoted(const Args& args) {
  check_count("result_type", args, 1, 8);
  ResultType result;
  for (const Value& v : args) {
    if (v.is_tensor()) {
      result.add(v.to_tensor());
    } else {
      result.add(v.to_scalar());
    }
  }
  return result.get();
}

Value broadcast_shapes(const Args& args) {
  Dims sizes;
  for (const Value& v : args) sizes = broadcast_sizes(sizes, v.to_list().ints());
  return IntList(sizes);
}

Value all_dims(const Args& args) {
  check_count("all_dims", args, 1, 1);
  return range(args);
}

Value inverse_permutation(const Args& args) {
  check_count("inverse_permutation", args, 1, 1);
  const IntList dims = args[0].to_list().ints();
  std::vector<int64_t> out(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    out[static_cast<size_t>(wrap_dim(dims[i], static_cast<int64_t>(dims.size())))] = static_cast<int64_t>(i);
  }
  return IntList(out);
}

using Function1 = double (*)(double);
struct Named1 {
  std::string_view name;
  Function1 f;
};
constexpr Named1 kMath[] = {{"exp", std::exp},   {"log", std::log},      {"sqrt", std::sqrt},   {"sin", std::sin},
                            {"cos", std::cos},   {"tan", std::tan},      {"tanh", std::tanh},   {"sinh", std::sinh},
                            {"cosh", std::cosh}, {"asin", std::asin},    {"acos", std::acos},   {"atan", std::atan},
                            {"log2", std::log2}, {"log10", std::log10},  {"log1p", std::log1p}, {"expm1", std::expm1},
                            {"erf", std::erf},   {"lgamma", std::lgamma}};

std::optional<Value> number_function(std::string_view name, const Args& args) {
  if (!std::all_of(args.begin(), args.end(), is_real)) return std::nullopt;
  if (args.size() == 2) {
    if (name == "fmod") return std::fmod(args[0].to_scalar().to_double(), args[1].to_scalar().to_double());
    if (name == "atan2") return std::atan2(args[0].to_scalar().to_double(), args[1].to_scalar().to_double());
    if (name == "pow") return plain_binary(Operator::pow, args[0], args[1]);
    return std::nullopt;
  }
  if (args.size() != 1) return std::nullopt;
  const double v = args[0].to_scalar().to_double();
  if (name == "floor" || name == "ceil" || name == "round" || name == "trunc") {
    if (!args[0].is_double()) return to_int(args[0]);
    SCONCE_CHECK_AS(value, std::isfinite(v), "cannot convert float {} to int", float_repr(v));
    const double whole = name == "floor"   ? std::floor(v)
                         : name == "ceil"  ? std::ceil(v)
                         : name == "round" ? numbers::round_half_even(v)
                                           : std::trunc(v);
    return to_int(whole);
  }
  for (const Named1& function : kMath) {
    if (function.name == name) return function.f(v);
  }
  return std::nullopt;
}

std::optional<Value> list_method(std::string_view name, const Args& args) {
  List& list = args[0].to_list();
  const auto count = [&](size_t least, size_t most) { check_count(name, args, least + 1, most + 1); };
  if (name == "append") {
    count(1, 1);
    list.append(args[1]);
    return Value();
  }
  if (name == "extend") {
    count(1, 1);
    for (Value& v : items_of(args[1])) list.append(std::move(v));
    return Value();
  }
  if (name == "insert") {
    count(2, 2);
    const int64_t n = static_cast<int64_t>(list.size());
    int64_t at = args[1].to_int();
    if (at < 0) at += n;
    list.insert(static_cast<size_t>(std::clamp<int64_t>(at, 0, n)), args[2]);
    return Value();
  }
  if (name == "pop") {
    count(0, 1);
    const size_t at = item_index(args.size() > 1 ? args[1] : Value(-1), list.size());
    Value out = list.get(at);
    list.erase(at, at + 1);
    return out;
  }
  if (name == "reverse" || name == "clear" || name == "copy") {
    count(0, 0);
    if (name == "copy") return Value(list.copy());
    if (name == "reverse") {
      list.reverse();
    } else {
      list.clear();
    }
    return Value();
  }
  return std::nullopt;
}

std::optional<Value> tensor_method(std::string_view name, const Args& args) {
  const Tensor& t = args[0].to_tensor();
  if (args.size() == 1) {
    if (name == "dim" || name == "ndimension") return t.dim();
    if (name == "numel" || name == "nelement") return t.numel();
    if (name == "size") return t.sizes();
    if (name == "stride") return t.strides();
    if (name == "is_contiguous") return t.is_contiguous();
    if (name == "is_floating_point") return is_floating(t.dtype());
    if (name == "is_complex") return is_complex(t.dtype());
    if (name == "item") return Value(item_of(t));
  }
  if (args.size() == 2 && args[1].is_int()) {
    if (name == "size") return t.size(args[1].to_int());
    if (name == "stride") return t.stride(args[1].to_int());
    if (name == "is_contiguous") return t.is_contiguous(static_cast<MemoryFormat>(args[1].to_int()));
  }
  return std::nullopt;
}

}  // namespace

std::optional<Value> call_builtin(std::string_view name, const Args& args) {
  const bool tensors = !args.empty() && args[0].is_tensor();
  if (name == "len") return len(args);
  if (name == "range") return range(args);
  if (name == "list_of") return list_of(args);
  if (name == "result_type") return promoted(args);
  if (name == "broadcast_shapes") return broadcast_shapes(args);
  if (name == "all_dims") return all_dims(args);
  if (name == "inverse_permutation") return inverse_permutation(args);
  if (name == "default_dtype") return default_dtype();
  if (args.size() == 2 && name == "wrap_dim") return wrap_dim(args[0].to_int(), args[1].to_int());
  if (args.size() == 1) {
    if (name == "int") return to_int(args[0]);
    if (name == "float") return to_float(args[0]);
    if (name == "bool") return truth(args[0]);
    if (name == "str") return args[0].is_string() ? args[0] : Value(args[0].repr());
    if (name == "list") return list_of(items_of(args[0]));
    if (name == "is_floating_point") return is_floating(dtype_of(args[0]));
    if (name == "is_complex") return is_complex(dtype_of(args[0]));
    if (name == "is_integral") return category(dtype_of(args[0])) <= Category::integral;
  }
  if (tensors || args.empty()) return std::nullopt;
  if (name == "min") return extreme(name, Operator::lt, args);
  if (name == "max") return extreme(name, Operator::gt, args);
  if (args.size() == 1 && is_run(args[0])) {
    if (name == "sum") return folded(Operator::add, 0, args[0]);
    if (name == "prod") return folded(Operator::mul, 1, args[0]);
  }
  if (args.size() == 1 && name == "abs" && args[0].is_number()) {
    if (args[0].is_complex()) return std::abs(args[0].to_complex());
    return plain_compare(Operator::lt, args[0], 0) ? plain_unary(Operator::neg, args[0])
                                                   : plain_unary(Operator::plus, args[0]);
  }
  return number_function(name, args);
}

std::optional<Value> call_builtin_method(std::string_view name, const Args& args) {
  if (args[0].is_list()) return list_method(name, args);
  if (args[0].is_tensor()) return tensor_method(name, args);
  return std::nullopt;
}

Value attribute_of(const Value& v, std::string_view name) {
  if (v.is_tensor()) {
    const Tensor& t = v.to_tensor();
    if (name == "shape") return t.sizes();
    if (name == "dtype") return t.dtype();
    if (name == "device") return t.device();
    if (name == "ndim") return t.dim();
    if (name == "layout") return t.layout();
    if (name == "requires_grad") return t.requires_grad();
    if (name == "is_meta") return t.is_meta();
    if (name == "is_cuda") return t.device().type == DeviceType::cuda;
  }
  if (v.is_tuple() && v.to_tuple().named_type) {
    const std::vector<std::string>& fields = v.to_tuple().named_type->fields();
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i] == name) return v.to_tuple().items[i];
    }
  }
  if (v.is_object()) return v.to_object().attr(name);
  if (v.is_device() && name == "index") {
    return v.to_device().index < 0 ? Value() : Value(static_cast<int64_t>(v.to_device().index));
  }
  if (v.is_device() && name == "type") return to_string(Device(v.to_device().type));
  fail_as(ErrorKind::type, "{} has no attribute '{}'", v.type()->to_string(), name);
}

std::optional<Value> constant_of(std::string_view name, bool of_torch) {
  if (name == "inf") return std::numeric_limits<double>::infinity();
  if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (name == "pi") return std::numbers::pi;
  if (!of_torch) return std::nullopt;
  DType dtype;
  if (dtype_from_name(name, &dtype)) return dtype;
  if (name == "float") return DType::float32;
  if (name == "double") return DType::float64;
  if (name == "half") return DType::float16;
  if (name == "long") return DType::int64;
  if (name == "int") return DType::int32;
  if (name == "strided") return Layout::strided;
  for (const MemoryFormat f : {MemoryFormat::contiguous, MemoryFormat::preserve, MemoryFormat::channels_last,
                               MemoryFormat::channels_last_3d}) {
    if (memory_format_name(f) == name) return f;
  }
  return std::nullopt;
}

}  // namespace sconce::body
