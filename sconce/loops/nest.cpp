#include "sconce/loops/nest.h"

#include "sconce/base/error.h"
#include "sconce/dispatch/schema.h"
#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/types/type.h"
#include "sconce/types/value.h"

namespace sconce::loops {
namespace {

std::string_view name_of(const LoopCall& call) {
  constexpr std::string_view kRowOps[] = {"convert", "softmax_row", "log_softmax_row", "layer_norm_row",
                                          "rms_norm_row"};
  return call.loops ? call.loops->name : kRowOps[static_cast<int>(call.row)];
}

bool has_eps(RowOp op) { return op == RowOp::layer_norm || op == RowOp::rms_norm; }

// f32, bf16, i64, bool: short, as samples of the table spell them.
std::string short_name(DType t) {
  switch (t) {
    case DType::bool_:
      return "bool";
    case DType::bfloat16:
      return "bf16";
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
      return std::string(dtype_name(t));
    default:
      break;
  }
  const char kind = is_complex(t) ? 'c' : is_floating(t) ? 'f' : is_unsigned(t) ? 'u' : 'i';
  return kind + std::to_string(item_size(t) * 8);
}

std::string list_text(IntList list, char open, char close) {
  std::string out(1, open);
  for (size_t i = 0; i < list.size(); ++i) out.append(i ? ", " : "").append(std::to_string(list[i]));
  return out + close;
}

std::string param_text(const Param& p) {
  std::string text = p.real == static_cast<double>(p.integer) ? std::to_string(p.integer) : float_repr(p.real);
  if (p.imag != 0) text.append(p.imag < 0 ? "" : "+").append(float_repr(p.imag)).append("j");
  return text;
}

void append_call(std::string& out, const LoopCall& call, size_t number) {
  out.append("  %").append(std::to_string(number)).append(" : ").append(short_name(call.result)).append(" = ");
  out.append(name_of(call));
  if (call.loops && call.common != call.result) out.append("<").append(short_name(call.common)).append(">");
  out.append("(");
  const char* comma = "";
  for (const Source& s : call.inputs) {
    out.append(comma).append(s.kind == Source::buffer ? "b" : "%").append(std::to_string(s.number));
    comma = ", ";
  }
  for (const Param& p : call.params) {
    out.append(comma).append(param_text(p));
    comma = ", ";
  }
  out.append(")\n");
}

bool has_elements(DType t) { return !is_quantized(t) && t != kComplex32; }

void check_row_call(const Nest& nest, size_t number) {
  const LoopCall& call = nest.calls[number];
  SCONCE_CHECK(nest.sizes.size() == 2, "nest: call {} ({}) is over rows, so there are two sizes, not {}", number,
               name_of(call), IntList(nest.sizes));
  for (size_t k = 1; k < call.inputs.size(); ++k) {
    const Source s = call.inputs[k];
    const bool fits = s.kind == Source::buffer && s.number < nest.buffers.size() &&
                      is_floating(nest.buffers[s.number].dtype) && nest.buffers[s.number].strides[1] == 1 &&
                      (nest.buffers[s.number].strides[0] == 0 || nest.sizes[0] <= 1);
    SCONCE_CHECK(fits, "nest: call {} ({}) has a parameter that is no buffer of floats with strides (0, 1)", number,
                 name_of(call));
  }
}

void check_call(const Nest& nest, size_t number) {
  const LoopCall& call = nest.calls[number];
  SCONCE_CHECK(fusible(call), "nest: call {} ({}) cannot be part of a nest", number, name_of(call));
  const size_t params = call.loops ? call.loops->params : has_eps(call.row) ? 1 : 0;
  const size_t least = call.loops ? call.loops->inputs : 1;
  const size_t most = least + (call.row == RowOp::layer_norm ? 2 : call.row == RowOp::rms_norm ? 1 : 0);
  SCONCE_CHECK(call.inputs.size() >= least && call.inputs.size() <= most && call.params.size() == params,
               "nest: call {} ({}) has {} inputs and {} numbers, its loops read {} and {}", number, name_of(call),
               call.inputs.size(), call.params.size(), most, params);
  if (call.is_row()) check_row_call(nest, number);
  for (const Source& s : call.inputs) {
    const size_t limit = s.kind == Source::buffer ? nest.buffers.size() : number;
    SCONCE_CHECK(s.number < limit, "nest: call {} ({}) reads {} {}, of {} before it", number, name_of(call),
                 s.kind == Source::buffer ? "buffer" : "call", s.number, limit);
  }
}

bool is_number(TypeKind kind) {
  return kind == TypeKind::number || kind == TypeKind::int_ || kind == TypeKind::float_ || kind == TypeKind::bool_;
}

bool reads(const PointwiseCase& rule, uint8_t argument) {
  for (const Expression& e : rule.expressions()) {
    for (const Step& s : e.steps()) {
      if (s.kind == StepKind::argument && s.a == argument) return true;
    }
  }
  return false;
}

}  // namespace

LoopCall make_call(const Op& op, const PointwiseLoops& loops, DType common, DType result) {
  LoopCall call;
  const OpEntry* entry = op.info.entry;
  if (entry != nullptr) {
    for (const PointwiseCase& c : entry->pointwise()) {
      if (c.loops == &loops) call.rule = &c;
    }
  }
  SCONCE_CHECK(call.rule != nullptr, "nest: {} has no case with the loops of {}", op.info.name, loops.name);
  const Op* twin = functional_twin(op);
  call.op = twin ? twin : &op;
  call.loops = &loops;
  call.common = common;
  call.result = result;
  return call;
}

LoopCall make_conversion(DType result) {
  LoopCall call;
  call.common = call.result = result;
  return call;
}

LoopCall make_row_call(RowOp op, DType dtype, double eps) {
  LoopCall call;
  call.row = op;
  call.common = call.result = dtype;
  if (has_eps(op)) call.params.push_back(Param::from_float(eps));
  return call;
}

int64_t Nest::numel() const {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return n;
}

bool fusible(const LoopCall& call) {
  if (!has_elements(call.common) || !has_elements(call.result)) return false;
  if (call.is_conversion()) return true;
  if (call.is_row()) return call.common == call.result && is_floating(call.common) && !is_float8(call.common);
  if (!has_loop(*call.loops, call.common)) return false;
  const bool integers = category(call.common) < Category::floating;
  return !integers || (call.loops->divisor_inputs | call.loops->divisor_params) == 0;
}

void check(const Nest& nest) {
  SCONCE_CHECK(!nest.calls.empty() && nest.calls.size() <= kMaxCalls, "nest: 1 to {} calls, got {}", kMaxCalls,
               nest.calls.size());
  SCONCE_CHECK(nest.buffers.size() <= kMaxBuffers, "nest: at most {} buffers, got {}", kMaxBuffers,
               nest.buffers.size());
  for (size_t k = 0; k < nest.buffers.size(); ++k) {
    const Buffer& b = nest.buffers[k];
    SCONCE_CHECK(has_elements(b.dtype), "nest: buffer {} is of {}", k, dtype_name(b.dtype));
    SCONCE_CHECK(b.strides.size() == nest.sizes.size(), "nest: buffer {} has {} strides for {} sizes", k,
                 b.strides.size(), nest.sizes.size());
  }
  for (const int64_t s : nest.sizes) SCONCE_CHECK(s >= 0, "nest: a size is negative: {}", IntList(nest.sizes));
  for (size_t k = 0; k < nest.calls.size(); ++k) check_call(nest, k);
  SCONCE_CHECK(!nest.stores.empty(), "nest: nothing is stored");
  for (size_t k = 0; k < nest.stores.size(); ++k) {
    const Store& s = nest.stores[k];
    SCONCE_CHECK(s.call < nest.calls.size() && s.buffer < nest.buffers.size(),
                 "nest: store {} is of call {} into buffer {}, of {} and {}", k, s.call, s.buffer, nest.calls.size(),
                 nest.buffers.size());
    const Buffer& b = nest.buffers[s.buffer];
    const DType result = nest.calls[s.call].result;
    SCONCE_CHECK(b.written && b.dtype == result, "nest: {} of call {} is stored into buffer {}, which is {}{}",
                 dtype_name(result), s.call, s.buffer, b.written ? "" : "not written and ", dtype_name(b.dtype));
    for (size_t j = 0; j < k; ++j) {
      SCONCE_CHECK(nest.stores[j].buffer != s.buffer, "nest: buffer {} is written twice", s.buffer);
    }
    for (size_t d = 0; d < nest.sizes.size(); ++d) {
      SCONCE_CHECK(nest.sizes[d] <= 1 || b.strides[d] != 0, "nest: buffer {} is written with stride 0", s.buffer);
    }
  }
}

std::string to_string(const Nest& nest) {
  std::string out = "nest " + list_text(nest.sizes, '[', ']') + "\n";
  for (size_t k = 0; k < nest.buffers.size(); ++k) {
    const Buffer& b = nest.buffers[k];
    out.append("  b").append(std::to_string(k)).append(" ").append(short_name(b.dtype)).append(" ");
    out.append(list_text(b.strides, '(', ')')).append(b.written ? " written\n" : "\n");
  }
  for (size_t k = 0; k < nest.calls.size(); ++k) append_call(out, nest.calls[k], k);
  for (const Store& s : nest.stores) {
    out.append("  b").append(std::to_string(s.buffer)).append(" = %").append(std::to_string(s.call)).append("\n");
  }
  return out;
}

SmallVector<ArgumentPlace, 16> argument_places(const LoopCall& call) {
  SmallVector<ArgumentPlace, 16> places;
  if (call.op == nullptr || call.rule == nullptr) return places;
  // Tensors and numbers keep their order; of optional tensors and of numbers, a loop has those that its case reads or
  // that take part in promotion (opgen/kinds/pointwise.py).
  uint8_t inputs = 0, params = 0, number = 0;
  for (const Argument& argument : call.op->schema().arguments) {
    const bool optional = argument.type->is(TypeKind::optional);
    const TypeKind kind = (optional ? argument.type->element() : argument.type)->kind();
    const bool read = reads(*call.rule, number);
    const bool promotes = number < 16 && (call.rule->promoting >> number & 1);
    ArgumentPlace place;
    if (kind == TypeKind::tensor && (!optional || read)) place = {ArgumentPlace::input, inputs++};
    if (is_number(kind) && (read || promotes)) place = {ArgumentPlace::param, params++};
    places.push_back(place);
    ++number;
  }
  if (inputs != call.loops->inputs || params != call.loops->params) places.clear();
  return places;
}

const Expression* expression_of(const LoopCall& call) {
  if (call.rule == nullptr) return nullptr;
  const bool bools = call.common == DType::bool_ && call.loops->loops[0][static_cast<int>(Compute::u8)] != nullptr;
  const uint8_t wanted = is_complex(call.common)    ? kComplexNumbers
                         : is_floating(call.common) ? kFloats
                         : bools                    ? kBools
                                                    : kIntegers;
  for (const Expression& e : call.rule->expressions()) {
    if (e.classes & wanted) return &e;
  }
  return nullptr;
}

}  // namespace sconce::loops
