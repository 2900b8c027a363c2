// Reductions, normalisations, views, creation and copies to prims, by name: what the table has no expression for.
#include "sconce/lowering/prims_rules.h"

#include <algorithm>
#include <cmath>

#include "sconce/base/error.h"
#include "sconce/tensor/promotion.h"
#include "sconce/tensor/strides.h"

namespace sconce::lowering {

const sconce::Value& LoweredCall::arg(std::string_view name) const {
  const auto& arguments = op.schema().arguments;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name == name) return args[i];
  }
  fail("{} has no argument '{}'", op.qualified_name(), name);
}

ir::Value* LoweredCall::input(std::string_view name) const {
  return node.input(static_cast<size_t>(&arg(name) - args.data()));
}

namespace {

using Rule = Lowered (*)(const LoweredCall& call, PrimsBuilder& b);

// Reductions ----------------------------------------------------------------------------------------------------------

// The dimensions that are reduced, ascending. No list and, for these operators, an empty one mean all.
Dims reduced(const LoweredCall& call, std::string_view argument, int64_t rank) {
  const sconce::Value dim = argument.empty() ? sconce::Value() : call.arg(argument);
  Dims dims;
  if (dim.is_int()) dims.push_back(wrap_dim(dim.to_int(), rank));
  if (dim.is_list()) {
    for (int64_t d : dim.to_list().ints()) dims.push_back(wrap_dim(d, rank));
  }
  if (rank == 0) return Dims();
  if (dims.empty()) {
    for (int64_t d = 0; d < rank; ++d) dims.push_back(d);
  }
  std::ranges::sort(dims);
  return dims;
}

// Sizes of one element where x was reduced, and the others with their places.
ir::Value* keep_dims(PrimsBuilder& b, ir::Value* v, IntList sizes, const Dims& dims) {
  Dims kept(sizes), places;
  for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
    if (std::ranges::find(dims, d) != dims.end())
      kept[static_cast<size_t>(d)] = 1;
    else
      places.push_back(d);
  }
  return b.broadcast_in_dim(v, kept, places);
}

bool flag(const LoweredCall& call, std::string_view name) {
  for (const Argument& a : call.op.schema().arguments) {
    if (a.name == name) return call.arg(name).is_bool() && call.arg(name).to_bool();
  }
  return false;
}

bool takes(const LoweredCall& call, std::string_view name) {
  return std::ranges::any_of(call.op.schema().arguments, [&](const Argument& a) { return a.name == name; });
}

struct Reduction {
  ir::Value* self;
  Dims sizes, dims;

  Reduction(const LoweredCall& call, PrimsBuilder& b)
      : self(call.input("self")),
        sizes(b.shape(self).sizes()),
        dims(reduced(call, takes(call, "dim") ? "dim" : "", static_cast<int64_t>(sizes.size()))) {}
  int64_t count() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= sizes[static_cast<size_t>(d)];
    return n;
  }
  Lowered finish(const LoweredCall& call, PrimsBuilder& b, ir::Value* v) const {
    v = b.convert(v, call.result().dtype());
    return flag(call, "keepdim") ? keep_dims(b, v, sizes, dims) : v;
  }
};

// A prim of the reduction's name. 16-bit floats: it accumulates in float32 and rounds once, as the operator does.
template <const char* Prim>
Lowered reduce(const LoweredCall& call, PrimsBuilder& b) {
  const Reduction r(call, b);
  if (r.dims.empty()) return r.finish(call, b, b.call("clone", {r.self, b.none()}));
  ir::Value* x = b.convert(r.self, call.result().dtype());
  return r.finish(call, b, b.call(Prim, {x, b.constant(r.dims), b.none()}));
}
constexpr char kSum[] = "sum", kProd[] = "prod", kAmax[] = "amax", kAmin[] = "amin";

Lowered lower_mean(const LoweredCall& call, PrimsBuilder& b) {
  const Reduction r(call, b);
  const DType compute = compute_dtype(call.result().dtype());
  ir::Value* x = b.convert(b.convert(r.self, call.result().dtype()), compute);
  if (r.dims.empty()) return r.finish(call, b, b.call("clone", {x, b.none()}));
  ir::Value* sum = b.call("sum", {x, b.constant(r.dims), b.none()});
  return r.finish(call, b, b.call("div", {sum, b.number(r.count(), compute)}));
}

Lowered lower_any(const LoweredCall& call, PrimsBuilder& b) {
  const Reduction r(call, b);
  if (r.count() == 0) return nullptr;  // the maximum of nothing is none
  ir::Value* x = b.convert(r.self, DType::bool_);
  if (!r.dims.empty())
    x = b.call("amax", {x, b.constant(r.dims), b.none()});
  else
    x = b.call("clone", {x, b.none()});
  return r.finish(call, b, x);
}

Lowered lower_var(const LoweredCall& call, PrimsBuilder& b) {
  const Reduction r(call, b);
  const sconce::Value& correction = call.arg("correction");
  if (r.dims.empty() || (correction.is_number() && correction.to_scalar().is_complex())) return nullptr;
  const double c = correction.is_none() ? 1 : correction.to_scalar().to_double();
  return r.finish(call, b, b.call("var", {r.self, b.constant(r.dims), b.constant(c), b.none()}));
}

// Normalisations ------------------------------------------------------------------------------------------------------

ir::Value* over_rows(PrimsBuilder& b, std::string_view prim, ir::Value* x, const Dims& dims) {
  const Dims sizes(b.shape(x).sizes());
  ir::Value* v = b.call(prim, {x, b.constant(dims), b.none()});
  return b.broadcast(keep_dims(b, v, sizes, dims), sizes);
}

// exp(x - max) / sum of it; its logarithm.
template <bool Log>
Lowered lower_softmax(const LoweredCall& call, PrimsBuilder& b) {
  const DType dtype = call.result().dtype(), compute = compute_dtype(dtype);
  ir::Value* x = b.convert(call.input("self"), compute);
  if (b.shape(x).dim() == 0 || b.shape(x).numel() == 0) return nullptr;
  const Dims dims({wrap_dim(call.arg("dim").to_int(), b.shape(x).dim())});
  ir::Value* shifted = b.call("sub", {x, over_rows(b, "amax", x, dims)});
  ir::Value* powers = b.call("exp", {shifted});
  ir::Value* sum = over_rows(b, "sum", powers, dims);
  ir::Value* v = Log ? b.call("sub", {shifted, b.call("log", {sum})}) : b.call("div", {powers, sum});
  return b.convert(v, dtype);
}

// Views ---------------------------------------------------------------------------------------------------------------

Lowered lower_view(const LoweredCall& call, PrimsBuilder& b) {
  return b.call("reshape", {call.input("self"), b.constant(call.result().sizes())});
}

Lowered lower_expand(const LoweredCall& call, PrimsBuilder& b) {
  ir::Value* self = call.input("self");
  ir::Value* v = b.broadcast(self, call.result().sizes());
  return v == self ? b.call("view_of", {v}) : v;
}

Lowered lower_unsqueeze(const LoweredCall& call, PrimsBuilder& b) {
  const int64_t rank = call.result().dim(), added = wrap_dim(call.arg("dim").to_int(), rank);
  Dims places;
  for (int64_t d = 0; d < rank; ++d) {
    if (d != added) places.push_back(d);
  }
  return b.broadcast_in_dim(call.input("self"), call.result().sizes(), places);
}

Lowered lower_squeeze(const LoweredCall& call, PrimsBuilder& b) {
  ir::Value* self = call.input("self");
  const Tensor& shape = b.shape(self);
  Dims dims;
  for (int64_t d : reduced(call, "dim", shape.dim())) {
    if (shape.size(d) == 1) dims.push_back(d);
  }
  // An empty list removes nothing.
  const sconce::Value& given = call.arg("dim");
  if (given.is_list() && given.to_list().ints().empty()) dims = Dims();
  return dims.empty() ? b.call("view_of", {self}) : b.call("squeeze", {self, b.constant(dims)});
}

Lowered lower_permute(const LoweredCall& call, PrimsBuilder& b) {
  Dims order;
  for (int64_t d : call.arg("dims").to_list().ints()) order.push_back(wrap_dim(d, call.result().dim()));
  return b.call("transpose", {call.input("self"), b.constant(order)});
}

Lowered lower_alias(const LoweredCall& call, PrimsBuilder& b) { return b.call("view_of", {call.input("self")}); }

Lowered lower_flip(const LoweredCall& call, PrimsBuilder& b) {
  Dims dims;
  for (int64_t d : call.arg("dims").to_list().ints()) dims.push_back(wrap_dim(d, call.result().dim()));
  if (call.result().dim() == 0) return b.call("clone", {call.input("self"), b.none()});
  return b.call("rev", {call.input("self"), b.constant(dims)});
}

// Tensors of sizes [0], which ATen leaves out whatever the others are, are left out.
Lowered lower_cat(const LoweredCall& call, PrimsBuilder& b) {
  const ir::Node& items = *call.input("tensors")->node();
  if (!items.is(ir::kind::ListConstruct)) return nullptr;
  std::vector<ir::Value*> parts;
  for (ir::Value* v : items.inputs()) {
    if (b.shape(v).dim() == 1 && b.shape(v).numel() == 0 && call.result().numel() != 0) continue;
    if (b.shape(v).dim() != call.result().dim()) return nullptr;
    parts.push_back(b.convert(v, call.result().dtype()));
  }
  if (parts.empty()) return nullptr;
  return b.call("cat", {b.list(parts), b.constant(wrap_dim(call.arg("dim").to_int(), call.result().dim()))});
}

// A dimension of copies before each dimension, then both as one: [3] twice is [2, 3] and so [6].
Lowered lower_repeat(const LoweredCall& call, PrimsBuilder& b) {
  ir::Value* self = call.input("self");
  const IntList repeats = call.arg("repeats").to_list().ints(), sizes = b.shape(self).sizes();
  const size_t lead = repeats.size() - sizes.size();
  Dims apart, places;
  for (size_t d = 0; d < repeats.size(); ++d) {
    apart.push_back(repeats[d]);
    if (d < lead) continue;
    places.push_back(static_cast<int64_t>(apart.size()));
    apart.push_back(sizes[d - lead]);
  }
  return b.call("reshape", {b.broadcast_in_dim(self, apart, places), b.constant(call.result().sizes())});
}

// Creation, copies ----------------------------------------------------------------------------------------------------

Lowered lower_full(const LoweredCall& call, PrimsBuilder& b) {
  return b.call("full", {b.constant(call.result().sizes()), call.input("fill_value"), b.constant(call.result().dtype()),
                         b.constant(b.device()), b.constant(false)});
}

Lowered lower_full_like(const LoweredCall& call, PrimsBuilder& b) {
  if (!call.arg("memory_format").is_none()) return nullptr;
  return b.call("full_like", {call.input("self"), call.input("fill_value"), b.constant(call.result().dtype()),
                              b.constant(b.device()), b.constant(false)});
}

Lowered lower_scalar_tensor(const LoweredCall& call, PrimsBuilder& b) {
  return b.call("scalar_tensor", {call.input("s"), b.constant(call.result().dtype()), b.constant(b.device())});
}

Lowered lower_empty(const LoweredCall& call, PrimsBuilder& b) {
  const IntList sizes = call.result().sizes(), strides = call.result().strides();
  return b.call("empty_strided", {b.constant(sizes), b.constant(strides), b.constant(call.result().dtype()),
                                  b.constant(b.device()), b.constant(false)});
}

// start + i * step. Of floats the loop computes in float64, too.
Lowered lower_arange(const LoweredCall& call, PrimsBuilder& b) {
  const Scalar start = call.arg("start").to_scalar(), step = call.arg("step").to_scalar();
  const DType dtype = call.result().dtype();
  const auto iota = [&](int64_t first, int64_t by, DType t) {
    return b.call("iota", {b.constant(call.result().numel()), b.constant(first), b.constant(by), b.constant(t),
                           b.constant(b.device()), b.constant(false)});
  };
  if (category(dtype) == Category::integral && start.is_integral() && step.is_integral())
    return iota(start.to_int(), step.to_int(), dtype);
  if (category(dtype) != Category::floating) return nullptr;
  ir::Value* v = b.convert(iota(0, 1, DType::int64), DType::float64);
  v = b.call("mul", {v, b.number(step.to_double(), DType::float64)});
  return b.convert(b.call("add", {v, b.number(start.to_double(), DType::float64)}), dtype);
}

// Tensors full of the value before and behind, dimension by dimension. Pads that cut would be slices.
Lowered lower_pad(const LoweredCall& call, PrimsBuilder& b) {
  const IntList pad = call.arg("pad").to_list().ints();
  if (std::ranges::any_of(pad, [](int64_t n) { return n < 0; })) return nullptr;
  ir::Value* v = b.call("clone", {call.input("self"), b.none()});
  for (size_t pair = 0; 2 * pair < pad.size(); ++pair) {
    const int64_t dim = call.result().dim() - 1 - static_cast<int64_t>(pair);
    const auto border = [&](int64_t length) {
      Dims sizes(b.shape(v).sizes());
      sizes[static_cast<size_t>(dim)] = length;
      return b.call("full", {b.constant(sizes), call.input("value"), b.constant(call.result().dtype()),
                             b.constant(b.device()), b.constant(false)});
    };
    std::vector<ir::Value*> parts;
    if (pad[2 * pair] > 0) parts.push_back(border(pad[2 * pair]));
    parts.push_back(v);
    if (pad[2 * pair + 1] > 0) parts.push_back(border(pad[2 * pair + 1]));
    if (parts.size() > 1) v = b.call("cat", {b.list(parts), b.constant(dim)});
  }
  return v;
}

Lowered lower_fill(const LoweredCall& call, PrimsBuilder& b) {
  return b.call("fill", {call.input("self"), call.input("value")});
}

Lowered lower_clone(const LoweredCall& call, PrimsBuilder& b) {
  return b.call("clone", {call.input("self"), call.input("memory_format")});
}

Lowered lower_to_copy(const LoweredCall& call, PrimsBuilder& b) {
  const sconce::Value& format = call.arg("memory_format");
  if (!format.is_none() && static_cast<MemoryFormat>(format.to_int()) != MemoryFormat::preserve) return nullptr;
  return b.call("convert_element_type", {call.input("self"), b.constant(call.result().dtype())});
}

Lowered lower_copy(const LoweredCall& call, PrimsBuilder& b) {
  ir::Value* v = b.broadcast(b.convert(call.input("src"), call.result().dtype()), call.result().sizes());
  return b.call("clone", {v, b.none()});
}

template <bool Normal>
Lowered lower_draws(const LoweredCall& call, PrimsBuilder& b) {
  ir::Value *shape = b.constant(call.result().sizes()), *dtype = b.constant(call.result().dtype());
  ir::Value *zero = b.constant(0.0), *one = b.constant(1.0), *device = b.constant(b.device()), *none = b.none();
  if (Normal) return b.call("normal", {shape, zero, one, dtype, device, b.constant(false), none});
  return b.call("uniform", {shape, zero, one, dtype, device, b.constant(call.result().strides()), none});
}

// Transforms of prims have no scale. Normalization 1 is 1 / sqrt(n), 2 is 1 / n, of n numbers transformed at once.
ir::Value* scaled(const LoweredCall& call, PrimsBuilder& b, ir::Value* v, const Tensor& signal) {
  double n = 1;
  for (int64_t d : call.arg("dim").to_list().ints()) n *= static_cast<double>(signal.size(d));
  const int64_t normalization = call.arg("normalization").to_int();
  if (normalization == 0) return v;
  return b.call("mul", {v, b.number(normalization == 1 ? 1 / std::sqrt(n) : 1 / n, b.dtype(v))});
}

Lowered lower_fft_r2c(const LoweredCall& call, PrimsBuilder& b) {
  ir::Value* self = call.input("self");
  return scaled(call, b, b.call("fft_r2c", {self, call.input("dim"), call.input("onesided")}), b.shape(self));
}

Lowered lower_fft_c2r(const LoweredCall& call, PrimsBuilder& b) {
  ir::Value* v = b.call("fft_c2r", {call.input("self"), call.input("dim"), call.input("last_dim_size")});
  return scaled(call, b, v, call.result());
}

constexpr struct {
  std::string_view op;
  Rule rule;
} kRules[] = {
    {"aten::sum", reduce<kSum>},
    {"aten::sum.dim_IntList", reduce<kSum>},
    {"aten::prod", reduce<kProd>},
    {"aten::prod.dim_int", reduce<kProd>},
    {"aten::amax", reduce<kAmax>},
    {"aten::amin", reduce<kAmin>},
    {"aten::mean", lower_mean},
    {"aten::mean.dim", lower_mean},
    {"aten::any", lower_any},
    {"aten::any.dim", lower_any},
    {"aten::any.dims", lower_any},
    {"aten::var.correction", lower_var},
    {"aten::_softmax", lower_softmax<false>},
    {"aten::_log_softmax", lower_softmax<true>},
    {"aten::view", lower_view},
    {"aten::reshape", lower_view},
    {"aten::_unsafe_view", lower_view},
    {"aten::expand", lower_expand},
    {"aten::unsqueeze", lower_unsqueeze},
    {"aten::squeeze.dim", lower_squeeze},
    {"aten::squeeze.dims", lower_squeeze},
    {"aten::permute", lower_permute},
    {"aten::alias", lower_alias},
    {"aten::flip", lower_flip},
    {"aten::repeat", lower_repeat},
    {"aten::constant_pad_nd", lower_pad},
    {"aten::cat", lower_cat},
    {"aten::full", lower_full},
    {"aten::full_like", lower_full_like},
    {"aten::scalar_tensor", lower_scalar_tensor},
    {"aten::empty.memory_format", lower_empty},
    {"aten::empty_strided", lower_empty},
    {"aten::arange.start_step", lower_arange},
    {"aten::fill.Scalar", lower_fill},
    {"aten::clone", lower_clone},
    {"aten::_to_copy", lower_to_copy},
    {"aten::copy", lower_copy},
    {"aten::rand", lower_draws<false>},
    {"aten::randn", lower_draws<true>},
    {"aten::_fft_r2c", lower_fft_r2c},
    {"aten::_fft_c2r", lower_fft_c2r},
};

// Arguments that say where a tensor is and how it is laid out, of which prims have only the device.
bool asks_for_another_layout(const LoweredCall& call) {
  return (takes(call, "pin_memory") && flag(call, "pin_memory")) ||
         (takes(call, "layout") && call.arg("layout").is_int() &&
          static_cast<Layout>(call.arg("layout").to_int()) != Layout::strided);
}

}  // namespace

Lowered lower_by_name(const LoweredCall& call, PrimsBuilder& b) {
  const std::string name = call.op.qualified_name();
  for (const auto& row : kRules) {
    if (row.op == name) return asks_for_another_layout(call) ? nullptr : row.rule(call, b);
  }
  return nullptr;
}

}  // namespace sconce::lowering
