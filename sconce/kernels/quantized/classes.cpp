// torch.classes.quantized.* and torch.classes.rnn.*: how files hold packed parameters.
#include "sconce/base/error.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/dispatch/glue.h"
#include "sconce/kernels/quantized/packed_params.h"
#include "sconce/ops.h"

namespace sconce::quantized {
namespace {

constexpr std::string_view kLinear = "quantized.LinearPackedParamsBase", kConv2d = "quantized.Conv2dPackedParamsBase",
                           kConv3d = "quantized.Conv3dPackedParamsBase",
                           kEmbedding = "quantized.EmbeddingPackedParamsBase", kCell = "rnn.CellParamsBase";

Value tuple_of(std::vector<Value> items) { return make_ref<Tuple>(std::move(items)); }

const std::vector<Value>& parts_of(const Value& state, size_t least, std::string_view what) {
  SCONCE_CHECK_AS(type, state.is_tuple() && state.to_tuple().items.size() >= least,
                  "the state of {} is a tuple of at least {} values", what, least);
  return state.to_tuple().items;
}

TypePtr type_of(std::string_view name) { return find_custom_class(std::string(kCustomClasses) + std::string(name)); }

// Linear --------------------------------------------------------------------------------------------------------------

std::shared_ptr<LinearParams> linear_from(const Value& state) {
  const std::vector<Value>& parts = parts_of(state, 2, kLinear);
  const Tensor &weight = parts[0].to_tensor(), &bias = parts[1].to_optional_tensor();
  if (is_quantized(weight.dtype())) return std::make_shared<LinearParams>(weight, bias);
  return LinearParams::of_half(weight, bias);
}

ClassDefinition linear_class() {
  ClassDefinition c(kLinear);
  const auto unpacked = [](Value* args) {
    const auto& p = instance<LinearParams>(args[0]);
    return tuple_of({p.weight, p.bias});
  };
  c.def("__getstate__() -> ((Tensor, Tensor?) _0)", unpacked);
  c.def("__setstate__((Tensor, Tensor?) _1) -> NoneType _0",
        [](Value* args) { return set_instance(args[0], linear_from(args[1])); });
  c.def("bias() -> Tensor? _0", [](Value* args) { return Value(instance<LinearParams>(args[0]).bias); });
  c.def("unpack() -> ((Tensor, Tensor?) _0)", unpacked);
  return c;
}

// Convolution ---------------------------------------------------------------------------------------------------------

// stride, padding, dilation, output_padding for each dimension, then groups and whether it is transposed.
std::vector<int64_t> numbers_of(const ConvParams& p) {
  std::vector<int64_t> out = {p.spatial};
  for (const Dims* list : {&p.stride, &p.padding, &p.dilation, &p.output_padding}) {
    for (int64_t v : *list) out.push_back(v);
  }
  out.push_back(p.groups);
  out.push_back(p.transpose);
  return out;
}

std::shared_ptr<ConvParams> conv_from_numbers(int64_t spatial, const std::vector<int64_t>& numbers,
                                              const Tensor& weight, const Tensor& bias) {
  const auto n = static_cast<size_t>(spatial);
  SCONCE_CHECK_AS(value, numbers.size() == 4 * n + 3 && numbers[0] == spatial,
                  "the state of a packed convolution has {} numbers of {} dimensions, got {}", 4 * n + 3, n,
                  numbers.size());
  const auto list = [&](size_t i) { return IntList(numbers.data() + 1 + i * n, n); };
  const int64_t transpose = numbers[4 * n + 2];
  SCONCE_CHECK_AS(value, transpose == 0 || transpose == 1, "the state of a packed convolution: transpose is {}",
                  transpose);
  return std::make_shared<ConvParams>(spatial, weight, bias, list(0), list(1), list(3), list(2), numbers[4 * n + 1],
                                      transpose == 1);
}

std::vector<int64_t> integers_in(const Tensor& t) {
  SCONCE_CHECK_AS(value, t.dim() == 1 && !is_quantized(t.dtype()) && is_integral(t.dtype()) && t.numel() < 64,
                  "the numbers of a packed convolution are a short vector of integers, got {}", t.sizes());
  const Tensor wide = contiguous_tensor(to_dtype(t, DType::int64));
  return {wide.data<int64_t>(), wide.data<int64_t>() + wide.numel()};
}

// Version 1 had each number in a tensor of its own: (weight, bias, stride, padding, dilation, groups).
std::shared_ptr<ConvParams> conv_from_first(int64_t spatial, const std::vector<Value>& parts) {
  SCONCE_CHECK_AS(value, parts.size() == 6, "the first state of a packed convolution has 6 parts, got {}",
                  parts.size());
  const auto list = [&](const Value& v) {
    Dims out;
    for (const Value& one : v.to_list().values())
      out.push_back(static_cast<int64_t>(item_of(one.to_tensor()).to_double()));
    return out;
  };
  const Dims none(static_cast<size_t>(spatial), 0);
  return std::make_shared<ConvParams>(spatial, parts[0].to_tensor(), parts[1].to_optional_tensor(), list(parts[2]),
                                      list(parts[3]), none, list(parts[4]),
                                      static_cast<int64_t>(item_of(parts[5].to_tensor()).to_double()), false);
}

std::shared_ptr<ConvParams> conv_from(int64_t spatial, const Value& state) {
  const std::vector<Value>& parts = parts_of(state, 3, spatial == 3 ? kConv3d : kConv2d);
  if (parts[0].is_tensor()) return conv_from_first(spatial, parts);
  if (parts[0].is_int()) {
    SCONCE_CHECK_AS(value, parts[0].to_int() == 3, "a packed convolution of version {} is not supported",
                    parts[0].to_int());
    const std::vector<Value> tensors = parts[2].to_list().values();
    SCONCE_CHECK_AS(value, tensors.size() == 3, "a packed convolution of version 3 has 3 tensors, got {}",
                    tensors.size());
    const IntList numbers = parts[1].to_list().ints();
    return conv_from_numbers(spatial, {numbers.begin(), numbers.end()}, tensors[1].to_tensor(),
                             tensors[2].to_optional_tensor());
  }
  SCONCE_CHECK_AS(value, parts[0].to_string_ref() == "2", "a packed convolution of version '{}' is not supported",
                  parts[0].to_string_ref());
  const std::vector<Value> given = parts[1].to_list().values(), optional = parts[2].to_list().values();
  SCONCE_CHECK_AS(value, given.size() == 2 && optional.size() == 1,
                  "a packed convolution of version 2 has 2 tensors and a bias, got {} and {}", given.size(),
                  optional.size());
  return conv_from_numbers(spatial, integers_in(given[0].to_tensor()), given[1].to_tensor(),
                           optional[0].to_optional_tensor());
}

Value conv_state(const ConvParams& p) {
  const std::vector<int64_t> numbers = numbers_of(p);
  const Tensor packed = empty_tensor({static_cast<int64_t>(numbers.size())}, DType::int16);
  for (size_t i = 0; i < numbers.size(); ++i) {
    SCONCE_CHECK(numbers[i] <= INT16_MAX, "a packed convolution is written with numbers of 16 bits, which {} is not",
                 numbers[i]);
    packed.data<int16_t>()[i] = static_cast<int16_t>(numbers[i]);
  }
  auto tensors = make_ref<List>(tensor_type());
  tensors->append(packed);
  tensors->append(p.weight);
  auto optional = make_ref<List>(optional_type(tensor_type()));
  optional->append(p.bias);
  return tuple_of({"2", tensors, optional});
}

ClassDefinition conv_class(int64_t spatial) {
  ClassDefinition c(spatial == 3 ? kConv3d : kConv2d);
  const auto of = [](Value* args) -> const ConvParams& { return instance<ConvParams>(args[0]); };
  c.def("__getstate__() -> ((str, Tensor[], Tensor?[]) _0)", [of](Value* args) { return conv_state(of(args)); });
  c.def("__setstate__(Any _1) -> NoneType _0",
        [spatial](Value* args) { return set_instance(args[0], conv_from(spatial, args[1])); });
  c.def("weight() -> Tensor _0", [of](Value* args) { return Value(of(args).weight); });
  c.def("bias() -> Tensor? _0", [of](Value* args) { return Value(of(args).bias); });
  c.def("unpack() -> ((Tensor, Tensor?) _0)", [of](Value* args) { return tuple_of({of(args).weight, of(args).bias}); });
  c.def("stride() -> int[] _0", [of](Value* args) { return Value(IntList(of(args).stride)); });
  c.def("padding() -> int[] _0", [of](Value* args) { return Value(IntList(of(args).padding)); });
  c.def("output_padding() -> int[] _0", [of](Value* args) { return Value(IntList(of(args).output_padding)); });
  c.def("dilation() -> int[] _0", [of](Value* args) { return Value(IntList(of(args).dilation)); });
  c.def("groups() -> int _0", [of](Value* args) { return Value(of(args).groups); });
  c.def("transpose() -> bool _0", [of](Value* args) { return Value(of(args).transpose); });
  return c;
}

// Embedding and cells -------------------------------------------------------------------------------------------------

ClassDefinition embedding_class() {
  ClassDefinition c(kEmbedding);
  const auto of = [](Value* args) -> const EmbeddingParams& { return instance<EmbeddingParams>(args[0]); };
  c.def("__getstate__() -> ((int, Tensor[], float[], int[]) _0)", [of](Value* args) {
    auto tensors = make_ref<List>(tensor_type());
    tensors->append(of(args).weight);
    const int64_t bits = of(args).bit_rate;
    return tuple_of({of(args).version, tensors, make_ref<List>(float_type()), IntList(&bits, 1)});
  });
  c.def("__setstate__((int, Tensor[], float[], int[]) _1) -> NoneType _0", [](Value* args) {
    const std::vector<Value>& parts = parts_of(args[1], 4, kEmbedding);
    const TensorList tensors = parts[1].to_list().tensors();
    const IntList bits = parts[3].to_list().ints();
    SCONCE_CHECK_AS(value, parts[0].to_int() == 1 && tensors.size() == 1 && bits.size() == 1,
                    "a packed embedding of version {} is not supported", parts[0].to_int());
    return set_instance(args[0], std::make_shared<EmbeddingParams>(tensors[0], parts[0].to_int(), bits[0]));
  });
  c.def("bit_rate() -> int _0", [of](Value* args) { return Value(of(args).bit_rate); });
  c.def("unpack() -> Tensor _0", [of](Value* args) { return Value(of(args).weight); });
  c.def("version() -> int _0", [of](Value* args) { return Value(of(args).version); });
  return c;
}

Value cell_state(const CellParams& p) {
  auto tensors = make_ref<List>(tensor_type());
  std::vector<int64_t> flags;
  if (p.kind == "quantized_dynamic") {
    tensors->append(p.input_bias);
    tensors->append(p.hidden_bias);
    flags.push_back(p.reduce_range);
  }
  auto packed = make_ref<List>(type_of(kLinear));
  packed->append(linear_value(p.input));
  packed->append(linear_value(p.hidden));
  return tuple_of({p.kind, tensors, make_ref<List>(float_type()), IntList(flags), packed});
}

std::shared_ptr<CellParams> cell_from(const Value& state) {
  const std::vector<Value>& parts = parts_of(state, 5, kCell);
  auto p = std::make_shared<CellParams>();
  p->kind = parts[0].to_string_ref();
  SCONCE_CHECK_AS(not_implemented, p->kind == "quantized_dynamic" || p->kind == "quantized_fp16",
                  "packed recurrent parameters of kind '{}' are not supported", p->kind);
  const std::vector<Value> packed = parts[4].to_list().values();
  SCONCE_CHECK_AS(value, packed.size() == 2, "packed recurrent parameters have 2 linear layers, got {}", packed.size());
  p->input = instance_pointer<LinearParams>(packed[0]);
  p->hidden = instance_pointer<LinearParams>(packed[1]);
  if (p->kind == "quantized_dynamic") {
    const TensorList tensors = parts[1].to_list().tensors();
    const IntList flags = parts[3].to_list().ints();
    SCONCE_CHECK_AS(value, tensors.size() == 2 && flags.size() <= 1,
                    "packed recurrent parameters have 2 biases and one flag, got {} and {}", tensors.size(),
                    flags.size());
    p->input_bias = tensors[0];
    p->hidden_bias = tensors[1];
    p->reduce_range = !flags.empty() && flags[0] != 0;
  }
  return p;
}

ClassDefinition cell_class() {
  constexpr std::string_view kState =
      "(str, Tensor[], float[], int[], __torch__.torch.classes.quantized.LinearPackedParamsBase[]) ";
  ClassDefinition c(kCell);
  c.def("__getstate__() -> (" + std::string(kState) + "_0)",
        [](Value* args) { return cell_state(instance<CellParams>(args[0])); });
  c.def("__setstate__(" + std::string(kState) + "_1) -> NoneType _0",
        [](Value* args) { return set_instance(args[0], cell_from(args[1])); });
  return c;
}

}  // namespace

void register_packed_classes() {
  std::vector<ClassDefinition> classes;
  classes.push_back(linear_class());
  classes.push_back(conv_class(2));
  classes.push_back(conv_class(3));
  classes.push_back(embedding_class());
  classes.push_back(cell_class());
  register_classes(std::move(classes));
}

Value linear_value(std::shared_ptr<LinearParams> params) { return make_instance(type_of(kLinear), std::move(params)); }
Value conv_value(std::shared_ptr<ConvParams> params) {
  const TypePtr type = type_of(params->spatial == 3 ? kConv3d : kConv2d);
  return make_instance(type, std::move(params));
}
Value embedding_value(std::shared_ptr<EmbeddingParams> params) {
  return make_instance(type_of(kEmbedding), std::move(params));
}
Value cell_value(std::shared_ptr<CellParams> params) { return make_instance(type_of(kCell), std::move(params)); }

}  // namespace sconce::quantized
