// Arithmetic and comparisons on words.
#include "sconce/base/numbers.h"
#include "sconce/runtime/bytecode/compiler.h"

namespace sconce::runtime {
namespace {

// a OP b is b MIRROR(OP) a.
Arithmetic mirror(Arithmetic a) {
  using enum Arithmetic;
  switch (a) {
    case lt:
      return gt;
    case le:
      return ge;
    case gt:
      return lt;
    case ge:
      return le;
    default:
      return a;
  }
}
// not (a OP b), for integers.
Arithmetic negation(Arithmetic a) {
  using enum Arithmetic;
  switch (a) {
    case eq:
      return ne;
    case ne:
      return eq;
    case lt:
      return ge;
    case le:
      return gt;
    case gt:
      return le;
    default:
      return lt;
  }
}

Opcode integer_opcode(Arithmetic a) {
  using enum Arithmetic;
  switch (a) {
    case add:
      return Opcode::add_int;
    case sub:
      return Opcode::sub_int;
    case mul:
      return Opcode::mul_int;
    case floordiv:
      return Opcode::floordiv_int;
    case mod:
      return Opcode::mod_int;
    case bit_and:
      return Opcode::and_int;
    case bit_or:
      return Opcode::or_int;
    case bit_xor:
      return Opcode::xor_int;
    case eq:
      return Opcode::eq_int;
    case ne:
      return Opcode::ne_int;
    case lt:
      return Opcode::lt_int;
    default:
      return Opcode::le_int;
  }
}
Opcode integer_immediate_opcode(Arithmetic a) {
  using enum Arithmetic;
  switch (a) {
    case eq:
      return Opcode::eq_int_imm;
    case ne:
      return Opcode::ne_int_imm;
    case lt:
      return Opcode::lt_int_imm;
    case le:
      return Opcode::le_int_imm;
    case gt:
      return Opcode::gt_int_imm;
    default:
      return Opcode::ge_int_imm;
  }
}
Opcode float_opcode(Arithmetic a) {
  using enum Arithmetic;
  switch (a) {
    case add:
      return Opcode::add_float;
    case sub:
      return Opcode::sub_float;
    case mul:
      return Opcode::mul_float;
    case div:
      return Opcode::div_float;
    case eq:
      return Opcode::eq_float;
    case ne:
      return Opcode::ne_float;
    case lt:
      return Opcode::lt_float;
    default:
      return Opcode::le_float;
  }
}
Opcode integer_jump(Arithmetic a) {
  using enum Arithmetic;
  switch (a) {
    case eq:
      return Opcode::jump_eq_int;
    case ne:
      return Opcode::jump_ne_int;
    case lt:
      return Opcode::jump_lt_int;
    default:
      return Opcode::jump_le_int;
  }
}
Opcode integer_immediate_jump(Arithmetic a) {
  using enum Arithmetic;
  switch (a) {
    case eq:
      return Opcode::jump_eq_int_imm;
    case ne:
      return Opcode::jump_ne_int_imm;
    case lt:
      return Opcode::jump_lt_int_imm;
    case le:
      return Opcode::jump_le_int_imm;
    case gt:
      return Opcode::jump_gt_int_imm;
    default:
      return Opcode::jump_ge_int_imm;
  }
}
Opcode float_jump(Arithmetic a, bool when) {
  using enum Arithmetic;
  switch (a) {
    case eq:
      return when ? Opcode::jump_eq_float : Opcode::jump_ne_float;
    case ne:
      return when ? Opcode::jump_ne_float : Opcode::jump_eq_float;
    case lt:
      return when ? Opcode::jump_lt_float : Opcode::jump_not_lt_float;
    default:
      return when ? Opcode::jump_le_float : Opcode::jump_not_le_float;
  }
}

bool fits_16_bits(int64_t v) { return v >= INT16_MIN && v <= INT16_MAX; }
bool is_float(const ir::Value* v) { return class_of(v->type()) == RegisterClass::float_; }

}  // namespace

// The value as a float: itself, a constant, or converted into a temporary.
BytecodeCompiler::Draft BytecodeCompiler::as_float(const ir::Value* v, std::vector<uint32_t>& temporaries) {
  if (is_float(v)) return operand(v);
  if (const std::optional<int64_t> c = constant_int(v)) return constant(static_cast<double>(*c));
  const uint32_t t = registers_.take(RegisterClass::float_);
  temporaries.push_back(t);
  emit(Opcode::int_to_float, local(t), operand(v));
  return local(t);
}

bool BytecodeCompiler::emit_arithmetic(const ir::Node* n) {
  using enum Arithmetic;
  if (!n->op()) return false;
  const std::optional<Arithmetic> found = arithmetic_of(*n->op());
  if (!found || n->outputs().size() != 1) return false;
  const Schema& schema = n->op()->schema();
  if (n->inputs().size() != schema.arguments.size() ||
      class_of(n->output()->type()) != class_of(schema.returns[0].type)) {
    return false;
  }
  for (size_t i = 0; i < n->inputs().size(); ++i) {
    if (class_of(n->input(i)->type()) != class_of(schema.arguments[i].type)) return false;
  }
  Arithmetic a = *found;
  std::vector<uint32_t> temporaries;
  const auto done = [&] {
    for (const uint32_t t : temporaries) registers_.free(t);
    return true;
  };

  const ir::Value* x = n->input(0);
  if (n->inputs().size() == 1) {
    const Draft from = operand(x);
    free_taken();
    const Draft out = define(n->output());
    switch (a) {
      case neg:
        emit(is_float(x) ? Opcode::neg_float : Opcode::neg_int, out, from);
        return true;
      case logical_not:
        emit(Opcode::not_bool, out, from);
        return true;
      case to_float:
        emit(is_float(x) ? Opcode::move_word : Opcode::int_to_float, out, from);
        return true;
      case to_bool:
        is_float(x) ? emit(Opcode::ne_float, out, from, constant(0.0)) : emit(Opcode::ne_int_imm, out, from, 0, 0);
        return true;
      default:  // to_int of a bool or int
        emit(Opcode::move_word, out, from);
        return true;
    }
  }
  if (a == derive_index) {  // start + index * step
    const Draft index = operand(n->input(0)), start = operand(n->input(1)), step = operand(n->input(2));
    const std::optional<int64_t> known_start = constant_int(n->input(1)), known_step = constant_int(n->input(2));
    const uint32_t t = registers_.take(RegisterClass::int_);
    temporaries.push_back(t);
    const bool plain = known_step == 1;
    if (!plain) {
      known_step ? emit(Opcode::mul_int_imm, local(t), index, 0, *known_step)
                 : emit(Opcode::mul_int, local(t), index, step);
    }
    free_taken();
    const Draft out = define(n->output());
    known_start ? emit(Opcode::add_int_imm, out, plain ? index : local(t), 0, *known_start)
                : emit(Opcode::add_int, out, plain ? index : local(t), start);
    return done();
  }

  const ir::Value* y = n->input(1);
  if (is_float(x) || is_float(y) || a == div) {
    if (a == gt || a == ge) {
      std::swap(x, y);
      a = mirror(a);
    }
    const std::optional<double> real = constant_float(y);
    const std::optional<int64_t> integer = constant_int(y);
    const double imm = real ? *real : integer ? static_cast<double>(*integer) : 0;
    const Draft left = as_float(x, temporaries);
    if ((real || integer) && (a == add || a == sub || a == mul || a == div)) {
      free_taken();
      const Draft out = define(n->output());
      const Opcode op = a == mul ? Opcode::mul_float_imm : a == div ? Opcode::div_float_imm : Opcode::add_float_imm;
      emit_float(op, out, left, a == sub ? -imm : imm);
      return done();
    }
    const Draft right = as_float(y, temporaries);
    free_taken();
    emit(float_opcode(a), define(n->output()), left, right);
    return done();
  }

  if (constant_int(x) && !constant_int(y) && (a == add || a == mul || is_comparison(a))) {
    std::swap(x, y);
    a = mirror(a);
  }
  if (const std::optional<int64_t> imm = constant_int(y)) {
    const bool can_divide = *imm != 0 && *imm != -1;
    const Draft left = operand(x);
    if (a == add || a == sub || a == mul || is_comparison(a) || ((a == floordiv || a == mod) && can_divide)) {
      free_taken();
      const Draft out = define(n->output());
      const Opcode op = a == add || a == sub ? Opcode::add_int_imm
                        : a == mul           ? Opcode::mul_int_imm
                        : a == floordiv      ? Opcode::floordiv_int_imm
                        : a == mod           ? Opcode::mod_int_imm
                                             : integer_immediate_opcode(a);
      emit(op, out, left, 0, a == sub ? numbers::wrap_neg(*imm) : *imm);
      return true;
    }
  }
  if (a == gt || a == ge) {
    std::swap(x, y);
    a = mirror(a);
  }
  const Draft left = operand(x), right = operand(y);
  free_taken();
  emit(integer_opcode(a), define(n->output()), left, right);
  return true;
}

// A deferred condition: compares and jumps at once.
bool BytecodeCompiler::branch_on(const ir::Node* n, bool when, Label& target) {
  using enum Arithmetic;
  if (const Container c = container_of(*n->op()); c == Container::is || c == Container::is_not) {
    const bool jump_on_none = (c == Container::is) == when;
    jump(jump_on_none ? Opcode::jump_none : Opcode::jump_not_none, target, operand(n->input(0)));
    return true;
  }
  Arithmetic a = *arithmetic_of(*n->op());
  if (a == logical_not) {
    branch(n->input(0), !when, target);
    return true;
  }
  const ir::Value *x = n->input(0), *y = n->input(1);
  std::vector<uint32_t> temporaries;
  if (is_float(x) || is_float(y)) {
    if (a == gt || a == ge) {
      std::swap(x, y);
      a = mirror(a);
    }
    const Draft left = as_float(x, temporaries), right = as_float(y, temporaries);
    jump(float_jump(a, when), target, left, right);
    for (const uint32_t t : temporaries) registers_.free(t);
    return true;
  }
  if (!when) a = negation(a);
  if (constant_int(x) && !constant_int(y)) {
    std::swap(x, y);
    a = mirror(a);
  }
  const std::optional<int64_t> imm = constant_int(y);
  if (const ir::Node* inner = root(x)->node(); deferred_.contains(inner)) {
    const auto divisor = static_cast<Draft>(*constant_int(inner->input(1)));
    jump(a == eq ? Opcode::jump_mod_eq : Opcode::jump_mod_ne, target, operand(inner->input(0)), divisor,
         static_cast<uint16_t>(*imm));
  } else if (imm && fits_16_bits(*imm)) {
    jump(integer_immediate_jump(a), target, operand(x), static_cast<uint16_t>(*imm));
  } else {
    if (a == gt || a == ge) {
      std::swap(x, y);
      a = mirror(a);
    }
    jump(integer_jump(a), target, operand(x), operand(y));
  }
  return true;
}

}  // namespace sconce::runtime
