// Peephole rules for tensors that an operator returns as they are.
//   relu(relu(x))                      =>  relu(x)    for every operator that the table calls idempotent
//   x.t().t(), x.transpose(a, b).transpose(a, b)  =>  x
//   x.to(d), x.contiguous()            =>  x          where the type says that x is so already: the operator returns x
//   x.expand(s), x.view(s), x.reshape(s)          =>  x          where these are the sizes of x
//   x * 1, x / 1, x - 0                =>  x          for floating-point x of known dtype
// If the result would have been a new tensor (or a new view), neither it nor x may be written to.
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/peephole/peephole.h"
#include "sconce/types/tensor_facts.h"

namespace sconce::passes {
namespace {

struct Kinds {
  ir::Symbol t{"aten::t"}, transpose{"aten::transpose"}, to{"aten::to"}, contiguous{"aten::contiguous"},
      expand{"aten::expand"}, view{"aten::view"}, reshape{"aten::reshape"}, mul{"aten::mul"}, div{"aten::div"},
      sub{"aten::sub"};
};

const TensorFacts* facts_of_value(const ir::Value* v) {
  const TensorFacts* facts = v->type()->tensor_facts();
  return facts && !facts->undefined ? facts : nullptr;
}

bool same_constant_int(const ir::Value* a, const ir::Value* b) {
  if (a == b) return true;
  const std::optional<int64_t> x = constant_int(a), y = constant_int(b);
  return x && x == y;
}

// The other arguments of two calls of one operator.
bool same_other_inputs(const ir::Node& a, const ir::Node& b) {
  for (size_t i = 1; i < a.inputs().size(); ++i) {
    if (a.input(i) != b.input(i) && !same_constant_int(a.input(i), b.input(i))) return false;
  }
  return true;
}

bool undoes(const ir::Node& node, const ir::Node& inner, const Kinds& kinds) {
  if (node.op() != inner.op()) return false;
  if (node.is(kinds.t)) return true;
  if (!node.is(kinds.transpose) || node.inputs().size() != 3) return false;
  const bool straight =
      same_constant_int(node.input(1), inner.input(1)) && same_constant_int(node.input(2), inner.input(2));
  const bool crossed =
      same_constant_int(node.input(1), inner.input(2)) && same_constant_int(node.input(2), inner.input(1));
  return straight || crossed;
}

// A list of constant numbers.
bool is_list_of(const ir::Value* v, const std::vector<int64_t>& numbers) {
  if (const std::optional<sconce::Value> c = ir::constant_value(v)) {
    return c->is_list() && c->to_list().is_ints() && c->to_list().ints() == IntList(numbers);
  }
  const ir::Node& list = *v->node();
  if (!list.is(ir::kind::ListConstruct) || list.inputs().size() != numbers.size()) return false;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (constant_int(list.input(i)) != numbers[i]) return false;
  }
  return true;
}

// Returns its argument itself: nothing has to be known about writes.
bool is_idle_conversion(const ir::Node& node, const TensorFacts& facts, const Kinds& kinds) {
  if (node.is(kinds.contiguous)) {
    if (!facts.sizes || !facts.strides ||
        constant_int(node.input(1)) != static_cast<int64_t>(MemoryFormat::contiguous)) {
      return false;
    }
    int64_t expected = 1;
    for (size_t d = facts.sizes->size(); d-- > 0;) {
      const int64_t size = (*facts.sizes)[d];
      if (size < 0 || (size != 1 && (*facts.strides)[d] != expected)) return false;
      expected *= size;
    }
    return true;
  }
  if (!node.is(kinds.to)) return false;
  const ir::Value *dtype = named_input(node, "dtype"), *device = named_input(node, "device");
  const ir::Value *copy = named_input(node, "copy"), *format = named_input(node, "memory_format");
  if (!copy || constant_bool(copy) != false || (format && !ir::is_none(format)) || named_input(node, "other"))
    return false;
  if (!dtype && !device) return false;
  if (dtype && !ir::is_none(dtype) && (!facts.dtype || constant_int(dtype) != static_cast<int64_t>(*facts.dtype)))
    return false;
  if (device && !ir::is_none(device)) {
    const std::optional<sconce::Value> wanted = ir::constant_value(device);
    if (!facts.device || !wanted || !wanted->is_device() || wanted->to_device() != *facts.device) return false;
  }
  const ir::Value *layout = named_input(node, "layout"), *pin = named_input(node, "pin_memory");
  return (!layout || ir::is_none(layout)) && (!pin || ir::is_none(pin));
}

bool is_neutral(const ir::Node& node, const TensorFacts& facts, const Kinds& kinds) {
  if (!facts.dtype || !is_floating(*facts.dtype) || node.inputs().size() < 2) return false;
  const std::optional<sconce::Value> other = ir::constant_value(node.input(1));
  if (!other || !(other->is_int() || other->is_double())) return false;
  const double number = other->is_int() ? static_cast<double>(other->to_int()) : other->to_double();
  if ((node.is(kinds.mul) || node.is(kinds.div)) && node.inputs().size() == 2) return number == 1;
  return node.is(kinds.sub) && number == 0 && !std::signbit(number);
}

bool keeps_sizes(const ir::Node& node, const TensorFacts& facts, const Kinds& kinds) {
  const bool reshapes = node.is(kinds.expand) || node.is(kinds.view) || node.is(kinds.reshape);
  return reshapes && facts.sizes && node.inputs().size() >= 2 && is_list_of(node.input(1), *facts.sizes);
}

}  // namespace

bool simplify_tensor(ir::Node& node, LazyAlias& alias) {
  static const Kinds kinds;
  if (node.inputs().empty() || node.outputs().size() != 1 || !node.output()->type()->is(TypeKind::tensor)) return false;
  ir::Value* x = node.input();
  if (!x->type()->is(TypeKind::tensor) || node.op()->schema().is_mutable()) return false;
  const TensorFacts* facts = facts_of_value(x);
  if (facts && is_idle_conversion(node, *facts, kinds)) {
    replace_node(node, x);
    return true;
  }
  const ir::Node& inner = *x->node();
  ir::Value* same = nullptr;
  if (node.op()->has(Trait::idempotent) && inner.op() == node.op() && same_other_inputs(node, inner)) {
    same = x;
  } else if (undoes(node, inner, kinds)) {
    same = inner.input();
  } else if (facts && (is_neutral(node, *facts, kinds) || keeps_sizes(node, *facts, kinds))) {
    same = x;
  }
  if (!same || alias->has_writers(node.output()) || alias->has_writers(same)) return false;
  // Two new tensors that both leave the graph have to be two.
  if (!node.op()->has(Trait::view) && alias.may_leave(node.output()) && alias.may_leave(same)) return false;
  alias.note_replaced(node.output(), same);
  replace_node(node, same);
  return true;
}

}  // namespace sconce::passes
