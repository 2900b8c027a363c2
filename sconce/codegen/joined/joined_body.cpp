#include "sconce/codegen/joined/joined_body.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "sconce/base/error.h"
#include "sconce/kernels/cpu/engine/iterate.h"

namespace sconce::codegen {

using loops::ArgumentPlace;
using loops::LoopCall;
using loops::Nest;

int operands_of(Prim op) {
  switch (op) {
    case Prim::load:
    case Prim::constant:
      return 0;
    case Prim::abs:
    case Prim::sqrt:
    case Prim::floor:
    case Prim::ceil:
    case Prim::trunc:
    case Prim::round:
    case Prim::to_float:
    case Prim::to_int:
    case Prim::round_bf16:
    case Prim::round_f16:
    case Prim::wrap:
      return 1;
    case Prim::fma:
    case Prim::select:
      return 3;
    default:
      return 2;
  }
}

namespace {

bool is_small_integer(DType t) {
  return t == DType::int32 || t == DType::int16 || t == DType::int8 || t == DType::uint8 || t == DType::bool_;
}
bool is_small_float(DType t) { return t == DType::float32 || t == DType::float16 || t == DType::bfloat16; }

// Dtypes that a body loads.
bool loads(DType t, int width) {
  if (is_small_integer(t) || t == DType::float32) return true;
  return width == 4 ? is_small_float(t) : t == DType::float64 || t == DType::int64;
}
// And those that it computes and stores.
bool computes(DType t, int width) {
  if (t == DType::bool_) return true;
  return width == 4 ? is_small_integer(t) || is_small_float(t) : t == DType::float64 || t == DType::int64;
}

class Builder {
 public:
  Builder(const Nest& nest, const TileGraph& graph, int width)
      : nest_(nest), graph_(graph), forms_(graph.values.size()) {
    body_.width = width;
  }

  // False when the value has something that bodies cannot do.
  bool add(uint16_t v) {
    const TileValue& value = graph_.values[v];
    if (!computes(value.dtype, body_.width)) return false;
    std::optional<Form> form;
    if (value.kind == TileValue::convert) {
      form = convert(value);
    } else if (value.kind == TileValue::call) {
      form = call(value);
    }
    if (!form) return false;
    forms_[v] = form;
    return true;
  }

  void store(uint16_t v) {
    const Form& form = *forms_[v];
    const bool is_mask = graph_.values[v].dtype == DType::bool_;
    results_.push_back({graph_.values[v].dtype, false, is_mask});
    body_.results.push_back(is_mask ? mask(form) : form.inst);
  }

  Body finish(std::vector<uint16_t>& loads) {
    loads = loads_;
    body_.operands.insert(body_.operands.end(), results_.begin(), results_.end());
    return std::move(body_);
  }

 private:
  // A value of the body: a number or a mask, or a literal that has no instruction yet.
  struct Form {
    enum Kind : uint8_t { number, mask, literal } kind;
    bool real = false;
    uint16_t inst = 0;
    Constant constant{};
  };
  enum class Class : uint8_t { floats, integers, bools };

  uint16_t emit(Inst inst) {
    for (size_t k = 0; k < body_.insts.size(); ++k) {
      if (body_.insts[k] == inst) return static_cast<uint16_t>(k);
    }
    body_.insts.push_back(inst);
    return static_cast<uint16_t>(body_.insts.size() - 1);
  }
  uint16_t emit(Prim op, bool real, uint16_t a, uint16_t b = 0, uint16_t c = 0) {
    Inst inst{op, real};
    inst.a = a, inst.b = b, inst.c = c;
    return emit(inst);
  }
  uint16_t bits(uint64_t bits) {
    Inst inst{Prim::constant};
    inst.bits = body_.width == 4 ? static_cast<uint32_t>(bits) : bits;
    return emit(inst);
  }
  uint16_t real_constant(double x) {
    return bits(body_.width == 4 ? std::bit_cast<uint32_t>(static_cast<float>(x)) : std::bit_cast<uint64_t>(x));
  }
  uint16_t constant(bool real, const Constant& c) {
    return real ? real_constant(c.real) : bits(static_cast<uint64_t>(c.integer));
  }
  uint64_t sign_bit() const { return body_.width == 4 ? uint64_t{1} << 31 : uint64_t{1} << 63; }
  std::optional<uint64_t> constant_bits(uint16_t inst) const {
    if (body_.insts[inst].op != Prim::constant) return std::nullopt;
    return body_.insts[inst].bits;
  }

  // --- forms

  uint16_t mask(const Form& x) {
    if (x.kind == Form::mask) return x.inst;
    return emit(Prim::ne, x.real, x.inst, bits(0));
  }
  // As a number of the class that is computed in.
  uint16_t number(const Form& x, bool real) {
    if (x.kind == Form::literal) return constant(real, x.constant);
    if (x.kind == Form::mask) return emit(Prim::bit_and, real, x.inst, real ? real_constant(1) : bits(1));
    return x.inst;
  }
  static Form as_mask(uint16_t inst) { return {Form::mask, false, inst}; }
  static Form as_number(bool real, uint16_t inst) { return {Form::number, real, inst}; }

  // What a value is here: computed before, or loaded.
  std::optional<Form> form_of(uint16_t v) {
    if (forms_[v]) return forms_[v];
    const TileValue& value = graph_.values[v];
    if (!codegen::loads(value.dtype, body_.width)) return std::nullopt;
    Inst inst{Prim::load};
    inst.number = static_cast<uint16_t>(loads_.size());
    loads_.push_back(v);
    body_.operands.push_back({value.dtype, value.uniform});
    inst.real = is_floating(value.dtype);
    forms_[v] = as_number(inst.real, emit(inst));
    if (value.dtype == DType::bool_) forms_[v] = as_mask(mask(*forms_[v]));  // any byte but 0 is true
    return forms_[v];
  }

  // --- conversions

  std::optional<Form> convert(const TileValue& value) {
    const DType from = graph_.values[value.inputs[0]].dtype, to = value.dtype;
    if (!codegen::loads(from, body_.width)) return std::nullopt;
    if (body_.width == 8) {
      const bool ints = to == DType::int64 && !is_floating(from);
      const bool floats = to == DType::float64 && is_floating(from);
      if (!ints && !floats && to != DType::bool_) return std::nullopt;
    }
    const std::optional<Form> in = form_of(value.inputs[0]);
    if (!in) return std::nullopt;
    if (to == DType::bool_) return as_mask(mask(*in));
    const uint16_t x = number(*in, in->real);
    if (body_.width == 8) return as_number(in->real, x);
    if (is_floating(to)) {
      const uint16_t f = in->real ? x : emit(Prim::to_float, true, x);
      if (to == DType::float32) return as_number(true, f);
      return as_number(true, emit(to == DType::bfloat16 ? Prim::round_bf16 : Prim::round_f16, true, f));
    }
    const uint16_t i = in->real ? emit(Prim::to_int, false, x) : x;
    if (to == DType::int32) return as_number(false, i);
    Inst inst{Prim::wrap};
    inst.dtype = to;
    inst.a = i;
    return as_number(false, emit(inst));
  }

  // --- calls

  static bool fits(Compute compute, int width) {
    switch (compute) {
      case Compute::f32:
      case Compute::i32:
        return width == 4;
      case Compute::f64:
      case Compute::i64:
        return width == 8;
      default:
        return compute == Compute::u8;
    }
  }

  std::optional<Form> call(const TileValue& value) {
    const LoopCall& call = nest_.calls[value.number];
    const Expression* expression = loops::expression_of(call);
    const auto places = loops::argument_places(call);
    if (!fits(value.compute, body_.width) || expression == nullptr || places.empty()) return std::nullopt;
    class_ = value.compute == Compute::u8                                     ? Class::bools
             : value.compute == Compute::f32 || value.compute == Compute::f64 ? Class::floats
                                                                              : Class::integers;
    real_ = class_ == Class::floats;
    common_ = call.common;
    std::vector<Form> forms;
    for (const Step& step : expression->steps()) {
      std::optional<Form> form;
      if (step.kind == StepKind::argument) {
        if (step.a >= places.size()) return std::nullopt;
        form = argument(call, value, places[step.a]);
      } else if (step.kind == StepKind::constant) {
        form = Form{Form::literal, real_, 0, expression->constants[step.a]};
      } else if (step_arity(step.kind) > 0) {
        const int arity = step_arity(step.kind);
        form = step_form(step.kind, forms[step.a], arity > 1 ? &forms[step.b] : nullptr,
                         arity > 2 ? &forms[step.c] : nullptr);
      }
      if (!form) return std::nullopt;
      forms.push_back(*form);
    }
    const Form& result = forms.back();
    if (value.dtype != DType::bool_) return as_number(real_, number(result, real_));
    if (result.kind == Form::literal) return std::nullopt;
    return as_mask(mask(result));
  }

  std::optional<Form> argument(const LoopCall& call, const TileValue& value, ArgumentPlace place) {
    if (place.kind == ArgumentPlace::none) return std::nullopt;
    if (place.kind == ArgumentPlace::param) {
      const Param& p = call.params[place.number];
      if (class_ == Class::bools) return as_number(false, bits(p.real != 0));
      return as_number(real_, constant(real_, {p.real, p.integer}));
    }
    const std::optional<Form> in = form_of(value.inputs[place.number]);
    if (!in) return std::nullopt;
    if (call.loops->mask_inputs >> place.number & 1) return as_mask(mask(*in));
    return as_number(real_, number(*in, real_));
  }

  // One step, as opgen/loops/expression.py writes it in C++ and vec.h computes it.
  std::optional<Form> step_form(StepKind kind, const Form& x, const Form* y, const Form* z) {
    const auto value = [&](const Form& f) { return number(f, real_); };
    const auto result = [&](uint16_t inst) { return as_number(real_, inst); };
    const auto condition = [&](const Form& f) -> std::optional<uint16_t> {
      if (f.kind == Form::literal) return std::nullopt;
      return mask(f);
    };
    switch (kind) {
      case StepKind::neg:
        return negated(x);
      case StepKind::invert:
        if (x.kind == Form::mask) return as_mask(inverted(x.inst));
        if (real_) return std::nullopt;
        return result(class_ == Class::bools ? emit(Prim::bit_xor, false, value(x), bits(1)) : inverted(value(x)));
      case StepKind::not_: {
        const auto m = condition(x);
        if (!m) return std::nullopt;
        return as_mask(inverted(*m));
      }
      case StepKind::add:
      case StepKind::sub:
      case StepKind::mul:
      case StepKind::div:
        return arithmetic(kind, x, *y);
      case StepKind::bit_and:
      case StepKind::bit_or:
      case StepKind::bit_xor: {
        const Prim op = kind == StepKind::bit_and  ? Prim::bit_and
                        : kind == StepKind::bit_or ? Prim::bit_or
                                                   : Prim::bit_xor;
        if (x.kind == Form::mask && y->kind == Form::mask) return as_mask(emit(op, false, x.inst, y->inst));
        if (real_) return std::nullopt;
        return result(emit(op, false, value(x), value(*y)));
      }
      case StepKind::eq:
        return as_mask(emit(Prim::eq, real_, value(x), value(*y)));
      case StepKind::ne:
        return as_mask(emit(Prim::ne, real_, value(x), value(*y)));
      case StepKind::lt:
        return as_mask(emit(Prim::lt, real_, value(x), value(*y)));
      case StepKind::le:
        return as_mask(emit(Prim::le, real_, value(x), value(*y)));
      case StepKind::gt:
        return as_mask(emit(Prim::gt, real_, value(x), value(*y)));
      case StepKind::ge:
        return as_mask(emit(Prim::ge, real_, value(x), value(*y)));
      case StepKind::and_:
      case StepKind::or_: {
        const auto m = condition(x), n = condition(*y);
        if (!m || !n) return std::nullopt;
        return as_mask(emit(kind == StepKind::and_ ? Prim::bit_and : Prim::bit_or, false, *m, *n));
      }
      case StepKind::where: {
        const auto m = condition(x);
        if (!m) return std::nullopt;
        if (y->kind == Form::mask && z->kind == Form::mask)
          return as_mask(emit(Prim::select, false, *m, y->inst, z->inst));
        return result(emit(Prim::select, real_, *m, value(*y), value(*z)));
      }
      case StepKind::fma:
        return result(fused(value(x), value(*y), value(*z)));
      case StepKind::maximum:
      case StepKind::minimum:
        return result(emit(kind == StepKind::maximum ? Prim::maximum : Prim::minimum, real_, value(x), value(*y)));
      case StepKind::fmax:
        return result(emit(real_ ? Prim::fmax : Prim::maximum, real_, value(x), value(*y)));
      case StepKind::fmin:
        return result(emit(real_ ? Prim::fmin : Prim::minimum, real_, value(x), value(*y)));
      case StepKind::abs:
        return result(magnitude(value(x)));
      case StepKind::sqrt:
      case StepKind::rsqrt: {
        if (!real_) return std::nullopt;
        const uint16_t root = emit(Prim::sqrt, true, value(x));
        return result(kind == StepKind::sqrt ? root : emit(Prim::div, true, real_constant(1), root));
      }
      case StepKind::floor:
        return rounded(Prim::floor, x);
      case StepKind::ceil:
        return rounded(Prim::ceil, x);
      case StepKind::trunc:
        return rounded(Prim::trunc, x);
      case StepKind::round:
        return rounded(Prim::round, x);
      case StepKind::conj:
      case StepKind::real:
        return result(value(x));
      case StepKind::narrow:
        return narrowed(x);
      case StepKind::copysign: {
        if (!real_) return std::nullopt;
        const uint16_t sign = emit(Prim::bit_and, true, value(*y), bits(sign_bit()));
        return result(emit(Prim::bit_or, true, magnitude(value(x)), sign));
      }
      case StepKind::isnan:
        if (!real_) return std::nullopt;
        return as_mask(emit(Prim::ne, true, value(x), value(x)));
      case StepKind::isinf:
        if (!real_) return std::nullopt;
        return as_mask(emit(Prim::eq, true, magnitude(value(x)), real_constant(INFINITY)));
      case StepKind::isfinite:
        if (!real_) return std::nullopt;
        return as_mask(emit(Prim::lt, true, magnitude(value(x)), real_constant(INFINITY)));
      case StepKind::signbit:
        return as_mask(emit(Prim::lt, false, value(x), bits(0)));
      case StepKind::sign:
      case StepKind::sgn: {
        if (class_ == Class::bools) return result(value(x));
        const uint16_t v = value(x), zero = constant(real_, {0, 0});
        const uint16_t above = emit(Prim::gt, real_, v, zero), below = emit(Prim::lt, real_, v, zero);
        const uint16_t lower = emit(Prim::select, real_, below, constant(real_, {-1, -1}), zero);
        return result(emit(Prim::select, real_, above, constant(real_, {1, 1}), lower));
      }
      default:
        return std::nullopt;  // math, divisions of integers, shifts
    }
  }

  uint16_t inverted(uint16_t x) { return emit(Prim::bit_xor, false, x, bits(~uint64_t{0})); }
  uint16_t magnitude(uint16_t x) {
    return real_ ? emit(Prim::bit_and, true, x, bits(sign_bit() - 1)) : emit(Prim::abs, false, x);
  }

  std::optional<Form> negated(const Form& x) {
    if (class_ == Class::bools) return std::nullopt;
    const uint16_t v = number(x, real_);
    if (!real_) return as_number(false, emit(Prim::sub, false, bits(0), v));
    if (const auto known = constant_bits(v)) return as_number(true, bits(*known ^ sign_bit()));
    return as_number(true, emit(Prim::bit_xor, true, v, bits(sign_bit())));
  }

  std::optional<Form> arithmetic(StepKind kind, const Form& x, const Form& y) {
    const uint16_t a = number(x, real_), b = number(y, real_);
    if (class_ == Class::bools) {
      if (kind != StepKind::add && kind != StepKind::mul) return std::nullopt;
      return as_number(false, emit(kind == StepKind::add ? Prim::bit_or : Prim::bit_and, false, a, b));
    }
    if (kind == StepKind::div && !real_) return std::nullopt;
    if (kind == StepKind::mul && is_one(a)) return as_number(real_, b);
    const Prim op = kind == StepKind::add   ? Prim::add
                    : kind == StepKind::sub ? Prim::sub
                    : kind == StepKind::mul ? Prim::mul
                                            : Prim::div;
    return as_number(real_, emit(op, real_, a, b));
  }

  bool is_one(uint16_t x) {
    const auto known = constant_bits(x);
    return known && *known == *constant_bits(constant(real_, {1, 1}));
  }

  // a * b + c. The product with 1 or -1 is exact, so that one rounding is all there is either way.
  uint16_t fused(uint16_t a, uint16_t b, uint16_t c) {
    if (class_ == Class::bools) return emit(Prim::bit_or, false, emit(Prim::bit_and, false, a, b), c);
    const auto known = constant_bits(a);
    if (is_one(a)) return emit(Prim::add, real_, b, c);
    if (known && *known == *constant_bits(constant(real_, {-1, -1}))) return emit(Prim::sub, real_, c, b);
    if (!real_) return emit(Prim::add, false, emit(Prim::mul, false, a, b), c);
    return emit(Prim::fma, true, a, b, c);
  }

  std::optional<Form> rounded(Prim op, const Form& x) {
    if (class_ == Class::bools) return std::nullopt;
    const uint16_t v = number(x, real_);
    return as_number(real_, real_ ? emit(op, true, v) : v);
  }

  std::optional<Form> narrowed(const Form& x) {
    const uint16_t v = number(x, real_);
    if (common_ != DType::bfloat16 && common_ != DType::float16) return as_number(real_, v);
    return as_number(true, emit(common_ == DType::bfloat16 ? Prim::round_bf16 : Prim::round_f16, true, v));
  }

  const Nest& nest_;
  const TileGraph& graph_;
  Body body_;
  std::vector<std::optional<Form>> forms_;  // of each value of the graph
  std::vector<uint16_t> loads_;
  std::vector<BodyOperand> results_;
  Class class_ = Class::floats;  // of the call at hand
  bool real_ = true;
  DType common_ = DType::float32;
};

constexpr const char* kPrimNames[] = {"load",    "constant",   "add",       "sub",  "mul",   "div",    "fma",
                                      "abs",     "sqrt",       "floor",     "ceil", "trunc", "round",  "maximum",
                                      "minimum", "fmax",       "fmin",      "eq",   "ne",    "lt",     "le",
                                      "gt",      "ge",         "and",       "or",   "xor",   "select", "to_float",
                                      "to_int",  "round_bf16", "round_f16", "wrap"};

}  // namespace

bool is_joinable(const Nest& nest, const TileGraph& graph, uint16_t value, int width) {
  return Builder(nest, graph, width).add(value);
}

Body build_body(const Nest& nest, const TileGraph& graph, const std::vector<uint16_t>& values,
                const std::vector<uint16_t>& outputs, int width, std::vector<uint16_t>& loads) {
  Builder builder(nest, graph, width);
  for (const uint16_t v : values) {
    const bool added = builder.add(v);
    SCONCE_ASSERT(added);
  }
  for (const uint16_t v : outputs) builder.store(v);
  return builder.finish(loads);
}

std::string key_of(const Body& body) {
  std::string key;
  const auto put = [&](uint64_t x) { key.append(reinterpret_cast<const char*>(&x), sizeof x); };
  put(static_cast<uint64_t>(body.width));
  put(body.insts.size());
  for (const Inst& i : body.insts) {
    put(static_cast<uint64_t>(i.op) | static_cast<uint64_t>(i.real) << 8 |
        static_cast<uint64_t>(static_cast<uint8_t>(i.dtype)) << 16 | static_cast<uint64_t>(i.number) << 24);
    put(i.a | static_cast<uint64_t>(i.b) << 16 | static_cast<uint64_t>(i.c) << 32);
    put(i.bits);
  }
  for (const BodyOperand& o : body.operands) {
    put(static_cast<uint64_t>(static_cast<uint8_t>(o.dtype)) | static_cast<uint64_t>(o.uniform) << 8 |
        static_cast<uint64_t>(o.mask) << 9);
  }
  for (const uint16_t r : body.results) put(r);
  return key;
}

std::string to_string(const Body& body) {
  std::string out;
  for (size_t k = 0; k < body.insts.size(); ++k) {
    const Inst& i = body.insts[k];
    out.append("  v").append(std::to_string(k)).append(" = ").append(kPrimNames[static_cast<int>(i.op)]);
    if (i.op == Prim::load) {
      out.append(" ").append(dtype_name(body.operands[i.number].dtype)).append(" #").append(std::to_string(i.number));
      out.append(body.operands[i.number].uniform ? "!" : "");
    } else if (i.op == Prim::constant) {
      char text[24];
      std::snprintf(text, sizeof text, " 0x%llx", static_cast<unsigned long long>(i.bits));
      out.append(text);
    } else {
      out.append(i.real ? ".f" : ".i");
      const uint16_t from[] = {i.a, i.b, i.c};
      for (int n = 0; n < operands_of(i.op); ++n) out.append(n ? ", v" : " v").append(std::to_string(from[n]));
    }
    out.append("\n");
  }
  const size_t first = body.operands.size() - body.results.size();
  for (size_t k = 0; k < body.results.size(); ++k) {
    out.append("  #").append(std::to_string(first + k)).append(" ").append(dtype_name(body.operands[first + k].dtype));
    out.append(" = v").append(std::to_string(body.results[k])).append("\n");
  }
  return out;
}

}  // namespace sconce::codegen
